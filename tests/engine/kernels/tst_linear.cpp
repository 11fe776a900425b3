#include "engine/kernels/linear.h"
#include "engine/kernels/linear_paths.h"
#include "tests/engine/kernels/weight_samples.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>
#include <ATen/ops/zeros_like.h>

#include <QtTest>

#include <functional>
#include <limits>

using namespace kvscope;

namespace {

using Path = std::function<at::Tensor(const at::Tensor& x, const WeightMatrix& weight)>;

// An upper bound of each output's error: `perElement` of the largest input of each block of 32,
// times the weights' magnitudes, and float32 rounding of the sum.
at::Tensor errorBound(const at::Tensor& x, const at::Tensor& expanded, double perElement)
{
    const at::Tensor magnitudes = expanded.abs().to(at::kDouble).t();
    const at::Tensor input = x.abs().to(at::kDouble);
    at::Tensor bound = at::mm(input, magnitudes) * 1e-6;
    if (perElement > 0) {
        const at::Tensor blocks = input.view({x.size(0), x.size(1) / 32, 32});
        const at::Tensor largest = blocks.amax(2, true).expand_as(blocks).reshape(x.sizes());
        bound += at::mm(largest, magnitudes) * perElement;
    }
    return bound + 1e-30;
}

QString worstAgainstDefinition(const at::Tensor& got, const at::Tensor& x,
                               const WeightMatrix& weight, double perElement)
{
    const at::Tensor expanded = expand(weight);
    const at::Tensor want = at::mm(x.to(at::kDouble), expanded.to(at::kDouble).t());
    const at::Tensor share = (got.to(at::kDouble) - want) / errorBound(x, expanded, perElement);
    return compareTensors(share, at::zeros_like(share), 1.0, 0.0);
}

// Half of the quantisation step, 1 / 32767 of a block's largest input, and a little for rounding.
constexpr double kQuantized = 0.5 / 32767 * 1.01;
constexpr double kBFloat16 = 1.0 / 128; // inputs, weights and output rounded to 8 bits each

double errorOf(StorageType type, Precision precision)
{
    return isQuantized(type) && precision == Precision::Fast ? kQuantized : 0.0;
}

struct Shape
{
    std::int64_t rows, cols, inputs, misalignment;
};

// Tile cases first: less than a tile, one, several, a partial last; then at random.
std::vector<Shape> shapes(StorageType type)
{
    const std::int64_t block = isQuantized(type) ? blockElements(type) : 32;
    std::vector<Shape> all{{1, block, 1, 0},
                           {4, block, 1, 0},
                           {3, 2 * block, 2, 1},
                           {5, 3 * block, 3, 0},
                           {67, wholeBlocks(type, 576), 1, 2},
                           {129, wholeBlocks(type, 576), 40, 1}};
    const std::int64_t unit = isQuantized(type) ? block : 3;
    const std::int64_t mostUnits = block > 32 ? 9 : 40;
    const at::Tensor random = at::randint(0, 1 << 20, {14, 4}, at::kLong);
    for (std::int64_t i = 0; i < random.size(0); ++i) {
        const auto* row = random.const_data_ptr<std::int64_t>() + 4 * i;
        // Few inputs first, then up to those that the other way takes over.
        all.push_back({1 + row[0] % 170, unit * (1 + row[1] % mostUnits),
                       i < 9 ? i + 1 : 1 + row[2] % 40, row[3] % 4});
    }
    return all;
}

void addTypesAndPrecisions()
{
    QTest::addColumn<int>("type");
    QTest::addColumn<int>("precision");
    for (const auto type : weightTypes()) {
        QTest::newRow(qPrintable(nameOf(type) + " exact"))
            << static_cast<int>(type) << static_cast<int>(Precision::Exact);
        QTest::newRow(qPrintable(nameOf(type) + " fast"))
            << static_cast<int>(type) << static_cast<int>(Precision::Fast);
    }
}

void verifyPath(StorageType type, double perElement, const Path& path)
{
    at::manual_seed(21);
    for (const auto& shape : shapes(type)) {
        const auto weight = randomWeight(type, shape.rows, shape.cols, shape.misalignment);
        const at::Tensor x = at::randn({shape.inputs, shape.cols});
        const QString difference = worstAgainstDefinition(path(x, weight), x, weight, perElement);
        QVERIFY2(difference.isEmpty(), qPrintable(QString("[%1, %2] times %3 inputs, in bounds: %4")
                                                      .arg(shape.rows)
                                                      .arg(shape.cols)
                                                      .arg(shape.inputs)
                                                      .arg(difference)));
    }
}

} // namespace

class TestLinear : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { at::set_num_threads(2); }

    void agreesWithDefinition_data() { addTypesAndPrecisions(); }
    void agreesWithDefinition()
    {
        QFETCH(int, type);
        QFETCH(int, precision);
        const auto storage = static_cast<StorageType>(type);
        const auto rounding = static_cast<Precision>(precision);
        // With bfloat16 instructions many rows may round more; that path has its own test.
        if (rounding == Precision::Fast && hasBFloat16Products())
            QSKIP("this processor multiplies bfloat16");
        verifyPath(storage, errorOf(storage, rounding),
                   [&](const auto& x, const auto& weight) { return linear(x, weight, rounding); });
    }

    void fewRowsAgreeOnEveryInstructionSet_data() { addTypesAndPrecisions(); }
    void fewRowsAgreeOnEveryInstructionSet()
    {
        QFETCH(int, type);
        QFETCH(int, precision);
        const auto storage = static_cast<StorageType>(type);
        const auto rounding = static_cast<Precision>(precision);
        for (const auto instructions : {InstructionSet::Portable, bestInstructionSet()})
            verifyPath(storage, errorOf(storage, rounding), [&](const auto& x, const auto& weight) {
                return linearFewRows(x, weight, rounding, instructions);
            });
    }

    void otherPathsAgree_data()
    {
        QTest::addColumn<int>("type");
        for (const auto type : weightTypes())
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    void otherPathsAgree()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        verifyPath(storage, 0.0, linearManyRows);
        if (hasPanelProducts())
            verifyPath(storage, 0.0, linearPanels);
        verifyPath(storage, 0.0, linearReference);
    }

    // LibTorch's own operations want aligned tensors, as a device's memory is.
    void tensorOperationsAgree_data() { otherPathsAgree_data(); }
    void tensorOperationsAgree()
    {
        QFETCH(int, type);
        at::manual_seed(22);
        const auto storage = static_cast<StorageType>(type);
        const std::int64_t cols = wholeBlocks(storage, 96);
        const auto weight = randomWeight(storage, 37, cols);
        QVERIFY(at::equal(expandTensorOps(weight, at::kFloat), expand(weight)));
        QCOMPARE(expandTensorOps(weight, at::kBFloat16).scalar_type(), at::kBFloat16);
        const at::Tensor x = at::randn({5, cols});
        const QString difference =
            compareTensors(linearTensorOps(x, weight), linearReference(x, weight), 1e-5, 1e-5);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    void bfloat16Agrees_data() { otherPathsAgree_data(); }
    void bfloat16Agrees()
    {
        QFETCH(int, type);
        at::manual_seed(23);
        const auto storage = static_cast<StorageType>(type);
        const std::int64_t cols = wholeBlocks(storage, 192);
        const auto weight = randomWeight(storage, 131, cols);
        const at::Tensor x = at::randn({33, cols});
        const at::Tensor got = linearBFloat16(x, weight);
        QCOMPARE(got.scalar_type(), at::kFloat);
        const QString difference = worstAgainstDefinition(got, x, weight, kBFloat16);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    // Shapes at the edges of the blocks: 16 rows of W a panel and 16 panels a slice, 6 rows of x a
    // tile and 192 a block, 320 columns at most at a time; shares of x among many threads.
    void panelsCoverEveryEdge()
    {
        if (!hasPanelProducts())
            QSKIP("this processor has no AVX2");
        at::manual_seed(32);
        for (const int threads : {1, 2, 5}) {
            at::set_num_threads(threads);
            for (const Shape& shape :
                 {Shape{1, 1, 1, 0}, Shape{15, 7, 5, 0}, Shape{16, 8, 6, 0}, Shape{17, 321, 7, 2},
                  Shape{257, 648, 191, 0}, Shape{272, 320, 193, 0}, Shape{3, 97, 400, 0},
                  Shape{40, 1000, 203, 1}}) {
                const auto weight =
                    randomWeight(StorageType::F32, shape.rows, shape.cols, shape.misalignment);
                const at::Tensor x = at::randn({shape.inputs, shape.cols});
                const QString difference =
                    worstAgainstDefinition(linearPanels(x, weight), x, weight, 0.0);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
        }
    }

    void panelsGiveARowTheSameBitsAmongOthers()
    {
        if (!hasPanelProducts())
            QSKIP("this processor has no AVX2");
        at::manual_seed(33);
        const auto weight = randomWeight(StorageType::Q4_1, 1027, 672);
        const at::Tensor x = at::randn({205, weight.cols});
        const at::Tensor all = linearPanels(x, weight);
        at::set_num_threads(1);
        QVERIFY(at::equal(linearPanels(x, weight), all));
        for (const std::int64_t n : {1, 6, 77, 204})
            QVERIFY(at::equal(linearPanels(x.narrow(0, n, 1), weight), all.narrow(0, n, 1)));
        // Two panels among many threads: rows of x are shared out too.
        const auto narrow = randomWeight(StorageType::Q8_0, 20, 672);
        const at::Tensor one = linearPanels(x, narrow);
        for (const int threads : {2, 5, 16}) {
            at::set_num_threads(threads);
            QVERIFY(at::equal(linearPanels(x, narrow), one));
        }
    }

    void panelsKeepNotANumberInItsRow()
    {
        if (!hasPanelProducts())
            QSKIP("this processor has no AVX2");
        at::manual_seed(34);
        const auto weight = randomWeight(StorageType::Q4_0, 50, 96);
        const at::Tensor x = at::randn({14, 96});
        x.select(0, 7).select(0, 40).fill_(std::numeric_limits<float>::quiet_NaN());
        const at::Tensor y = linearPanels(x, weight);
        QVERIFY(y.select(0, 7).isnan().all().item<bool>());
        QVERIFY(y.narrow(0, 0, 7).isfinite().all().item<bool>());
        QVERIFY(y.narrow(0, 8, 6).isfinite().all().item<bool>());
    }

    // A weight of several slices: 2^20 elements a slice, so 3 here and the last one partial.
    void slicesCoverALargeWeight()
    {
        at::manual_seed(24);
        const auto weight = randomWeight(StorageType::Q4_1, 2100, 1024);
        const at::Tensor x = at::randn({40, 1024});
        const QString difference =
            worstAgainstDefinition(linearManyRows(x, weight), x, weight, 0.0);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    // Rounding to 1 / 32767 of a block's largest input, some 2.2 standard deviations, costs outputs
    // 2.2 / 32767 / sqrt(12) = 2e-5 of their size.
    void quantisedInputsCostLittle()
    {
        at::manual_seed(25);
        for (const auto type : kBlockTypes) {
            const auto weight = randomWeight(type, 200, wholeBlocks(type, 576));
            const at::Tensor x = at::randn({3, weight.cols});
            const at::Tensor want = linearReference(x, weight);
            const auto error = (linear(x, weight, Precision::Fast) - want).norm() / want.norm();
            QVERIFY2(error.item<double>() < 3e-5,
                     qPrintable(QString::number(error.item<double>())));
        }
    }

    void threadsAndBatchDoNotChangeARow_data() { addTypesAndPrecisions(); }
    // Property: a row's output is the same bits with one thread or two, alone or among others.
    void threadsAndBatchDoNotChangeARow()
    {
        QFETCH(int, type);
        QFETCH(int, precision);
        const auto storage = static_cast<StorageType>(type);
        const auto rounding = static_cast<Precision>(precision);
        at::manual_seed(26);
        const auto weight = randomWeight(storage, 1027, wholeBlocks(storage, 288));
        const at::Tensor x = at::randn({5, weight.cols});
        const at::Tensor all = linearFewRows(x, weight, rounding, bestInstructionSet());
        at::set_num_threads(1);
        QVERIFY(at::equal(linearFewRows(x, weight, rounding, bestInstructionSet()), all));
        for (std::int64_t n = 0; n < x.size(0); ++n) {
            const at::Tensor alone =
                linearFewRows(x.narrow(0, n, 1), weight, rounding, bestInstructionSet());
            QVERIFY(at::equal(alone, all.narrow(0, n, 1)));
        }
    }

    void weightsTogetherGiveWhatEachAloneGives_data() { addTypesAndPrecisions(); }
    // Property: sharing the rounded input and the threads among weights changes no bit, also beside
    // a weight of another type and one without rows, with few rows of x and with many.
    void weightsTogetherGiveWhatEachAloneGives()
    {
        QFETCH(int, type);
        QFETCH(int, precision);
        const auto storage = static_cast<StorageType>(type);
        const auto rounding = static_cast<Precision>(precision);
        at::manual_seed(29);
        const std::int64_t cols = wholeBlocks(storage, 256);
        const auto first = randomWeight(storage, 67, cols);
        const auto second = randomWeight(storage, 1001, cols);
        const auto other = randomWeight(StorageType::F32, 5, cols);
        const auto none = randomWeight(storage, 0, cols);
        const std::vector<const WeightMatrix*> weights{&first, &other, &none, &second};
        for (const std::int64_t rows : {1, 3, 40}) {
            const at::Tensor x = at::randn({rows, cols});
            const auto together = linear(x, weights, rounding);
            QCOMPARE(together.size(), weights.size());
            for (std::size_t i = 0; i < weights.size(); ++i)
                QVERIFY(at::equal(together[i], linear(x, *weights[i], rounding)));
        }
    }

    // That of the formats of nibbles: of each two blocks 0, 2, ... 14 of both, 16, 18, ... 30 of
    // both, then the odd ones likewise; scale beside sum, of each four blocks as 0, 2, 1, 3; the
    // last block alone as bothQuantisersAgree() has it.
    void theNibblesQuantiserAgrees()
    {
        at::manual_seed(30);
        const auto plain = formatKernels(StorageType::Q4_1, InstructionSet::Portable).quantize;
        const auto fast = formatKernels(StorageType::Q4_1, bestInstructionSet()).quantize;
        if (fast == plain)
            QSKIP("this processor has no AVX2");
        constexpr std::size_t kBlocks = 4 + 2 + 1;
        const at::Tensor x = at::randn({kBlocks, 32}) * at::randn({kBlocks, 1}).exp();
        std::vector<std::int16_t> got(32 * kBlocks), want(32 * kBlocks);
        std::vector<float> gotScales(2 * kBlocks), wantScales(2 * kBlocks);
        fast(x.const_data_ptr<float>(), 32 * kBlocks, got.data(), gotScales.data());
        plain(x.const_data_ptr<float>(), 32 * kBlocks, want.data(), wantScales.data());
        for (std::size_t i = 0; i < want.size(); ++i) {
            const std::size_t block = i / 32;
            const std::size_t within = i % 32;
            const std::size_t alone = block * 32 + within % 2 * 16 + within / 2;
            const std::size_t inPair = block / 2 * 64 + within % 2 * 32 + within / 16 * 16 +
                                       block % 2 * 8 + within % 16 / 2;
            QCOMPARE(got[block + 1 == kBlocks ? alone : inPair], want[i]);
        }
        const std::size_t placeOf[kBlocks] = {0, 2, 1, 3, 4, 5, 6};
        for (std::size_t block = 0; block < kBlocks; ++block)
            for (std::size_t which = 0; which < 2; ++which)
                QCOMPARE(gotScales[2 * placeOf[block] + which], wantScales[2 * block + which]);
    }

    // The other AVX2 quantiser's integers and scales are the plain one's in another order: of each
    // block even elements before odd ones, of each 256 columns (the last 64 here) scales before
    // sums.
    void bothQuantisersAgree()
    {
        at::manual_seed(27);
        const auto plain = formatKernels(StorageType::Q8_0, InstructionSet::Portable).quantize;
        const auto fast = formatKernels(StorageType::Q8_0, bestInstructionSet()).quantize;
        if (fast == plain)
            QSKIP("this processor has no AVX2");
        constexpr std::size_t kBlocks = 26;
        const at::Tensor x = at::randn({kBlocks, 32}) * at::randn({kBlocks, 1}).exp();
        std::vector<std::int16_t> got(32 * kBlocks), want(32 * kBlocks);
        std::vector<float> gotScales(2 * kBlocks), wantScales(2 * kBlocks);
        fast(x.const_data_ptr<float>(), 32 * kBlocks, got.data(), gotScales.data());
        plain(x.const_data_ptr<float>(), 32 * kBlocks, want.data(), wantScales.data());
        for (std::size_t i = 0; i < want.size(); ++i)
            QCOMPARE(got[i / 32 * 32 + i % 2 * 16 + i % 32 / 2], want[i]);
        for (std::size_t block = 0; block < kBlocks; ++block) {
            const std::size_t first = block / 8 * 8;
            const std::size_t together = std::min<std::size_t>(8, kBlocks - first);
            for (std::size_t which = 0; which < 2; ++which)
                QCOMPARE(gotScales[2 * first + together * which + block - first],
                         wantScales[2 * block + which]);
        }
    }

    // The largest integers of every kind with inputs at full scale: no sum of 32 bits overflows.
    void theLargestIntegersDoNotOverflow()
    {
        for (const auto type : kBlockTypes)
            for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
                auto weight = randomWeight(type, 4, 256);
                const at::Tensor factors = randomBlocks(type, 4, 256);
                weight.data.fill_(byte);
                const FactorPlaces places = factorPlaces(type);
                const at::Tensor blocks = weight.data.view({4, -1, blockBytes(type)});
                const at::Tensor from = factors.view(blocks.sizes());
                const std::int64_t bytes = type == StorageType::Q8_K ? 4 : 2;
                blocks.narrow(2, places.scaleAt, bytes)
                    .copy_(from.narrow(2, places.scaleAt, bytes));
                if (places.offsetAt >= 0)
                    blocks.narrow(2, places.offsetAt, 2).copy_(from.narrow(2, places.offsetAt, 2));
                for (const double sign : {1.0, -1.0}) {
                    const at::Tensor x = at::ones({1, 256}) * sign;
                    for (const auto instructions :
                         {InstructionSet::Portable, bestInstructionSet()}) {
                        const at::Tensor y =
                            linearFewRows(x, weight, Precision::Fast, instructions);
                        const QString difference = worstAgainstDefinition(y, x, weight, kQuantized);
                        QVERIFY2(difference.isEmpty(), qPrintable(nameOf(type) + difference));
                    }
                }
            }
    }

    void notANumberStaysInItsRow_data() { addTypesAndPrecisions(); }
    void notANumberStaysInItsRow()
    {
        QFETCH(int, type);
        QFETCH(int, precision);
        at::manual_seed(28);
        const auto storage = static_cast<StorageType>(type);
        const auto weight = randomWeight(storage, 9, wholeBlocks(storage, 64));
        for (const float bad :
             {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity()}) {
            at::Tensor x = at::randn({3, weight.cols});
            x.mutable_data_ptr<float>()[weight.cols + 37] = bad;
            for (const auto instructions : {InstructionSet::Portable, bestInstructionSet()}) {
                const at::Tensor y =
                    linearFewRows(x, weight, static_cast<Precision>(precision), instructions);
                QVERIFY(!y.select(0, 1).isfinite().any().item<bool>());
                QVERIFY(y.select(0, 0).isfinite().all().item<bool>());
                QVERIFY(y.select(0, 2).isfinite().all().item<bool>());
            }
        }
    }

    // Eight, four, two blocks and one: each part of the loops meets it.
    void notANumberIsFoundInEveryBlock()
    {
        at::manual_seed(31);
        constexpr std::int64_t kBlocks = 8 + 4 + 2 + 1;
        for (const auto type : {StorageType::Q4_0, StorageType::Q4_1, StorageType::Q8_0}) {
            const auto weight = randomWeight(type, 5, 32 * kBlocks);
            for (std::int64_t block = 0; block < kBlocks; ++block) {
                at::Tensor x = at::randn({5, weight.cols});
                x.select(0, 2)
                    .select(0, 32 * block + (7 * block) % 32)
                    .fill_(std::numeric_limits<float>::quiet_NaN());
                const at::Tensor y =
                    linearFewRows(x, weight, Precision::Fast, bestInstructionSet());
                QVERIFY(y.select(0, 2).isnan().all().item<bool>());
                QVERIFY(y.narrow(0, 0, 2).isfinite().all().item<bool>());
                QVERIFY(y.narrow(0, 3, 2).isfinite().all().item<bool>());
            }
        }
    }

    void tinyAndHugeInputsKeepTheirScale()
    {
        at::manual_seed(29);
        for (const auto type : kBlockTypes) {
            const auto weight = randomWeight(type, 8, wholeBlocks(type, 64));
            for (const double size : {0.0, 1e-42, 1e-25, 1e25}) {
                const at::Tensor x = at::randn({2, weight.cols}) * size;
                for (const auto instructions : {InstructionSet::Portable, bestInstructionSet()}) {
                    const at::Tensor y = linearFewRows(x, weight, Precision::Fast, instructions);
                    const QString difference = worstAgainstDefinition(y, x, weight, kQuantized);
                    QVERIFY2(difference.isEmpty(), qPrintable(difference));
                }
            }
        }
    }

    void lookUpReadsRows_data() { otherPathsAgree_data(); }
    void lookUpReadsRows()
    {
        QFETCH(int, type);
        at::manual_seed(30);
        const auto storage = static_cast<StorageType>(type);
        const auto weight = randomWeight(storage, 11, wholeBlocks(storage, 64), 1);
        const at::Tensor ids = at::tensor({10L, 0L, 3L, 3L}, at::kLong);
        QVERIFY(at::equal(lookUpRows(weight, ids), expand(weight).index_select(0, ids)));
        QVERIFY_EXCEPTION_THROWN(lookUpRows(weight, at::tensor({11L}, at::kLong)), c10::Error);
        QVERIFY_EXCEPTION_THROWN(lookUpRows(weight, at::tensor({-1L}, at::kLong)), c10::Error);
    }

    void noRowsGiveNoRows()
    {
        const auto weight = randomWeight(StorageType::Q4_1, 5, 64);
        const at::Tensor y = linear(at::zeros({0, 64}), weight, Precision::Fast);
        QCOMPARE(y.size(0), 0);
        QCOMPARE(y.size(1), 5);
        QCOMPARE(lookUpRows(weight, at::zeros({0}, at::kLong)).size(0), 0);
    }

    void brokenContractsAreRefused()
    {
        const auto good = randomWeight(StorageType::Q8_0, 4, 64);
        const at::Tensor x = at::zeros({2, 64});
        const auto refuses = [&](const at::Tensor& input, const WeightMatrix& weight) {
            QVERIFY_EXCEPTION_THROWN(linear(input, weight, Precision::Fast), c10::Error);
        };
        refuses(at::zeros({2, 32}), good);
        refuses(at::zeros({64}), good);
        refuses(at::zeros({2, 128}).narrow(1, 0, 64), good);
        refuses(x.to(at::kDouble), good);
        refuses(x, {StorageType::Q8_0, 5, 64, good.data});
        refuses(x, {StorageType::Q4_0, 4, 64, good.data});
        refuses(x, {StorageType::Q8_0, 4, 64, at::Tensor()});
        refuses(x, {StorageType::I8, 4, 64, good.data});
        refuses(at::zeros({2, 48}), {StorageType::Q8_0, 4, 48, good.data});
        refuses(at::zeros({2, 128}), {StorageType::Q4_K, 4, 128, good.data});
        refuses(x, {StorageType::F32, 4, 64, at::zeros({64, 4}).t()});
        refuses(x, {StorageType::BF16, 4, 64, at::zeros({4, 64})});
    }
};

QTEST_GUILESS_MAIN(TestLinear)
#include "tst_linear.moc"
