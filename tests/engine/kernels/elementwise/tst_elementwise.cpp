#include "engine/kernels/bandwidth.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/elementwise/elementwise_paths.h"
#include "tests/support/golden_file.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/linspace.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/rand.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/silu.h>
#include <ATen/ops/tanh.h>
#include <ATen/ops/zeros.h>

#include <QtTest>

#include <limits>
#include <vector>

using namespace kvscope;

namespace {

const std::vector<InstructionSet>& kSets = availableInstructionSets();

/// The definition in float64: in float32 its 1 + tanh(z) loses the tail.
at::Tensor exactlyGated(const at::Tensor& gate, const at::Tensor& up, Activation activation)
{
    return gatedReference(gate.to(at::kDouble), up.to(at::kDouble), activation);
}

void verifyClose(const at::Tensor& got, const at::Tensor& want, double atol, double rtol)
{
    const QString difference = compareTensors(got, want, atol, rtol);
    QVERIFY2(difference.isEmpty(), qPrintable(difference));
}

struct RotaryTables
{
    at::Tensor cos, sin;
};

RotaryTables randomTables(std::int64_t numTokens, std::int64_t numPairs)
{
    const at::Tensor angle = at::rand({numTokens, numPairs}) * 6.28;
    return {angle.cos(), angle.sin()};
}

} // namespace

class TestElementwise : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { at::set_num_threads(2); }

    void rmsNormMatchesGptOssLite()
    {
        const GoldenFile golden("gptosslite/moe/golden.safetensors");
        const at::Tensor got =
            rmsNorm(golden.tensor("rmsnorm/x"), golden.tensor("rmsnorm/weight"), 1e-5);
        const QString difference = golden.difference("rmsnorm/y", got);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    void rmsNormAgreesWithReference_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("width");
        QTest::newRow("one element") << 1 << 1;
        QTest::newRow("less than a register") << 3 << 7;
        QTest::newRow("a partial last") << 2 << 77;
        QTest::newRow("a decode step") << 1 << 576;
        QTest::newRow("several threads") << 300 << 768;
        QTest::newRow("no rows") << 0 << 64;
    }
    void rmsNormAgreesWithReference()
    {
        QFETCH(int, rows);
        QFETCH(int, width);
        const double epsilon = 0.5; // large, so that leaving it out shows
        at::manual_seed(31);
        const at::Tensor x = at::randn({rows, width}) * 3;
        const at::Tensor gain = at::randn({width});
        verifyClose(rmsNorm(x, gain, epsilon), rmsNormReference(x, gain, epsilon), 1e-6, 2e-6);
        for (const auto set : kSets) {
            at::Tensor out = at::zeros({width});
            for (std::int64_t n = 0; n < rows && n < 3; ++n) {
                elementwiseKernels(set).rmsNormRow(
                    x.const_data_ptr<float>() + n * width, gain.const_data_ptr<float>(),
                    static_cast<float>(epsilon), out.mutable_data_ptr<float>(), width);
                verifyClose(out, rmsNormReference(x.narrow(0, n, 1), gain, epsilon).select(0, 0),
                            1e-6, 2e-6);
            }
        }
    }

    void rotateAgreesWithReference_data()
    {
        QTest::addColumn<int>("pairing");
        QTest::addColumn<int>("headDim");
        for (const int headDim : {2, 6, 8, 64, 90, 96}) {
            QTest::addRow("adjacent, head of %d", headDim)
                << static_cast<int>(RotaryPairing::Adjacent) << headDim;
            QTest::addRow("half, head of %d", headDim)
                << static_cast<int>(RotaryPairing::Half) << headDim;
        }
    }
    void rotateAgreesWithReference()
    {
        QFETCH(int, pairing);
        QFETCH(int, headDim);
        const auto kind = static_cast<RotaryPairing>(pairing);
        at::manual_seed(32);
        const auto [cos, sin] = randomTables(70, headDim / 2);
        const at::Tensor x = at::randn({2, 70, 9, headDim});
        const at::Tensor want = rotateReference(x, cos, sin, kind);
        at::Tensor rotated = x.clone();
        rotate(rotated, cos, sin, kind);
        verifyClose(rotated, want, 1e-6, 1e-6);
        for (const auto set : kSets) {
            at::Tensor head = x.select(0, 1).select(0, 69).select(0, 8).clone();
            const auto& kernels = elementwiseKernels(set);
            (kind == RotaryPairing::Adjacent ? kernels.rotateAdjacent : kernels.rotateHalf)(
                head.mutable_data_ptr<float>(), cos.const_data_ptr<float>() + 69 * headDim / 2,
                sin.const_data_ptr<float>() + 69 * headDim / 2, headDim / 2);
            verifyClose(head, want.select(0, 1).select(0, 69).select(0, 8), 1e-6, 1e-6);
        }
    }

    // By hand: a quarter turn takes (a, b) to (-b, a).
    void aQuarterTurnSwapsThePair()
    {
        const at::Tensor cos = at::zeros({1, 2});
        const at::Tensor sin = at::ones({1, 2});
        const at::Tensor x = at::linspace(1, 4, 4).view({1, 1, 1, 4});
        at::Tensor adjacent = x.clone();
        rotate(adjacent, cos, sin, RotaryPairing::Adjacent);
        const float wantAdjacent[] = {-2, 1, -4, 3};
        at::Tensor half = x.clone();
        rotate(half, cos, sin, RotaryPairing::Half);
        const float wantHalf[] = {-3, -4, 1, 2};
        for (int i = 0; i < 4; ++i) {
            QCOMPARE(adjacent.const_data_ptr<float>()[i], wantAdjacent[i]);
            QCOMPARE(half.const_data_ptr<float>()[i], wantHalf[i]);
        }
    }

    // Pairs with cos 1 and sin 0 keep their bits: global layers of GPT-OSS-Lite.
    void identityPairsAreUntouched()
    {
        at::manual_seed(33);
        auto [cos, sin] = randomTables(5, 48);
        cos.narrow(1, 0, 24).fill_(1);
        sin.narrow(1, 0, 24).fill_(0);
        const at::Tensor x = at::randn({1, 5, 3, 96});
        at::Tensor rotated = x.clone();
        rotate(rotated, cos, sin, RotaryPairing::Adjacent);
        QVERIFY(at::equal(rotated.narrow(3, 0, 48), x.narrow(3, 0, 48)));
        QVERIFY(!at::equal(rotated.narrow(3, 48, 48), x.narrow(3, 48, 48)));
    }

    // The keys of a fused key/value projection: a view whose tokens are further apart than its
    // heads.
    void rotateTouchesOnlyItsView()
    {
        at::manual_seed(34);
        const auto [cos, sin] = randomTables(6, 16);
        at::Tensor fused = at::randn({2, 6, 2, 4, 32});
        const at::Tensor before = fused.clone();
        at::Tensor keys = fused.select(2, 0);
        rotate(keys, cos, sin, RotaryPairing::Half);
        verifyClose(keys, rotateReference(before.select(2, 0), cos, sin, RotaryPairing::Half), 1e-6,
                    1e-6);
        QVERIFY(at::equal(fused.select(2, 1), before.select(2, 1)));
    }

    void gatedAgreesWithReference_data()
    {
        QTest::addColumn<int>("rows");
        QTest::addColumn<int>("width");
        QTest::newRow("one element") << 1 << 1;
        QTest::newRow("a partial register") << 3 << 13;
        QTest::newRow("a decode step") << 1 << 1536;
        QTest::newRow("several threads") << 200 << 1536;
    }
    void gatedAgreesWithReference()
    {
        QFETCH(int, rows);
        QFETCH(int, width);
        at::manual_seed(35);
        const at::Tensor both = at::randn({rows, 2 * width}) * 4; // halves of a fused projection
        const at::Tensor gate = both.narrow(1, 0, width);
        const at::Tensor up = both.narrow(1, width, width);
        for (const Activation activation :
             {Activation::Silu, Activation::GeluTanh, Activation::ClampedSilu})
            verifyClose(gated(gate, up, activation), exactlyGated(gate, up, activation), 1e-6,
                        2e-6);
        // Through ATen, whose float32 erf is right to some 2e-7 of gate * up.
        verifyClose(gated(gate, up, Activation::Gelu), exactlyGated(gate, up, Activation::Gelu),
                    4e-5, 2e-6);
    }

    void everyInstructionSetGatesAlike()
    {
        at::manual_seed(37);
        const at::Tensor gate = at::randn({1003}) * 6;
        const at::Tensor up = at::randn({1003}) * 6;
        for (const auto set : kSets) {
            const ElementwiseKernels& kernels = elementwiseKernels(set);
            const auto check = [&](auto row, Activation activation) {
                at::Tensor out = at::zeros({1003});
                row(gate.const_data_ptr<float>(), up.const_data_ptr<float>(),
                    out.mutable_data_ptr<float>(), 1003);
                verifyClose(out, exactlyGated(gate, up, activation), 2e-6, 2e-6);
            };
            check(kernels.gatedSilu, Activation::Silu);
            check(kernels.gatedGeluTanh, Activation::GeluTanh);
            check(kernels.gatedClampedSilu, Activation::ClampedSilu);
        }
    }

    void layerNormAgreesWithReference()
    {
        at::manual_seed(38);
        const at::Tensor x = at::randn({7, 96}) * 3 + 2;
        const at::Tensor gain = at::randn({96});
        const at::Tensor bias = at::randn({96});
        verifyClose(layerNorm(x, gain, bias, 1e-5), layerNormReference(x, gain, bias, 1e-5), 1e-5,
                    1e-5);
    }

    void softCapIsCapTimesTanh()
    {
        at::Tensor x = at::linspace(-100, 100, 401);
        const at::Tensor want = at::tanh(x.to(at::kDouble) / 30.0) * 30.0;
        softCap(x, 30.0);
        verifyClose(x, want, 1e-5, 1e-6);
    }

    void siluIsAccurateEverywhere()
    {
        const at::Tensor gate = at::linspace(-86, 86, 200001);
        const at::Tensor up = at::ones({200001});
        const at::Tensor want = at::silu(gate.to(at::kDouble));
        for (const auto set : kSets) {
            at::Tensor out = at::zeros({200001});
            elementwiseKernels(set).gatedSilu(gate.const_data_ptr<float>(),
                                              up.const_data_ptr<float>(),
                                              out.mutable_data_ptr<float>(), 200001);
            verifyClose(out, want, 0, 1e-6);
        }
    }

    void siluOfExtremesIsTheirLimit()
    {
        const float huge = 1e30F;
        const float values[] = {-huge, -1000, -88,  0,
                                88,    1000,  huge, std::numeric_limits<float>::quiet_NaN()};
        const float want[] = {0, 0, 0, 0, 88, 1000, huge, std::numeric_limits<float>::quiet_NaN()};
        const std::vector<float> up(8, 1.0F);
        for (const auto set : kSets) {
            float out[8];
            elementwiseKernels(set).gatedSilu(values, up.data(), out, 8);
            for (int i = 1; i < 7; ++i)
                QVERIFY2(std::abs(out[i] - want[i]) <= 1e-30F + 1e-6F * std::abs(want[i]),
                         qPrintable(QString("silu(%1) = %2").arg(values[i]).arg(out[i])));
            QVERIFY(std::isnan(out[7]));
        }
    }

    void otherDtypesGoThroughTheReference()
    {
        at::manual_seed(36);
        const at::Tensor x = at::randn({4, 64}).to(at::kBFloat16);
        const at::Tensor gain = at::randn({64});
        const at::Tensor normed = rmsNorm(x, gain, 1e-5);
        QCOMPARE(normed.scalar_type(), at::kBFloat16);
        QVERIFY(at::equal(normed, rmsNormReference(x, gain, 1e-5)));
        QVERIFY(at::equal(gated(x, x, Activation::Silu), gatedReference(x, x, Activation::Silu)));
        const auto [cos, sin] = randomTables(2, 16);
        at::Tensor heads = x.view({1, 2, 4, 32}).clone();
        const at::Tensor want = rotateReference(heads, cos, sin, RotaryPairing::Half);
        rotate(heads, cos, sin, RotaryPairing::Half);
        QVERIFY(at::equal(heads, want));
    }

    void brokenContractsAreRefused()
    {
        const at::Tensor x = at::zeros({2, 8});
        QVERIFY_EXCEPTION_THROWN(rmsNorm(x, at::ones({7}), 1e-5), c10::Error);
        QVERIFY_EXCEPTION_THROWN(rmsNorm(x, at::ones({8}, at::kDouble), 1e-5), c10::Error);
        QVERIFY_EXCEPTION_THROWN(rmsNorm(x.t(), at::ones({2}), 1e-5), c10::Error);
        QVERIFY_EXCEPTION_THROWN(gated(x, at::zeros({2, 7}), Activation::Silu), c10::Error);
        QVERIFY_EXCEPTION_THROWN(gated(x.t(), x.t(), Activation::Silu), c10::Error);
        at::Tensor heads = at::zeros({1, 2, 3, 8});
        QVERIFY_EXCEPTION_THROWN(
            rotate(heads, at::ones({3, 4}), at::ones({3, 4}), RotaryPairing::Half), c10::Error);
        QVERIFY_EXCEPTION_THROWN(
            rotate(heads, at::ones({2, 8}), at::ones({2, 8}), RotaryPairing::Half), c10::Error);
    }

    void bandwidthIsMeasured()
    {
        const double bytesPerSecond = measureReadBandwidth(std::uint64_t{32} << 20, 3);
        QVERIFY(bytesPerSecond > 1e8);
        QVERIFY(bytesPerSecond < 1e13);
        QVERIFY_EXCEPTION_THROWN(measureReadBandwidth(0, 1), c10::Error);
        QVERIFY_EXCEPTION_THROWN(measureReadBandwidth(1024, 0), c10::Error);
    }
};

QTEST_GUILESS_MAIN(TestElementwise)
#include "tst_elementwise.moc"
