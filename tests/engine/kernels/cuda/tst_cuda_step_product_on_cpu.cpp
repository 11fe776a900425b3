// The product of a CUDA decode step, compiled for the CPU (tests/support/cuda_on_cpu).
#include "engine/kernels/cuda/cuda_conversions.h"
#include "engine/kernels/cuda/step_kernels.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/linear/linear.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/cuda_on_cpu/block_of_fibers.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/full.h>

#include <QTest>

#include <algorithm>
#include <cmath>
#include <vector>

using namespace kvscope;

namespace {

constexpr double kEpsilon = 1e-5;
constexpr double kTolerance = 2e-5;

StepMatrix matrixOf(const WeightMatrix& weight, const at::Tensor& bias = {})
{
    return {static_cast<const std::byte*>(weight.data.const_data_ptr()),
            bias.defined() ? bias.const_data_ptr<float>() : nullptr};
}

/// One part, plain input, stored.
StepProductLaunch productLaunch(const at::Tensor& x, const WeightMatrix& weight,
                                const at::Tensor& y)
{
    StepProductLaunch launch{};
    launch.type = weight.type;
    launch.parts[0] = {matrixOf(weight), nullptr, static_cast<int>(weight.rows),
                       y.mutable_data_ptr<float>()};
    launch.numParts = 1;
    launch.cols = static_cast<int>(weight.cols);
    launch.rowBytes = weight.data.size(1) * static_cast<std::int64_t>(weight.data.element_size());
    launch.x = x.const_data_ptr<float>();
    launch.epsilon = static_cast<float>(kEpsilon);
    launch.gating = cudaGating(Activation::Silu);
    launch.visits = 1;
    return launch;
}

at::Tensor nothing(at::IntArrayRef sizes)
{
    return at::full(sizes, std::nan(""));
}

/// Sums of few numbers may cancel: the least that is allowed is of the numbers themselves.
QString difference(const at::Tensor& got, const at::Tensor& want)
{
    return compareTensors(got, want, kTolerance * std::max(0.1, want.abs().max().item<double>()),
                          kTolerance);
}

} // namespace

class TestCudaStepProductOnCpu : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        at::manual_seed(44);
        BlockOfFibers::startsFromTheLast = false;
    }

    void productEqualsReference_data()
    {
        QTest::addColumn<int>("type");
        for (const auto type : weightTypes())
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    // Rows: one, a warp's and one more, a block's and more. Columns: fewer than a load, not a
    // multiple of one, the stretch of 2,048, more than that; rows that begin beside a multiple of
    // sixteen bytes.
    void productEqualsReference()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        const std::int64_t shapes[][2] = {{1, 3},     {9, 96},   {5, 577}, {17, 2048},
                                          {37, 2304}, {3, 4352}, {33, 40}};
        for (const auto& [rows, columns] : shapes)
            for (const std::int64_t misalignment : {0, 4}) {
                const std::int64_t cols = wholeBlocks(storage, columns);
                const auto weight = randomWeight(storage, rows, cols, misalignment);
                const at::Tensor x = at::randn({1, cols});
                const at::Tensor y = nothing({1, rows});
                BlockOfFibers::startsFromTheLast = misalignment > 0;
                QCOMPARE(launchStepProduct(productLaunch(x, weight, y), nullptr), cudaSuccess);
                const QString worst = difference(y, linearReference(x, weight));
                QVERIFY2(worst.isEmpty(), qPrintable(QString("[%1, %2] misaligned by %3: %4")
                                                         .arg(rows)
                                                         .arg(cols)
                                                         .arg(misalignment)
                                                         .arg(worst)));
            }
    }

    void productRefusesOtherStorage()
    {
        StepProductLaunch launch{};
        launch.type = StorageType::I32;
        QCOMPARE(launchStepProduct(launch, nullptr), cudaErrorInvalidValue);
    }

    // Of several rows' numbers in one launch, normalised input and biases.
    void partsShareANormalisedInput()
    {
        for (const std::int64_t cols : {64, 2208}) {
            const at::Tensor x = at::randn({1, cols}) * 3;
            const at::Tensor gain = at::randn({cols});
            const at::Tensor input = rmsNormReference(x, gain, kEpsilon);
            const std::int64_t rows[] = {40, 3, 17};
            std::vector<WeightMatrix> weights;
            std::vector<at::Tensor> biases, results;
            StepProductLaunch launch{};
            for (int part = 0; part < 3; ++part) {
                weights.push_back(randomWeight(StorageType::BF16, rows[part], cols));
                biases.push_back(at::randn({rows[part]}));
                results.push_back(nothing({1, rows[part]}));
                const auto one = productLaunch(x, weights[part], results[part]);
                if (part == 0)
                    launch = one;
                launch.parts[part] = one.parts[0];
                launch.parts[part].matrix = matrixOf(weights[part], biases[part]);
            }
            launch.numParts = 3;
            launch.gain = gain.const_data_ptr<float>();
            QCOMPARE(launchStepProduct(launch, nullptr), cudaSuccess);
            for (int part = 0; part < 3; ++part) {
                const QString worst =
                    difference(results[part], linearReference(input, weights[part]) + biases[part]);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
            }
        }
    }

    void productAddsAGatedInputToTheResidual()
    {
        for (const auto activation :
             {Activation::Silu, Activation::GeluTanh, Activation::ClampedSilu}) {
            const auto weight = randomWeight(StorageType::Q8_0, 21, 2304);
            const at::Tensor gate = at::randn({1, 2304}) * 4;
            const at::Tensor up = at::randn({1, 2304}) * 4;
            const at::Tensor residual = at::randn({1, 21});
            const at::Tensor want =
                residual + 0.25 * linearReference(gatedReference(gate, up, activation), weight);
            StepProductLaunch launch = productLaunch(gate, weight, residual);
            launch.up = up.const_data_ptr<float>();
            launch.gating = cudaGating(activation);
            launch.adds = true;
            launch.scale = 0.25F;
            QCOMPARE(launchStepProduct(launch, nullptr), cudaSuccess);
            const QString worst = difference(residual, want);
            QVERIFY2(worst.isEmpty(), qPrintable(worst));
        }
    }

    // Every visit has the matrix and bias of the expert it is told, and an input of its own.
    void visitsReadTheChosenExperts()
    {
        constexpr std::int64_t kRows = 19, kCols = 96;
        std::vector<WeightMatrix> weights;
        std::vector<at::Tensor> biases;
        std::vector<StepMatrix> table;
        for (int expert = 0; expert < 5; ++expert) {
            weights.push_back(randomWeight(StorageType::Q4_1, kRows, kCols));
            biases.push_back(at::randn({kRows}));
            table.push_back(matrixOf(weights.back(), biases.back()));
        }
        const int chosen[] = {4, 0, 2};
        const at::Tensor x = at::randn({3, kCols});
        for (const bool haveOwnInput : {true, false}) {
            const at::Tensor y = nothing({3, kRows});
            StepProductLaunch launch = productLaunch(x, weights[0], y);
            launch.parts[0].ofExperts = table.data();
            launch.experts = chosen;
            launch.visits = 3;
            launch.xStride = haveOwnInput ? kCols : 0;
            QCOMPARE(launchStepProduct(launch, nullptr), cudaSuccess);
            for (int visit = 0; visit < 3; ++visit) {
                const at::Tensor input = x.narrow(0, haveOwnInput ? visit : 0, 1);
                const auto expert = static_cast<std::size_t>(chosen[visit]);
                const QString worst =
                    difference(y.narrow(0, visit, 1),
                               linearReference(input, weights[expert]) + biases[expert]);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestCudaStepProductOnCpu)
#include "tst_cuda_step_product_on_cpu.moc"
