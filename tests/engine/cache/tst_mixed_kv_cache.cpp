#include "engine/base/errors.h"
#include "engine/cache/mixed_kv_cache.h"
#include "tests/engine/cache/cache_test_data.h"
#include "tests/engine/cache/counting_allocator.h"

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <QtTest>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

using namespace kvscope;

namespace {

/// The slow cache: per layer all keys ever stored, [B, Hkv, S, D] in the cache's dtype. Values are
/// the keys negated.
class PlainHistory
{
public:
    explicit PlainHistory(const CacheShape& shape)
        : m_layers(shape.layers.size())
    {
    }
    void append(std::size_t layer, const at::Tensor& keys)
    {
        m_layers[layer] = m_layers[layer].defined() ? at::cat({m_layers[layer], keys}, 2) : keys;
    }
    void truncate(std::int64_t n)
    {
        for (auto& keys : m_layers)
            if (keys.defined())
                keys = n == 0 ? at::Tensor() : keys.narrow(2, 0, n);
    }
    const at::Tensor& keys(std::size_t layer) const { return m_layers[layer]; }

private:
    std::vector<at::Tensor> m_layers;
};

CacheShape mixedShape(std::int64_t window = 4, std::int64_t slack = 0)
{
    CacheShape shape;
    shape.layers = {{true, window}, {false, 0}, {true, window + 2}, {false, 0}};
    shape.numKvHeads = 2;
    shape.headDim = 3;
    shape.ringSlack = slack;
    return shape;
}

/// The 502M shape of GPT-OSS-Lite.
CacheShape shape502M()
{
    CacheShape shape;
    for (int layer = 0; layer < 12; ++layer)
        shape.layers.push_back({layer % 2 == 0, 128});
    shape.numKvHeads = 4;
    shape.headDim = 96;
    return shape;
}

at::Tensor randomKeys(const CacheShape& shape, std::int64_t length)
{
    return at::randn({shape.batch, shape.numKvHeads, length, shape.headDim});
}

/// Runs one chunk of random keys through every layer of cache and history.
void appendRandom(MixedKVCache& cache, PlainHistory& history, std::int64_t length)
{
    cache.beginChunk(length);
    for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
        const auto keys = randomKeys(cache.shape(), length);
        cache.stage(std::int64_t(layer), keys, -keys);
        history.append(layer, keys.to(cache.options().dtype().toScalarType()));
    }
    cache.commitChunk();
}

void appendRandom(MixedKVCache& cache, std::int64_t length)
{
    PlainHistory unused(cache.shape());
    appendRandom(cache, unused, length);
}

/// Whether a view holds, negated in its values, exactly the positions [first, end) of a history at
/// its end, perhaps after older ones that no query sees.
bool endsWith(const KVView& view, const at::Tensor& history, std::int64_t first, std::int64_t end)
{
    if (view.numSegments == 0)
        return first == end;
    if (!isConsecutive(view) || view.firstPosition() > first ||
        view.firstPosition() + view.length() != end)
        return false;
    const auto skipped = first - view.firstPosition();
    const auto want = history.narrow(2, first, end - first);
    return at::equal(joinedKeys(view).narrow(2, skipped, end - first), want) &&
           at::equal(joinedValues(view).narrow(2, skipped, end - first), -want);
}

/// The oldest position that queries from `position` on see in a layer.
std::int64_t oldestSeen(const CacheLayerShape& layer, std::int64_t position)
{
    return layer.isWindowed ? oldestVisible(position, layer.window) : 0;
}

std::vector<std::vector<QList<double>>> contents(const MixedKVCache& cache)
{
    std::vector<std::vector<QList<double>>> result;
    for (std::int64_t layer = 0; layer < std::ssize(cache.shape().layers); ++layer)
        result.push_back({positionsIn(joinedKeys(cache.view(layer))),
                          positionsIn(joinedValues(cache.view(layer)))});
    return result;
}

} // namespace

class TestMixedKVCache : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Property: through any mix of chunks, discarded chunks, cuts, forks, reserves and resets,
    // every query finds in every layer exactly what a history that keeps everything has inside its
    // window.
    void queriesSeeWhatAPlainHistoryHas_data()
    {
        QTest::addColumn<int>("seed");
        for (int seed = 0; seed < 24; ++seed)
            QTest::addRow("seed %d", seed) << seed;
    }
    void queriesSeeWhatAPlainHistoryHas()
    {
        QFETCH(int, seed);
        at::manual_seed(std::uint64_t(seed));
        std::mt19937 random{unsigned(seed)};
        const CacheShape shape = randomShape(random);
        MixedKVCache cache(shape, randomDtype(random));
        PlainHistory history(shape);
        for (int step = 0; step < 40; ++step) {
            switch (random() % 10) {
            case 0:
                cutAtRandom(cache, history, random);
                break;
            case 1:
                cache.reserve(std::int64_t(random() % 80));
                break;
            case 2:
                forkAtRandom(cache, random);
                break;
            case 3:
                runChunk(cache, history, random, Ending::Discard);
                break;
            case 4:
                if (random() % 4 == 0) {
                    cache.reset();
                    history.truncate(0);
                }
                break;
            default:
                runChunk(cache, history, random, Ending::Commit);
                break;
            }
            if (QTest::currentTestFailed())
                return;
            checkStored(cache, history);
        }
    }

    // Property: a cache cut back and filled again equals one that never held anything else.
    void truncatedAndRefilledEqualsFresh()
    {
        std::mt19937 random(11);
        for (int trial = 0; trial < 40; ++trial) {
            const auto shape = mixedShape(1 + random() % 6, random() % 5);
            MixedKVCache cache(shape, at::kFloat), fresh(shape, at::kFloat);
            PlainHistory history(shape);
            const auto length = std::int64_t(1 + random() % 20);
            appendRandom(cache, history, length);
            const auto n = cache.truncate(std::int64_t(random() % unsigned(length + 1)));
            history.truncate(n);
            if (n > 0)
                refill(fresh, history, 0, n);
            for (const int chunk : {1, 2, 7}) {
                PlainHistory unused(shape);
                const auto start = cache.seqLen();
                appendRandom(cache, history, chunk);
                refill(fresh, history, start, chunk);
                QCOMPARE(cache.seqLen(), fresh.seqLen());
                for (std::int64_t layer = 0; layer < 4; ++layer) {
                    const auto& kind = shape.layers[std::size_t(layer)];
                    const auto first = oldestSeen(kind, cache.seqLen());
                    const auto& all = history.keys(std::size_t(layer));
                    QVERIFY(endsWith(cache.view(layer), all, first, cache.seqLen()));
                    QVERIFY(endsWith(fresh.view(layer), all, first, cache.seqLen()));
                }
            }
        }
    }

    void reusablePrefixIsExactOrNothing()
    {
        MixedKVCache cache(mixedShape(4, 2),
                           at::kFloat); // the ring of 6 + 2 wraps later than that of 4 + 2
        appendRandom(cache, 6);
        for (int n = 0; n <= 6; ++n)
            QCOMPARE(cache.reusablePrefix(n), n);
        QCOMPARE(cache.reusablePrefix(100), 6);
        QCOMPARE(cache.reusablePrefix(-1), 0);
        appendRandom(cache, 30);
        QCOMPARE(cache.reusablePrefix(36), 36);
        QCOMPARE(cache.reusablePrefix(33), 33);
        QCOMPARE(cache.reusablePrefix(32), 0);
        QCOMPARE(cache.truncate(33), 33);
        QCOMPARE(cache.seqLen(), 33);
        QCOMPARE(cache.reusablePrefix(32), 0);
        QCOMPARE(cache.truncate(10), 0);
        QCOMPARE(cache.seqLen(), 0);
    }

    void onlyGlobalLayersTruncateAnywhere()
    {
        CacheShape shape = mixedShape();
        shape.layers = {{false, 0}, {false, 0}};
        MixedKVCache cache(shape, at::kFloat);
        PlainHistory history(shape);
        appendRandom(cache, history, 50);
        QCOMPARE(cache.truncate(17), 17);
        QVERIFY(endsWith(cache.view(1), history.keys(1), 0, 17));
    }

    void capIsCheckedBeforeAnythingChanges()
    {
        CacheShape shape = mixedShape();
        shape.capTokens = 10;
        MixedKVCache cache(shape, at::kFloat);
        QVERIFY_EXCEPTION_THROWN(cache.beginChunk(11), MemoryError);
        QVERIFY_EXCEPTION_THROWN(cache.reserve(11), MemoryError);
        appendRandom(cache, 9);
        const auto before = contents(cache);
        const auto allocated = cache.allocatedBytes();
        QVERIFY_EXCEPTION_THROWN(cache.beginChunk(2), MemoryError);
        QVERIFY_EXCEPTION_THROWN(cache.beginChunk(std::numeric_limits<std::int64_t>::max()),
                                 MemoryError);
        QCOMPARE(cache.seqLen(), 9);
        QCOMPARE(cache.allocatedBytes(), allocated);
        QVERIFY(contents(cache) == before);
        appendRandom(cache, 1); // exactly the cap, and no chunk was left open
        QCOMPARE(cache.seqLen(), 10);
    }

    void ringsAloneHaveNoCap()
    {
        CacheShape shape = mixedShape();
        shape.layers = {{true, 4}};
        shape.capTokens = 10;
        MixedKVCache cache(shape, at::kFloat);
        appendRandom(cache, 25);
        QCOMPARE(cache.seqLen(), 25);
        QCOMPARE(cache.seqLen(0), 4);
    }

    void decodeAllocatesNothing_data()
    {
        QTest::addColumn<bool>("converts");
        QTest::newRow("keys in the cache's dtype") << false;
        QTest::newRow("keys to convert") << true;
    }
    void decodeAllocatesNothing()
    {
        QFETCH(bool, converts);
        MixedKVCache cache(mixedShape(4, 1), at::kBFloat16);
        cache.reserve(600);
        const auto keys = randomKeys(cache.shape(), 1).to(converts ? at::kFloat : at::kBFloat16);
        const auto decode = [&] {
            cache.beginChunk(1);
            for (std::int64_t layer = 0; layer < 4; ++layer)
                cache.stage(layer, keys, keys);
            cache.commitChunk();
        };
        decode(); // the memory for one converted position
        const auto allocated = cache.allocatedBytes();
        const auto address = cache.view(1).segments[0].keys.const_data_ptr();
        const CountingAllocator counting;
        for (int step = 0; step < 500; ++step)
            decode();
        QCOMPARE(counting.count(), 0);
        QCOMPARE(cache.allocatedBytes(), allocated);
        QCOMPARE(cache.view(1).segments[0].keys.const_data_ptr(), address);
        QCOMPARE(cache.seqLen(), 501);
    }

    void chunksFollowTheirOrder()
    {
        MixedKVCache cache(mixedShape(), at::kFloat);
        const auto keys = randomKeys(cache.shape(), 3);
        QVERIFY_EXCEPTION_THROWN(cache.stage(0, keys, keys), c10::Error);
        QVERIFY_EXCEPTION_THROWN(cache.commitChunk(), c10::Error);
        QVERIFY_EXCEPTION_THROWN(cache.beginChunk(0), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(cache.beginChunk(-1), ArgumentError);
        cache.beginChunk(3);
        QVERIFY_EXCEPTION_THROWN(cache.beginChunk(3), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(cache.truncate(0), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(cache.reserve(9), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(cache.fork(0), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(cache.stage(4, keys, keys), c10::Error);
        QVERIFY_EXCEPTION_THROWN(cache.stage(-1, keys, keys), c10::Error);
        QVERIFY_EXCEPTION_THROWN(cache.stage(0, keys.narrow(2, 0, 2), keys.narrow(2, 0, 2)),
                                 c10::Error);
        cache.stage(0, keys, keys);
        QVERIFY_EXCEPTION_THROWN(cache.commitChunk(), c10::Error); // three layers are missing
        QCOMPARE(cache.seqLen(0), 0);
        cache.discardChunk();
        cache.discardChunk(); // nothing open
        appendRandom(cache, 2);
        QCOMPARE(cache.seqLen(), 2);
    }

    void resetDropsAnOpenChunk()
    {
        MixedKVCache cache(mixedShape(), at::kFloat);
        const auto ringsOnly = cache.allocatedBytes();
        appendRandom(cache, 9);
        cache.beginChunk(1);
        const auto keys = randomKeys(cache.shape(), 1);
        cache.stage(0, keys, keys);
        cache.reset();
        QCOMPARE(cache.seqLen(), 0);
        QCOMPARE(cache.liveBytes(), 0U);
        QCOMPARE(cache.allocatedBytes(), ringsOnly);
        for (std::int64_t layer = 0; layer < 4; ++layer)
            QCOMPARE(cache.view(layer).numSegments, std::size_t(0));
        appendRandom(cache, 3);
        QCOMPARE(cache.seqLen(0), 3);
    }

    void forksAreIndependent()
    {
        MixedKVCache cache(mixedShape(4, 3), at::kFloat);
        appendRandom(cache, 20);
        const auto before = contents(cache);
        MixedKVCache branch = cache.fork(18);
        QCOMPARE(branch.seqLen(), 18);
        const auto branchBefore = contents(branch);
        appendRandom(branch, 30);
        QVERIFY(contents(cache) == before);
        MixedKVCache second = cache.fork(18);
        appendRandom(cache, 30);
        QVERIFY(contents(second) == branchBefore);
        QVERIFY_EXCEPTION_THROWN(cache.fork(5), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(cache.fork(51), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(cache.fork(-1), ArgumentError);
        QCOMPARE(cache.fork(0).seqLen(), 0);
    }

    void usableInsideAndOutsideInferenceMode()
    {
        MixedKVCache cache(mixedShape(), at::kFloat);
        {
            const c10::InferenceMode guard;
            appendRandom(cache, 5);
        }
        appendRandom(cache, 5);
        MixedKVCache branch = cache.fork(10);
        const c10::InferenceMode guard;
        appendRandom(branch, 1);
        QCOMPARE(joinedKeys(branch.view(1)).size(2), 11);
    }

    void snapshotSaysWhatIsHeld()
    {
        MixedKVCache cache(mixedShape(4, 2), at::kBFloat16);
        appendRandom(cache, 9);
        appendRandom(cache, 1);
        const CacheSnapshot snapshot = cache.snapshot();
        constexpr std::uint64_t kTokenBytes = 2 * 2 * 3 * 2;
        QCOMPARE(snapshot.step, 2U);
        QCOMPARE(snapshot.contextLength, 10);
        QCOMPARE(snapshot.allGlobalBytes, 4 * 10 * kTokenBytes);
        QCOMPARE(snapshot.liveBytes, (4 + 10 + 6 + 10) * kTokenBytes);
        QCOMPARE(snapshot.allocatedBytes, (6 + 14 + 8 + 14) * kTokenBytes);
        QCOMPARE(snapshot.peakGrowthBytes, 9 * kTokenBytes / 2);
        QCOMPARE(snapshot.liveBytes, cache.liveBytes());
        QCOMPARE(snapshot.allocatedBytes, cache.allocatedBytes());
        const LayerCacheState& ring = snapshot.layers[0];
        QVERIFY(ring.isWindowed);
        QCOMPARE(ring.window, 4);
        QCOMPARE(ring.capacity, 6);
        QCOMPARE(ring.retained, 4);
        QCOMPARE(ring.firstPosition, 6);
        QCOMPARE(ring.head(), 10 % 6);
        const LayerCacheState& array = snapshot.layers[1];
        QVERIFY(!array.isWindowed);
        QCOMPARE(array.retained, 10);
        QCOMPARE(array.slack(), 4);
        QCOMPARE(array.growth.size(), std::size_t(2));
    }

    void cacheOf502MAt4096IsHalf()
    {
        MixedKVCache cache(shape502M(), at::kBFloat16);
        appendZeros(cache, 4095);
        appendZeros(cache, 1);
        const CacheSnapshot snapshot = cache.snapshot();
        QCOMPARE(snapshot.liveBytes, 38'928'384U); // golden kv_memory.json
        QCOMPARE(snapshot.allGlobalBytes, 75'497'472U);
        QCOMPARE(
            QString::number(double(snapshot.allGlobalBytes) / double(snapshot.liveBytes), 'f', 2),
            "1.94");
    }

    void impossibleShapesAreRefused_data()
    {
        QTest::addColumn<int>("field");
        const char* fields[] = {"no layers", "batch", "heads", "head dim",
                                "window",    "slack", "cap"};
        for (int i = 0; i < 7; ++i)
            QTest::newRow(fields[i]) << i;
    }
    void impossibleShapesAreRefused()
    {
        QFETCH(int, field);
        CacheShape shape = mixedShape();
        switch (field) {
        case 0:
            shape.layers.clear();
            break;
        case 1:
            shape.batch = 0;
            break;
        case 2:
            shape.numKvHeads = -1;
            break;
        case 3:
            shape.headDim = 0;
            break;
        case 4:
            shape.layers[2].window = 0;
            break;
        case 5:
            shape.ringSlack = -1;
            break;
        default:
            shape.capTokens = 0;
            break;
        }
        QVERIFY_EXCEPTION_THROWN(MixedKVCache(shape, at::kFloat), ArgumentError);
    }

private:
    enum class Ending { Commit, Discard };

    static CacheShape randomShape(std::mt19937& random)
    {
        CacheShape shape;
        const auto numLayers = 1 + random() % 4;
        for (unsigned layer = 0; layer < numLayers; ++layer)
            shape.layers.push_back({random() % 2 == 0, std::int64_t(1 + random() % 8)});
        shape.batch = 1 + random() % 3;
        shape.numKvHeads = 1 + random() % 3;
        shape.headDim = 1 + random() % 5;
        shape.ringSlack = random() % 4;
        return shape;
    }

    static at::ScalarType randomDtype(std::mt19937& random)
    {
        return std::array{at::kFloat, at::kBFloat16, at::kHalf}[random() % 3];
    }

    void runChunk(MixedKVCache& cache, PlainHistory& history, std::mt19937& random, Ending ending)
    {
        const auto length = random() % 2 == 0 ? 1 : std::int64_t(1 + random() % 20);
        const auto start = cache.seqLen();
        cache.beginChunk(length);
        for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
            const auto keys = randomKeys(cache.shape(), length);
            const KVView view = cache.stage(std::int64_t(layer), keys, -keys);
            PlainHistory after = history;
            after.append(layer, keys.to(cache.options().dtype().toScalarType()));
            const auto first = oldestSeen(cache.shape().layers[layer], start);
            QVERIFY(endsWith(view, after.keys(layer), first, start + length));
            if (ending == Ending::Commit)
                history.append(layer, keys.to(cache.options().dtype().toScalarType()));
            else if (random() % 3 == 0)
                break; // cancelled between layers
        }
        ending == Ending::Commit ? cache.commitChunk() : cache.discardChunk();
    }

    static void cutAtRandom(MixedKVCache& cache, PlainHistory& history, std::mt19937& random)
    {
        const auto n = std::int64_t(random() % unsigned(cache.seqLen() + 1));
        const auto reusable = cache.reusablePrefix(n);
        QVERIFY(reusable == n || reusable == 0);
        QCOMPARE(cache.truncate(n), reusable);
        history.truncate(reusable);
    }

    static void forkAtRandom(MixedKVCache& cache, std::mt19937& random)
    {
        const auto n = std::int64_t(random() % unsigned(cache.seqLen() + 1));
        if (cache.reusablePrefix(n) != n)
            return;
        MixedKVCache branch = cache.fork(n);
        appendRandom(branch, 3); // must not show in `cache`
        if (n == cache.seqLen())
            cache = cache.fork(n); // go on with a copy
    }

    static void checkStored(const MixedKVCache& cache, const PlainHistory& history)
    {
        for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
            const auto& kind = cache.shape().layers[layer];
            const auto first = std::min(oldestSeen(kind, cache.seqLen()), cache.seqLen());
            const KVView view = cache.view(std::int64_t(layer));
            QVERIFY(endsWith(view, history.keys(layer), first, cache.seqLen()));
            QCOMPARE(view.length(), cache.seqLen(std::int64_t(layer)));
            // What is there beyond what queries see must be right too.
            if (view.numSegments > 0)
                QVERIFY(endsWith(view, history.keys(layer), view.firstPosition(), cache.seqLen()));
            QVERIFY(!kind.isWindowed || view.length() <= kind.window);
        }
    }

    /// Appends positions [start, start + length) of a history.
    static void refill(MixedKVCache& cache, const PlainHistory& history, std::int64_t start,
                       std::int64_t length)
    {
        cache.beginChunk(length);
        for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer) {
            const auto keys = history.keys(layer).narrow(2, start, length);
            cache.stage(std::int64_t(layer), keys, -keys);
        }
        cache.commitChunk();
    }

    static void appendZeros(MixedKVCache& cache, std::int64_t length)
    {
        const auto keys =
            at::zeros({1, cache.shape().numKvHeads, length, cache.shape().headDim}, at::kBFloat16);
        cache.beginChunk(length);
        for (std::int64_t layer = 0; layer < std::ssize(cache.shape().layers); ++layer)
            cache.stage(layer, keys, keys);
        cache.commitChunk();
    }
};

QTEST_GUILESS_MAIN(TestMixedKVCache)
#include "tst_mixed_kv_cache.moc"
