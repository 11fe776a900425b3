#include "engine/base/errors.h"
#include "tests/engine/cache/counting_allocator.h"
#include "tests/engine/cache/plain_history.h"

#include <ATen/Context.h>
#include <ATen/ops/zeros.h>
#include <c10/core/InferenceMode.h>

#include <QtTest>

#include <algorithm>
#include <array>
#include <limits>
#include <random>

using namespace kvscope;

class TestMixedKVCache : public QObject
{
    Q_OBJECT
private Q_SLOTS:
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

    // Property: a position that is written to its slot is as one that was staged, also where rings
    // wrap, arrays grow and positions are cut back.
    void aWrittenSlotIsAsAStagedPosition()
    {
        const c10::InferenceMode guard; // whose tensors cannot be written outside of it
        std::mt19937 random(12);
        for (int trial = 0; trial < 30; ++trial) {
            const auto shape = mixedShape(1 + random() % 6, random() % 3);
            MixedKVCache written(shape, at::kFloat), staged(shape, at::kFloat);
            for (int step = 0; step < 40; ++step) {
                const bool isWritten = random() % 3 > 0;
                const auto position = written.seqLen();
                for (MixedKVCache* cache : {&written, &staged}) {
                    cache->beginChunk(1);
                    for (std::int64_t layer = 0; layer < 4; ++layer) {
                        const at::Tensor keys =
                            positionKeys(position + 1000 * layer, 1, shape.batch, shape.numKvHeads,
                                         shape.headDim);
                        if (cache == &staged || !isWritten) {
                            cache->stage(layer, keys, -keys);
                            continue;
                        }
                        const KVSlots slots = cache->slots(layer);
                        const auto slot = position % slots.capacity();
                        slots.keys.narrow(2, slot, 1).copy_(keys);
                        slots.values.narrow(2, slot, 1).copy_(-keys);
                    }
                    if (cache == &written && isWritten)
                        cache->commitWritten();
                    else
                        cache->commitChunk();
                }
                const auto kept = written.seqLen() - std::int64_t(random() % 5 == 0);
                QCOMPARE(written.truncate(kept), staged.truncate(kept));
                QVERIFY(contents(written) == contents(staged));
                QCOMPARE(written.liveBytes(), staged.liveBytes());
                QCOMPARE(written.touchedBytes(), staged.touchedBytes());
                QCOMPARE(written.snapshot().step, staged.snapshot().step);
            }
        }
    }

    void onlyOnePositionCanBeWritten()
    {
        MixedKVCache cache(mixedShape(), at::kFloat);
        QVERIFY_EXCEPTION_THROWN(cache.commitWritten(), c10::Error);
        cache.beginChunk(2);
        QVERIFY_EXCEPTION_THROWN(cache.commitWritten(), c10::Error);
        cache.discardChunk();
        QVERIFY_EXCEPTION_THROWN(cache.slots(4), c10::Error);
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
