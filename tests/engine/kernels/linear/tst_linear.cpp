#include "engine/kernels/linear/linear.h"
#include "engine/kernels/linear/linear_paths.h"
#include "tests/engine/kernels/linear/few_rows_paths.h"
#include "tests/engine/kernels/linear/linear_bounds.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/tensor.h>
#include <ATen/ops/zeros.h>

#include <QtTest>

#include <functional>
#include <limits>

using namespace kvscope;

namespace {

using Path = std::function<at::Tensor(const at::Tensor& x, const WeightMatrix& weight)>;

/// Of loops for few rows.
ProductError fewRowsError(StorageType type, Precision precision)
{
    return isQuantized(type) && precision == Precision::Fast ? kQuantized : kExact;
}

/// Of linear(), whichever way it goes.
ProductError anyRowsError(StorageType type, Precision precision)
{
    ProductError error = fewRowsError(type, precision);
    if (precision == Precision::Exact || type == StorageType::F32)
        return error;
    if (tileKernels(type) != nullptr)
        error.perProduct = kTakenApart.perProduct;
    else if (integerKernels() != nullptr)
        error = kIntegers;
    return error;
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

void verifyPath(StorageType type, const ProductError& error, const Path& path)
{
    at::manual_seed(21);
    for (const auto& shape : shapes(type)) {
        const auto weight = randomWeight(type, shape.rows, shape.cols, shape.misalignment);
        const at::Tensor x = at::randn({shape.inputs, shape.cols});
        const QString difference = worstAgainstDefinition(path(x, weight), x, weight, error);
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
        verifyPath(storage, anyRowsError(storage, rounding),
                   [&](const auto& x, const auto& weight) { return linear(x, weight, rounding); });
    }

    void fewRowsAgreeOnEveryInstructionSet_data() { addTypesAndPrecisions(); }
    void fewRowsAgreeOnEveryInstructionSet()
    {
        QFETCH(int, type);
        QFETCH(int, precision);
        const auto storage = static_cast<StorageType>(type);
        const auto rounding = static_cast<Precision>(precision);
        if (rounding == Precision::Fast)
            for (const FewRowsPath& path : fewRowsPaths(storage))
                verifyPath(storage, fewRowsError(storage, rounding), path.multiply);
        else
            for (const auto instructions : availableInstructionSets())
                verifyPath(storage, fewRowsError(storage, rounding),
                           [&](const auto& x, const auto& weight) {
                               return linearFewRows(x, weight, rounding, instructions);
                           });
    }

    // Rows end after every number of blocks: fours, pairs and single ones; floats after every
    // number of elements.
    void everyLengthAgrees_data() { otherPathsAgree_data(); }
    void everyLengthAgrees()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        at::manual_seed(41);
        const std::int64_t unit = isQuantized(storage) ? blockElements(storage) : 1;
        const std::int64_t units = unit == 1 ? 70 : unit == 32 ? 19 : 4;
        for (const FewRowsPath& path : fewRowsPaths(storage))
            for (std::int64_t count = 1; count <= units; ++count) {
                const auto weight = randomWeight(storage, 1 + count % 6, count * unit, count % 4);
                const at::Tensor x = at::randn({1 + count % 7, weight.cols});
                const QString difference = worstAgainstDefinition(
                    path.multiply(x, weight), x, weight, fewRowsError(storage, Precision::Fast));
                QVERIFY2(difference.isEmpty(),
                         qPrintable(QString::fromStdString(path.name) + ": " + difference));
            }
    }

    void anInputIsTheSameBitsAmongOthers_data() { otherPathsAgree_data(); }
    void anInputIsTheSameBitsAmongOthers()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        at::manual_seed(42);
        const auto weight = randomWeight(storage, 9, wholeBlocks(storage, 576));
        const at::Tensor x = at::randn({6, weight.cols});
        for (const FewRowsPath& path : fewRowsPaths(storage)) {
            const at::Tensor all = path.multiply(x, weight);
            for (std::int64_t n = 0; n < x.size(0); ++n)
                QVERIFY(at::equal(path.multiply(x.narrow(0, n, 1), weight), all.narrow(0, n, 1)));
        }
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
        verifyPath(storage, kExact, linearManyRows);
        const auto verifyPanels = [&](const PanelKernels& kernels, const ProductError& error) {
            verifyPath(storage, error, [&](const auto& x, const auto& weight) {
                return linearPanels(x, weight, kernels);
            });
        };
        for (const auto instructions : availableInstructionSets())
            if (const PanelKernels* kernels = panelKernels(instructions))
                verifyPanels(*kernels, kExact);
        if (const PanelKernels* kernels = tileKernels(storage))
            verifyPanels(*kernels, kTakenApart);
        if (const PanelKernels* kernels = integerKernels())
            verifyPanels(*kernels, kIntegers);
        verifyPath(storage, kExact, linearReference);
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
        QVERIFY(at::equal(expandTensorOps(weight, at::kFloat, 10 * cols), expand(weight)));
        QVERIFY(at::equal(expandTensorOps(weight, at::kFloat, 1), expand(weight)));
        QCOMPARE(expandTensorOps(weight, at::kBFloat16).scalar_type(), at::kBFloat16);
        const at::Tensor x = at::randn({5, cols});
        const QString difference = compareTensors(linearTensorOps(x, weight, at::kFloat),
                                                  linearReference(x, weight), 1e-5, 1e-5);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    // A weight of several slices: 2^20 elements a slice, so 3 here and the last one partial.
    void slicesCoverALargeWeight()
    {
        at::manual_seed(24);
        const auto weight = randomWeight(StorageType::Q4_1, 2100, 1024);
        const at::Tensor x = at::randn({40, 1024});
        const QString difference =
            worstAgainstDefinition(linearManyRows(x, weight), x, weight, kExact);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
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
            for (const auto instructions : availableInstructionSets()) {
                const at::Tensor y =
                    linearFewRows(x, weight, static_cast<Precision>(precision), instructions);
                QVERIFY(!y.select(0, 1).isfinite().any().item<bool>());
                QVERIFY(y.select(0, 0).isfinite().all().item<bool>());
                QVERIFY(y.select(0, 2).isfinite().all().item<bool>());
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
