#include "engine/base/errors.h"
#include "engine/cache/device_work.h"
#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/kernels/device_memory.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/linear/linear.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/sort.h>

#include <QTest>

#include <cmath>
#include <utility>

using namespace kvscope;

namespace {

constexpr at::ScalarType kNumbers[] = {at::kFloat, at::kBFloat16, at::kHalf};

/// What rounding a result to its type may take, of its size.
double roundingOf(at::ScalarType type)
{
    return type == at::kFloat ? 1e-5 : type == at::kHalf ? 1e-3 : 8e-3;
}

QString differenceOnCpu(const at::Tensor& got, const at::Tensor& want, at::ScalarType number)
{
    const double rounding = roundingOf(number);
    return compareTensors(got.cpu().to(at::kFloat), want,
                          rounding * want.abs().max().item<double>(), rounding);
}

} // namespace

/// The CUDA kernels for products and elements on a GPU against the references on the CPU. Without a
/// GPU each is skipped by name; tst_cuda_kernels_on_cpu runs the same kernels then.
class TestCudaKernels : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Before the first tensor: LibTorch settles once on whether CUDA is there.
    void initTestCase()
    {
        try {
            ensureCudaBackend();
        } catch (const ArgumentError& error) {
            m_whyNot = error.what();
        }
    }
    void init()
    {
        if (!m_whyNot.isEmpty())
            QSKIP(qPrintable("CUDA kernels were not run: " + m_whyNot));
        at::manual_seed(42);
    }

    void productsReadBlocksWhereTheyLie_data()
    {
        QTest::addColumn<int>("type");
        for (const auto type : kBlockTypes)
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    // Rows of x: one, those of one launch and of several, more than are multiplied in place.
    void productsReadBlocksWhereTheyLie()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        for (const std::int64_t inputs : {0, 1, 4, 7, 16, 17})
            for (const auto number : kNumbers) {
                const auto weight = randomWeight(storage, 1003, wholeBlocks(storage, 2304));
                const at::Tensor x = at::randn({inputs, weight.cols}).to(number);
                WeightMatrix onDevice = weight;
                onDevice.data = weight.data.to(at::kCUDA);
                if (inputs == 0) {
                    const at::Tensor none = linear(x.to(at::kCUDA), onDevice, Precision::Fast);
                    QCOMPARE(none.size(0), std::int64_t{0});
                    continue;
                }
                const QString difference =
                    differenceOnCpu(linear(x.to(at::kCUDA), onDevice, Precision::Fast),
                                    linearReference(x.to(at::kFloat), weight), number);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
    }

    // Rows that begin at every place of a word, up to the end of their memory.
    void blocksMayLieAnywhere()
    {
        const auto weight = randomWeight(StorageType::MXFP4, 37, 96);
        const at::Tensor x = at::randn({3, 96});
        const auto bytes = static_cast<std::int64_t>(weight.bytes());
        for (const std::int64_t lead : {0, 1, 2, 3}) {
            const at::Tensor memory =
                at::empty({lead + bytes}, weight.data.options()).to(at::kCUDA);
            WeightMatrix onDevice = weight;
            onDevice.data = memory.narrow(0, lead, bytes).view(weight.data.sizes());
            onDevice.data.copy_(weight.data);
            const QString difference =
                differenceOnCpu(linear(x.to(at::kCUDA), onDevice, Precision::Fast),
                                linearReference(x, weight), at::kFloat);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }

    void elementsEqualTheirReferences()
    {
        for (const auto number : kNumbers) {
            const at::Tensor x = (at::randn({7, 576}) * 3).to(number);
            const at::Tensor gain = at::randn({576});
            QString difference =
                differenceOnCpu(rmsNorm(x.to(at::kCUDA), gain.to(at::kCUDA), 1e-5),
                                rmsNormReference(x.to(at::kFloat), gain, 1e-5), number);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));

            const at::Tensor up = (at::randn({7, 576}) * 3).to(number);
            for (const auto activation : {Activation::Silu, Activation::Gelu, Activation::GeluTanh,
                                          Activation::ClampedSilu}) {
                difference = differenceOnCpu(
                    gated(x.to(at::kCUDA), up.to(at::kCUDA), activation),
                    gatedReference(x.to(at::kFloat), up.to(at::kFloat), activation), number);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }

            const at::Tensor heads = at::randn({2, 5, 9, 64}).to(number);
            const at::Tensor cos = at::randn({5, 32});
            const at::Tensor sin = at::randn({5, 32});
            for (const auto pairing : {RotaryPairing::Adjacent, RotaryPairing::Half}) {
                at::Tensor turned = heads.to(at::kCUDA);
                rotate(turned, cos.to(at::kCUDA), sin.to(at::kCUDA), pairing);
                difference = differenceOnCpu(
                    turned, rotateReference(heads.to(at::kFloat), cos, sin, pairing), number);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
        }
    }

    // Logits: inputs and weights are of 16 bits, their sums are not rounded to that.
    void productsForLogitsAreFloat32()
    {
        for (const auto& [type, number] : {std::pair{StorageType::BF16, at::kBFloat16},
                                           std::pair{StorageType::F16, at::kHalf}}) {
            WeightMatrix weight = randomWeight(type, 300, 256);
            const at::Tensor x = at::randn({20, 256}).to(number);
            const at::Tensor want = linearReference(x.to(at::kFloat), weight);
            weight.data = weight.data.to(at::kCUDA);
            const at::Tensor got = linearFloat32(x.to(at::kCUDA), weight, Precision::Fast);
            QCOMPARE(got.scalar_type(), at::kFloat);
            const QString difference = differenceOnCpu(got, want, at::kFloat);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }

    // What the allocator keeps of a tensor that is gone is free to the next.
    void keptMemoryCountsAsFree()
    {
        const c10::Device device(at::kCUDA, 0);
        constexpr std::int64_t kBytes = std::int64_t{256} << 20;
        at::empty({kBytes}, at::TensorOptions(at::kByte).device(device));
        waitForDevice(device);
        const std::uint64_t before = readFreeMemory(device).value();
        const at::Tensor held = at::empty({kBytes}, at::TensorOptions(at::kByte).device(device));
        QVERIFY(before - readFreeMemory(device).value() >= static_cast<std::uint64_t>(kBytes));
    }

    void topLogitsAreThoseOfASort()
    {
        for (const std::int64_t count : {1, 1025, 200'000})
            for (const double temperature : {0.1, 0.7, 2.0}) {
                const at::Tensor logits = at::randn({count}) * 4;
                TopLogits top;
                cudaKernels()->topLogits(logits.to(at::kCUDA), temperature, top);
                const auto [sorted, order] = at::sort(logits, true, 0, true);
                QVERIFY(top.count > 0 && top.count <= kMostTopLogits);
                for (int i = 0; i < top.count; ++i) {
                    QCOMPARE(top.ids[i], static_cast<int>(order[i].item<std::int64_t>()));
                    QCOMPARE(top.logits[i], sorted[i].item<float>());
                }
                const double sum = at::logsumexp(logits.to(at::kDouble), 0).item<double>();
                QVERIFY(std::abs(top.logSumExp - sum) < 1e-5);
            }
        TopLogits top;
        cudaKernels()->topLogits(at::full({3000}, std::nan("")).to(at::kCUDA), 0.7, top);
        QVERIFY(std::isnan(top.logSumExp));
    }

private:
    QString m_whyNot; ///< why there is no GPU to test on; empty where there is
};

QTEST_GUILESS_MAIN(TestCudaKernels)
#include "tst_cuda_kernels.moc"
