// The CUDA kernels themselves, compiled for the CPU (tests/support/cuda_on_cpu): what they compute,
// where there is no GPU to run them on.
#include "engine/cache/scaled_rows.h"
#include "engine/kernels/cuda/cuda_lanes.cuh"
#include "engine/kernels/cuda/cuda_launches.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/linear/linear.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/empty_like.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/full.h>

#include <QTest>

#include <cmath>
#include <limits>
#include <stdexcept>
#include <utility>

using namespace kvscope;

namespace {

constexpr at::ScalarType kNumbers[] = {at::kFloat, at::kBFloat16, at::kHalf};

/// What rounding a result to its type may take.
double roundingOf(at::ScalarType type)
{
    return type == at::kFloat ? 3e-6 : type == at::kHalf ? 1e-3 : 8e-3;
}

struct WriteOnly
{
    float* to;
    int numThreads;
};

// Each thread sums what every thread has written.
__global__ void sumThroughSharedMemory(WriteOnly call)
{
    __shared__ float numbers[128];
    numbers[threadIdx.x] = static_cast<float>(threadIdx.x);
    __syncthreads();
    float sum = 0.0F;
    for (int i = 0; i < call.numThreads; ++i)
        sum += numbers[i];
    call.to[threadIdx.x] = sum;
}

__global__ void sumThroughShuffles(WriteOnly call)
{
    call.to[threadIdx.x] = warpSum(static_cast<float>(threadIdx.x));
}

// What CUDA leaves undefined.
__global__ void meetWithoutTheFirst(WriteOnly call)
{
    if (threadIdx.x != 0)
        __syncthreads();
    call.to[threadIdx.x] = 1.0F;
}

__global__ void waitForDifferentMeetings(WriteOnly)
{
    if (threadIdx.x % 2 == 0)
        __syncthreads();
    else
        __syncwarp();
}

} // namespace

class TestCudaKernelsOnCpu : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        at::manual_seed(41);
        BlockOfFibers::startsFromTheLast = false;
    }

    // Of the fibers themselves.
    void threadsMeetAndExchange()
    {
        float sums[128] = {};
        const WriteOnly call{sums, 128};
        QCOMPARE(launchKernel(sumThroughSharedMemory, dim3(1), 128, nullptr, call), cudaSuccess);
        for (const float sum : sums)
            QCOMPARE(sum, 128.0F * 127.0F / 2.0F);
        QCOMPARE(launchKernel(sumThroughShuffles, dim3(1), 128, nullptr, call), cudaSuccess);
        for (int i = 0; i < 128; ++i)
            QCOMPARE(sums[i], 32.0F * static_cast<float>(i / 32 * 32) + 32.0F * 31.0F / 2.0F);
    }

    void whatCudaLeavesUndefinedIsSaid()
    {
        float to[128] = {};
        const WriteOnly call{to, 128};
        QVERIFY_EXCEPTION_THROWN(launchKernel(meetWithoutTheFirst, dim3(1), 128, nullptr, call),
                                 std::runtime_error);
        QVERIFY_EXCEPTION_THROWN(
            launchKernel(waitForDifferentMeetings, dim3(1), 128, nullptr, call),
            std::runtime_error);
    }

    void weightProductEqualsReference_data()
    {
        QTest::addColumn<int>("type");
        for (const auto type : kBlockTypes)
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    // Rows: one, a warp's four and one more, a block's sixteen and more. Columns: one block, the
    // stretch of 2,048, more than that.
    void weightProductEqualsReference()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        // 96 columns of MXFP4 are 51 bytes: rows begin at every place of a word.
        const std::int64_t shapes[][3] = {{1, 32, 1},    {9, 96, 1},    {5, 576, 2},
                                          {16, 2048, 3}, {37, 2304, 4}, {3, 4352, 1}};
        for (const auto& [rows, columns, inputs] : shapes)
            for (const auto number : kNumbers) {
                const std::int64_t cols = wholeBlocks(storage, columns);
                const auto weight = randomWeight(storage, rows, cols);
                const at::Tensor x = at::randn({inputs, cols}).to(number);
                const at::Tensor y = at::full({inputs, rows}, std::nan(""), x.options());
                BlockOfFibers::startsFromTheLast = number != at::kFloat;
                QCOMPARE(launchWeightProduct(weightProductLaunch(x, weight, y), nullptr),
                         cudaSuccess);
                const at::Tensor want = linearReference(x.to(at::kDouble).to(at::kFloat), weight);
                const double rounding = roundingOf(number);
                const QString difference = compareTensors(
                    y.to(at::kFloat), want, rounding * want.abs().max().item<double>(), rounding);
                QVERIFY2(difference.isEmpty(), qPrintable(QString("[%1, %2] times %3: %4")
                                                              .arg(rows)
                                                              .arg(cols)
                                                              .arg(inputs)
                                                              .arg(difference)));
            }
    }

    void splitsCoverAllKeys()
    {
        for (const int multiprocessors : {1, 108, 132})
            for (const std::int64_t keys : {1, 127, 128, 129, 1000, 131072})
                for (const int heads : {1, 4, 300}) {
                    DecodeAttentionLaunch launch{};
                    launch.batch = 1;
                    launch.numKvHeads = heads;
                    launch.begin = 5;
                    launch.end = 5 + keys;
                    planSplits(launch, multiprocessors);
                    QVERIFY(launch.numSplits >= 1);
                    QVERIFY(launch.numSplits * launch.keysPerSplit >= keys);
                    QVERIFY(launch.numSplits == 1 || launch.keysPerSplit >= 64);
                }
    }

    void weightProductRefusesPlainNumbers()
    {
        WeightProductLaunch launch{};
        launch.type = StorageType::BF16;
        QCOMPARE(launchWeightProduct(launch, nullptr), cudaErrorInvalidValue);
    }

    // Widths: one, a head's, one more than a block's threads, a model's.
    void rmsNormEqualsReference()
    {
        for (const auto number : kNumbers)
            for (const std::int64_t width : {1, 64, 257, 576}) {
                const at::Tensor x = (at::randn({5, width}) * 3).to(number);
                const at::Tensor gain = at::randn({width});
                const at::Tensor out = at::empty_like(x);
                QCOMPARE(launchRmsNorm(rmsNormLaunch(x, gain, 1e-5, out), nullptr), cudaSuccess);
                const at::Tensor want = rmsNormReference(x.to(at::kFloat), gain, 1e-5);
                const double rounding = roundingOf(number);
                const QString difference =
                    compareTensors(out.to(at::kFloat), want, rounding, rounding);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
    }

    // In place inside a larger array, as heads of queries, keys and values lie side by side.
    void rotateEqualsReference()
    {
        for (const auto number : kNumbers)
            for (const auto pairing : {RotaryPairing::Adjacent, RotaryPairing::Half}) {
                const at::Tensor all = at::randn({2, 3, 9, 22}).to(number);
                const at::Tensor x = all.narrow(2, 1, 7);
                const at::Tensor cos = at::randn({3, 11});
                const at::Tensor sin = at::randn({3, 11});
                const at::Tensor want = rotateReference(x.to(at::kFloat), cos, sin, pairing);
                const at::Tensor before = all.clone();
                QCOMPARE(launchRotate(rotateLaunch(x, cos, sin, pairing), nullptr), cudaSuccess);
                const double rounding = roundingOf(number);
                const QString difference =
                    compareTensors(x.to(at::kFloat), want, 4 * rounding, rounding);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
                for (const int beside : {0, 8})
                    QVERIFY(at::equal(all.select(2, beside), before.select(2, beside)));
            }
    }

    void gatedEqualsReference()
    {
        for (const auto number : kNumbers)
            for (const auto activation :
                 {Activation::Silu, Activation::GeluTanh, Activation::ClampedSilu}) {
                const at::Tensor both = (at::randn({3, 600}) * 6).to(number);
                const at::Tensor gate = both.narrow(1, 0, 300);
                const at::Tensor up = both.narrow(1, 300, 300);
                const at::Tensor out = at::empty({3, 300}, gate.options());
                QCOMPARE(launchGated(gatedLaunch(gate, up, activation, out), nullptr), cudaSuccess);
                const at::Tensor want =
                    gatedReference(gate.to(at::kDouble), up.to(at::kDouble), activation);
                const double rounding = roundingOf(number);
                const QString difference =
                    compareTensors(out.to(at::kDouble), want, rounding, rounding);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
    }

    // Tiles of 64 keys: less than one, one, several, a partial last; splits that are even, uneven
    // and without a key.
    void decodeAttentionEqualsReference_data()
    {
        QTest::addColumn<int>("numKeys");
        QTest::addColumn<int>("numKvHeads");
        QTest::addColumn<int>("group");
        QTest::addColumn<int>("headDim");
        QTest::addColumn<int>("window");
        QTest::addColumn<bool>("hasSinks");
        QTest::addColumn<int>("numSplits");
        QTest::newRow("one key") << 1 << 3 << 3 << 64 << 0 << false << 1;
        QTest::newRow("less than a tile") << 63 << 3 << 3 << 64 << 0 << true << 1;
        QTest::newRow("one tile") << 64 << 1 << 1 << 128 << 0 << false << 1;
        QTest::newRow("a key more than a tile") << 65 << 2 << 2 << 96 << 0 << true << 1;
        QTest::newRow("two splits") << 300 << 2 << 2 << 96 << 0 << true << 2;
        QTest::newRow("uneven splits") << 517 << 1 << 4 << 64 << 0 << true << 5;
        QTest::newRow("a split without keys") << 129 << 1 << 2 << 64 << 0 << true << 7;
        QTest::newRow("window") << 300 << 2 << 2 << 96 << 128 << true << 2;
        QTest::newRow("window of one") << 200 << 2 << 2 << 96 << 1 << false << 1;
        QTest::newRow("largest group and head") << 70 << 1 << 16 << 256 << 0 << true << 1;
        QTest::newRow("small odd number of pairs") << 100 << 2 << 5 << 10 << 0 << true << 1;
    }
    void decodeAttentionEqualsReference()
    {
        QFETCH(int, numKeys);
        QFETCH(int, numKvHeads);
        QFETCH(int, group);
        QFETCH(int, headDim);
        QFETCH(int, window);
        QFETCH(bool, hasSinks);
        QFETCH(int, numSplits);
        constexpr int kBatch = 2;
        constexpr std::int64_t kFirst = 100;
        const std::pair<at::ScalarType, at::ScalarType> types[] = {
            {at::kFloat, at::kFloat},         {at::kBFloat16, at::kBFloat16},
            {at::kHalf, at::kHalf},           {at::kFloat, at::kChar},
            {at::kBFloat16, at::kChar},       {at::kBFloat16, at::kFloat},
            {at::kFloat, at::kFloat8_e4m3fn}, {at::kBFloat16, at::kFloat8_e4m3fn},
            {at::kHalf, at::kBFloat16}};
        for (const auto& [number, cacheNumber] : types) {
            if (hasScales(cacheNumber) && headDim % kScaleBytes != 0)
                continue; // attention() keeps these from the kernel
            BlockOfFibers::startsFromTheLast = number != at::kFloat;
            const auto random = [&] {
                const at::Tensor rows = at::randn({kBatch, numKvHeads, numKeys, headDim});
                return hasScales(cacheNumber) ? quantizedRows(rows, cacheNumber)
                                              : rows.to(cacheNumber);
            };
            const at::Tensor keys = random();
            const at::Tensor values = random();
            const at::Tensor q = at::randn({kBatch, 1, numKvHeads * group, headDim}).to(number);
            AttentionSettings settings;
            settings.scale = 1.0 / std::sqrt(headDim);
            settings.window = window;
            if (hasSinks)
                settings.sinks = at::randn({numKvHeads * group});
            KVView view;
            const std::int64_t cut = numKeys / 3;
            view.add({keys.narrow(2, 0, cut), values.narrow(2, 0, cut), kFirst});
            view.add({keys.narrow(2, cut, numKeys - cut), values.narrow(2, cut, numKeys - cut),
                      kFirst + cut});
            const std::int64_t position = kFirst + numKeys - 1;

            const at::Tensor out = at::empty_like(q);
            DecodeAttentionLaunch launch = decodeAttentionLaunch(q, view, position, settings, out);
            launch.numSplits = numSplits;
            launch.keysPerSplit = (launch.end - launch.begin + numSplits - 1) / numSplits;
            const DecodePartials partials = allocatePartials(launch, q);
            QCOMPARE(launchDecodeAttention(launch, nullptr), cudaSuccess);

            const at::Tensor want = attentionReference(q.to(at::kDouble), view, position, settings);
            const double rounding = roundingOf(number);
            const QString difference = compareTensors(out, want, rounding, rounding);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }
};

QTEST_GUILESS_MAIN(TestCudaKernelsOnCpu)
#include "tst_cuda_kernels_on_cpu.moc"
