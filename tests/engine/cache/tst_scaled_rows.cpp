#include "engine/cache/mixed_kv_cache.h"
#include "engine/cache/scaled_rows.h"
#include "engine/cache/slots.h"
#include "tests/engine/cache/cache_test_data.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>
#include <ATen/ops/maximum.h>
#include <ATen/ops/randn.h>
#include <c10/util/Float8_e4m3fn.h>

#include <QtTest>

#include <cmath>
#include <cstddef>
#include <limits>
#include <vector>

using namespace kvscope;

namespace {

constexpr at::ScalarType kTypes[] = {at::kChar, at::kFloat8_e4m3fn};

/// Writes a chunk into slots of `type` the way a cache does.
at::Tensor written(const at::Tensor& chunk, at::ScalarType type)
{
    at::Tensor buffer =
        at::empty({chunk.size(0), chunk.size(1), chunk.size(2), chunk.size(3) + kScaleBytes}, type);
    writeSlots(buffer, 0, chunk, 0, chunk.size(2));
    return buffer;
}

/// ATen does not compare fp8.
bool haveSameBytes(const at::Tensor& one, const at::Tensor& other)
{
    return one.scalar_type() == other.scalar_type() &&
           at::equal(one.view(at::kChar), other.view(at::kChar));
}

void addTypes()
{
    QTest::addColumn<at::ScalarType>("type");
    for (const at::ScalarType type : kTypes)
        QTest::addRow("%s", cacheTypeName(type)) << type;
}

void append(MixedKVCache& cache, const at::Tensor& keys, const at::Tensor& values)
{
    cache.beginChunk(keys.size(2));
    for (std::size_t layer = 0; layer < cache.shape().layers.size(); ++layer)
        cache.stage(static_cast<std::int64_t>(layer), keys, values);
    cache.commitChunk();
}

} // namespace

class TestScaledRows : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { at::manual_seed(7); }

    void byHandEqualsTheDefinition_data()
    {
        QTest::addColumn<at::ScalarType>("type");
        QTest::addColumn<int>("headDim");
        QTest::addColumn<double>("size");
        for (const at::ScalarType type : kTypes)
            for (const int headDim : {1, 3, 8, 12, 63, 64, 96, 128})
                for (const double size : {1e-20, 1.0, 3e4})
                    QTest::addRow("%s, %d numbers around %g", cacheTypeName(type), headDim, size)
                        << type << headDim << size;
    }
    void byHandEqualsTheDefinition()
    {
        QFETCH(at::ScalarType, type);
        QFETCH(int, headDim);
        QFETCH(double, size);
        const at::Tensor rows = at::randn({2, 3, 40, headDim}) * size;
        QVERIFY(haveSameBytes(written(rows, type), quantizedRows(rows, type)));
    }

    // Every number of e4m3, every place between two, and the numbers beside these.
    void fp8RoundsAsC10Does()
    {
        std::vector<float> numbers;
        for (int code = 0; code < 0x7e; ++code) {
            const auto at = [](int c) {
                return static_cast<float>(c10::Float8_e4m3fn(static_cast<std::uint8_t>(c),
                                                             c10::Float8_e4m3fn::from_bits()));
            };
            const float middle = (at(code) + at(code + 1)) / 2;
            for (const float number : {at(code), middle})
                for (const float beside :
                     {std::nextafter(number, 0.0F), number, std::nextafter(number, 1e9F)})
                    numbers.insert(numbers.end(), {beside, -beside});
        }
        numbers.push_back(448.0F); // so that the scale is 1
        std::vector<std::byte> row(numbers.size() + kScaleBytes);
        quantizeRow(row.data(), numbers.data(), std::ssize(numbers), at::kFloat8_e4m3fn);
        for (std::size_t i = 0; i < numbers.size(); ++i)
            QCOMPARE(std::to_integer<int>(row[i]), int{c10::Float8_e4m3fn(numbers[i]).x});
    }

    void fp8MovesANumberByASeventeenthOfItself()
    {
        const at::Tensor rows = at::randn({1, 2, 200, 64});
        const at::Tensor stored = quantizedRows(rows, at::kFloat8_e4m3fn);
        const at::Tensor largest = rows.abs().amax({-1}, true);
        // Below largest / 28,672 steps are even.
        const at::Tensor bound =
            at::maximum(rows.abs() / 17.0F, largest / 28672.0F / 16.0F) * 1.0001F;
        const at::Tensor moved = (cachedNumbers(stored, at::kFloat) - rows).abs();
        QVERIFY((moved <= bound).all().item<bool>());
        QVERIFY(moved.amax().item<float>() > 0.01F); // the bound is met, not slack by far
    }

    void int8MovesNoNumberByMoreThanHalfAStep()
    {
        const at::Tensor rows = at::randn({1, 2, 200, 64});
        const at::Tensor got = cachedNumbers(quantizedRows(rows, at::kChar), at::kFloat);
        const at::Tensor step = rows.abs().amax({-1}, true) / 127.0F;
        QVERIFY(((got - rows).abs() <= step * 0.5001F).all().item<bool>());
        // The largest itself stays, to the rounding of its own division.
        const at::Tensor largest = got.abs().amax({-1}, true);
        QVERIFY(((largest - step * 127.0F).abs() <= step * 1e-4F).all().item<bool>());
    }

    void noRowsStayNone_data() { addTypes(); }
    void noRowsStayNone()
    {
        QFETCH(at::ScalarType, type);
        for (const at::Tensor& rows : {at::empty({1, 2, 0, 8}), at::empty({0, 2, 3, 8})}) {
            const at::Tensor stored = quantizedRows(rows, type);
            QCOMPARE(stored.size(3), std::int64_t{12});
            QCOMPARE(stored.numel(), std::int64_t{0});
            QVERIFY(cachedNumbers(stored, at::kFloat).sizes() == rows.sizes());
        }
    }

    void rowsOfZerosAndTinyNumbersAreZeros_data() { addTypes(); }
    void rowsOfZerosAndTinyNumbersAreZeros()
    {
        QFETCH(at::ScalarType, type);
        at::Tensor rows = at::full({1, 1, 2, 8}, 0.0F);
        rows.select(2, 1).fill_(1e-35F);
        for (const at::Tensor& stored : {written(rows, type), quantizedRows(rows, type)})
            QVERIFY((cachedNumbers(stored, at::kFloat) == 0.0F).all().item<bool>());
    }

    void aRowThatIsNotFiniteBecomesNaNAlone_data()
    {
        QTest::addColumn<at::ScalarType>("type");
        QTest::addColumn<float>("number");
        constexpr float kInfinity = std::numeric_limits<float>::infinity();
        for (const at::ScalarType type : kTypes)
            for (const float number : {std::nanf(""), kInfinity, -kInfinity})
                QTest::addRow("%s, %f", cacheTypeName(type), static_cast<double>(number))
                    << type << number;
    }
    void aRowThatIsNotFiniteBecomesNaNAlone()
    {
        QFETCH(at::ScalarType, type);
        QFETCH(float, number);
        at::Tensor rows = at::randn({1, 2, 3, 16});
        rows.select(1, 1).select(1, 2).select(1, 5).fill_(number);
        for (const at::Tensor& stored : {written(rows, type), quantizedRows(rows, type)}) {
            const at::Tensor got = cachedNumbers(stored, at::kFloat).isnan();
            QCOMPARE(got.sum().item<std::int64_t>(), std::int64_t{16});
            QVERIFY(got.select(1, 1).select(1, 2).all().item<bool>());
        }
    }

    void theCacheHoldsWhatOneQuantizationGives_data()
    {
        QTest::addColumn<at::ScalarType>("type");
        QTest::addColumn<QList<int>>("chunks");
        for (const at::ScalarType type : kTypes) {
            const char* name = cacheTypeName(type);
            QTest::addRow("%s, one by one", name) << type << QList<int>(23, 1);
            QTest::addRow("%s, at once", name) << type << QList<int>{23};
            QTest::addRow("%s, in between", name) << type << QList<int>{4, 1, 9, 1, 1, 7};
        }
    }
    void theCacheHoldsWhatOneQuantizationGives()
    {
        QFETCH(at::ScalarType, type);
        QFETCH(QList<int>, chunks);
        CacheShape shape;
        shape.layers = {{true, 5}, {false, 0}};
        shape.batch = 2;
        shape.numKvHeads = 3;
        shape.headDim = 12;
        MixedKVCache cache(shape, at::TensorOptions(type));
        const at::Tensor keys = at::randn({2, 3, 23, 12});
        const at::Tensor values = at::randn({2, 3, 23, 12});
        std::int64_t done = 0;
        for (const int length : chunks) {
            append(cache, keys.narrow(2, done, length), values.narrow(2, done, length));
            done += length;
        }
        QVERIFY(haveSameBytes(joinedKeys(cache.view(1)), quantizedRows(keys, type)));
        QVERIFY(haveSameBytes(joinedValues(cache.view(1)), quantizedRows(values, type)));
        QVERIFY(
            haveSameBytes(joinedKeys(cache.view(0)), quantizedRows(keys, type).narrow(2, 18, 5)));
        // 16 bytes a row, of keys and values, two sequences of three heads.
        QCOMPARE(cache.liveBytes(), std::uint64_t{(23 + 5) * 2 * 2 * 3 * 16});
        QCOMPARE(cache.snapshot().allGlobalBytes, std::uint64_t{2 * 23 * 2 * 2 * 3 * 16});
        const MixedKVCache copy = cache.fork(23);
        QVERIFY(haveSameBytes(joinedKeys(copy.view(1)), quantizedRows(keys, type)));
    }

    void aChunkSeesItselfAsLaterOnesWill_data() { addTypes(); }
    void aChunkSeesItselfAsLaterOnesWill()
    {
        QFETCH(at::ScalarType, type);
        CacheShape shape;
        shape.layers = {{true, 8}};
        shape.numKvHeads = 1;
        shape.headDim = 4;
        MixedKVCache cache(shape, at::TensorOptions(type));
        const at::Tensor keys = at::randn({1, 1, 3, 4});
        cache.beginChunk(3);
        const KVView staged = cache.stage(0, keys, keys);
        QVERIFY(haveSameBytes(joinedKeys(staged), quantizedRows(keys, type)));
    }
};

QTEST_GUILESS_MAIN(TestScaledRows)
#include "tst_scaled_rows.moc"
