#include "tests/engine/cache/plain_history.h"

#include <ATen/Context.h>

#include <QtTest>

#include <array>
#include <random>

using namespace kvscope;

class TestMixedKVCacheHistory : public QObject
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
};

QTEST_GUILESS_MAIN(TestMixedKVCacheHistory)
#include "tst_mixed_kv_cache_history.moc"
