#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"
#include "tests/engine/kernels/linear/linear_bounds.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/avx512_on_avx2/kernels.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/zeros.h>

#include <QtTest>

#include <limits>
#include <map>
#include <vector>

using namespace kvscope;

namespace {

struct Loops
{
    MultiplyRows multiply;
    QuantizeRow quantize; ///< null: reads floats
};

/// By type; AVX-512's own loops expand nothing but float formats.
const std::map<StorageType, Loops> kLoops = [] {
    using namespace avx512_on_avx2;
    std::map<StorageType, Loops> loops;
    const auto add = [&](StorageType type, const auto& kernels) {
        loops[type] = {kernels.multiply, kernels.quantize};
    };
    add(StorageType::F32, kF32);
    add(StorageType::F16, kF16);
    add(StorageType::BF16, kBF16);
    add(StorageType::Q8_0, kQ80);
    add(StorageType::Q4_0, kQ40);
    add(StorageType::Q4_1, kQ41);
    add(StorageType::Q5_0, kQ50);
    add(StorageType::Q5_1, kQ51);
    add(StorageType::IQ4_NL, kIq4Nl);
    add(StorageType::MXFP4, kMxfp4);
    add(StorageType::Q2_K, kQ2K);
    add(StorageType::Q3_K, kQ3K);
    add(StorageType::Q4_K, kQ4K);
    add(StorageType::Q5_K, kQ5K);
    add(StorageType::Q6_K, kQ6K);
    add(StorageType::Q8_K, kQ8K);
    add(StorageType::IQ4_XS, kIq4Xs);
    return loops;
}();

/// What linearFewRows() computes, by the loops given.
at::Tensor multiplied(const at::Tensor& x, const WeightMatrix& weight, const Loops& loops)
{
    const std::int64_t inputs = x.size(0);
    const at::Tensor y = at::empty({inputs, weight.rows});
    std::vector<std::int16_t> quantized(static_cast<std::size_t>(x.numel()));
    std::vector<float> scaleAndSum(static_cast<std::size_t>(x.numel() / 32 * 2));
    RowProduct product;
    product.weight = static_cast<const std::byte*>(weight.data.const_data_ptr());
    product.rowBytes = bytesPerRow(weight.type, weight.cols);
    product.cols = weight.cols;
    product.x = x.const_data_ptr<float>();
    product.numInputs = inputs;
    product.y = y.mutable_data_ptr<float>();
    product.yStride = weight.rows;
    if (loops.quantize != nullptr) {
        for (std::int64_t n = 0; n < inputs; ++n)
            loops.quantize(product.x + n * weight.cols, weight.cols,
                           quantized.data() + n * weight.cols,
                           scaleAndSum.data() + n * weight.cols / 32 * 2);
        product.quantized = quantized.data();
        product.scaleAndSum = scaleAndSum.data();
    }
    loops.multiply(product, 0, weight.rows);
    return y;
}

double errorOf(const Loops& loops)
{
    return loops.quantize != nullptr ? kQuantized : 0.0;
}

} // namespace

/// The products for AVX-512, compiled for AVX2. Where the processor has AVX-512, tst_linear runs
/// them as they are.
class TestLinearAvx512OnAvx2 : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        if (bestInstructionSet() == InstructionSet::Portable)
            QSKIP("this processor has no AVX2");
        QCOMPARE(kLoops.size(), weightTypes().size()); // a type without loops would not be tested
    }

    void everyLengthAgrees_data()
    {
        QTest::addColumn<int>("type");
        for (const auto& [type, loops] : kLoops)
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    // Rows end after every number of blocks: fours, pairs and single ones; floats after every
    // number of elements.
    void everyLengthAgrees()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        const Loops& loops = kLoops.at(storage);
        at::manual_seed(41);
        const std::int64_t unit = isQuantized(storage) ? blockElements(storage) : 1;
        const std::int64_t units = unit == 1 ? 70 : unit == 32 ? 19 : 4;
        for (std::int64_t count = 1; count <= units; ++count) {
            const std::int64_t inputs = 1 + count % 7;
            const auto weight = randomWeight(storage, 1 + count % 6, count * unit, count % 4);
            const at::Tensor x = at::randn({inputs, weight.cols});
            const QString difference =
                worstAgainstDefinition(multiplied(x, weight, loops), x, weight, errorOf(loops));
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }

    void anInputIsTheSameBitsAmongOthers_data() { everyLengthAgrees_data(); }
    void anInputIsTheSameBitsAmongOthers()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        const Loops& loops = kLoops.at(storage);
        at::manual_seed(42);
        const auto weight = randomWeight(storage, 9, wholeBlocks(storage, 576));
        const at::Tensor x = at::randn({6, weight.cols});
        const at::Tensor all = multiplied(x, weight, loops);
        for (std::int64_t n = 0; n < x.size(0); ++n)
            QVERIFY(at::equal(multiplied(x.narrow(0, n, 1), weight, loops), all.narrow(0, n, 1)));
    }

    void inputsThatAreNoNumbersShow_data() { everyLengthAgrees_data(); }
    void inputsThatAreNoNumbersShow()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        const Loops& loops = kLoops.at(storage);
        at::manual_seed(43);
        const auto weight = randomWeight(storage, 5, wholeBlocks(storage, 320));
        for (std::int64_t at = 0; at < weight.cols; at += 31) {
            const at::Tensor x = at::randn({2, weight.cols});
            x.select(0, 1).select(0, at).fill_(std::numeric_limits<float>::quiet_NaN());
            const at::Tensor y = multiplied(x, weight, loops);
            QVERIFY(y.select(0, 0).isfinite().all().item<bool>());
            QVERIFY(y.select(0, 1).isnan().all().item<bool>());
        }
        // The largest inputs there are: sums of integers must not overflow.
        const at::Tensor x = at::zeros({1, weight.cols}).fill_(1.0F);
        const QString difference =
            worstAgainstDefinition(multiplied(x, weight, loops), x, weight, errorOf(loops));
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }
};

QTEST_GUILESS_MAIN(TestLinearAvx512OnAvx2)
#include "tst_linear_avx512_on_avx2.moc"
