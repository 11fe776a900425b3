#include "engine/cache/int8_rows.h"
#include "engine/cache/mixed_kv_cache.h"
#include "engine/cache/slots.h"
#include "tests/engine/cache/cache_test_data.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include <QtTest>

#include <cmath>
#include <limits>

using namespace kvscope;

namespace {

/// Writes a chunk into int8 slots the way a cache does.
at::Tensor written(const at::Tensor& chunk)
{
    at::Tensor buffer = at::empty(
        {chunk.size(0), chunk.size(1), chunk.size(2), chunk.size(3) + kScaleBytes}, at::kChar);
    writeSlots(buffer, 0, chunk, 0, chunk.size(2));
    return buffer;
}

void append(MixedKVCache& cache, const at::Tensor& keys, const at::Tensor& values)
{
    cache.beginChunk(keys.size(2));
    for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer)
        cache.stage(static_cast<std::int64_t>(layer), keys, values);
    cache.commitChunk();
}

} // namespace

class TestInt8Rows : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { at::manual_seed(7); }

    void byHandEqualsTheDefinition_data()
    {
        QTest::addColumn<int>("headDim");
        QTest::addColumn<double>("size");
        for (const int headDim : {1, 3, 8, 12, 63, 64, 96, 128})
            for (const double size : {1e-20, 1.0, 3e4})
                QTest::addRow("%d numbers around %g", headDim, size) << headDim << size;
    }
    void byHandEqualsTheDefinition()
    {
        QFETCH(int, headDim);
        QFETCH(double, size);
        const at::Tensor rows = at::randn({2, 3, 40, headDim}) * size;
        QVERIFY(at::equal(written(rows), quantizedRows(rows)));
    }

    void noNumberMovesByMoreThanHalfAStep()
    {
        const at::Tensor rows = at::randn({1, 2, 200, 64});
        const at::Tensor got = cachedNumbers(quantizedRows(rows), at::kFloat);
        const at::Tensor step = rows.abs().amax({-1}, true) / 127.0F;
        QVERIFY(((got - rows).abs() <= step * 0.5001F).all().item<bool>());
        // The largest itself stays, to the rounding of its own division.
        const at::Tensor largest = got.abs().amax({-1}, true);
        QVERIFY(((largest - step * 127.0F).abs() <= step * 1e-4F).all().item<bool>());
    }

    void noRowsStayNone()
    {
        for (const at::Tensor& rows : {at::empty({1, 2, 0, 8}), at::empty({0, 2, 3, 8})}) {
            const at::Tensor stored = quantizedRows(rows);
            QCOMPARE(stored.size(3), std::int64_t{12});
            QCOMPARE(stored.numel(), std::int64_t{0});
            QVERIFY(cachedNumbers(stored, at::kFloat).sizes() == rows.sizes());
        }
    }

    void rowsOfZerosAndTinyNumbersAreZeros()
    {
        at::Tensor rows = at::full({1, 1, 2, 8}, 0.0F);
        rows.select(2, 1).fill_(1e-35F);
        for (const at::Tensor& stored : {written(rows), quantizedRows(rows)})
            QVERIFY((cachedNumbers(stored, at::kFloat) == 0.0F).all().item<bool>());
    }

    void aRowThatIsNotFiniteBecomesNaNAlone_data()
    {
        QTest::addColumn<float>("number");
        QTest::newRow("NaN") << std::numeric_limits<float>::quiet_NaN();
        QTest::newRow("infinity") << std::numeric_limits<float>::infinity();
        QTest::newRow("minus infinity") << -std::numeric_limits<float>::infinity();
    }
    void aRowThatIsNotFiniteBecomesNaNAlone()
    {
        QFETCH(float, number);
        at::Tensor rows = at::randn({1, 2, 3, 16});
        rows.select(1, 1).select(1, 2).select(1, 5).fill_(number);
        for (const at::Tensor& stored : {written(rows), quantizedRows(rows)}) {
            const at::Tensor got = cachedNumbers(stored, at::kFloat).isnan();
            QCOMPARE(got.sum().item<std::int64_t>(), std::int64_t{16});
            QVERIFY(got.select(1, 1).select(1, 2).all().item<bool>());
        }
    }

    void theCacheHoldsWhatOneQuantizationGives_data()
    {
        QTest::addColumn<QList<int>>("chunks");
        QTest::newRow("one by one") << QList<int>(23, 1);
        QTest::newRow("at once") << QList<int>{23};
        QTest::newRow("in between") << QList<int>{4, 1, 9, 1, 1, 7};
    }
    void theCacheHoldsWhatOneQuantizationGives()
    {
        QFETCH(QList<int>, chunks);
        CacheShape shape;
        shape.layers = {{true, 5}, {false, 0}};
        shape.batch = 2;
        shape.numKvHeads = 3;
        shape.headDim = 12;
        MixedKVCache cache(shape, at::TensorOptions(at::kChar));
        const at::Tensor keys = at::randn({2, 3, 23, 12});
        const at::Tensor values = at::randn({2, 3, 23, 12});
        std::int64_t done = 0;
        for (const int length : chunks) {
            append(cache, keys.narrow(2, done, length), values.narrow(2, done, length));
            done += length;
        }
        QVERIFY(at::equal(joinedKeys(cache.view(1)), quantizedRows(keys)));
        QVERIFY(at::equal(joinedValues(cache.view(1)), quantizedRows(values)));
        QVERIFY(at::equal(joinedKeys(cache.view(0)), quantizedRows(keys).narrow(2, 18, 5)));
        // 16 bytes a row, of keys and values, two sequences of three heads.
        QCOMPARE(cache.liveBytes(), std::uint64_t{(23 + 5) * 2 * 2 * 3 * 16});
        QCOMPARE(cache.snapshot().allGlobalBytes, std::uint64_t{2 * 23 * 2 * 2 * 3 * 16});
        const MixedKVCache copy = cache.fork(23);
        QVERIFY(at::equal(joinedKeys(copy.view(1)), quantizedRows(keys)));
    }

    void aChunkSeesItselfAsLaterOnesWill()
    {
        CacheShape shape;
        shape.layers = {{true, 8}};
        shape.numKvHeads = 1;
        shape.headDim = 4;
        MixedKVCache cache(shape, at::TensorOptions(at::kChar));
        const at::Tensor keys = at::randn({1, 1, 3, 4});
        cache.beginChunk(3);
        const KVView staged = cache.stage(0, keys, keys);
        QVERIFY(at::equal(joinedKeys(staged), quantizedRows(keys)));
    }
};

QTEST_GUILESS_MAIN(TestInt8Rows)
#include "tst_int8_rows.moc"
