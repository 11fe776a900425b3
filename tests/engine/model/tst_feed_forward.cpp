#include "engine/model/feed_forward.h"
#include "tests/support/golden_file.h"
#include "tests/support/tensor_compare.h"

#include <QtTest>

using namespace kvscope;

// Router, experts and whole layer against the reference's mixture-of-experts module.
class TestFeedForward : public QObject
{
    Q_OBJECT

    static LinearWeights matrix(const GoldenFile& golden, const std::string& name)
    {
        WeightMatrix weight;
        weight.data = golden.tensor("w/" + name + ".weight").contiguous();
        weight.rows = weight.data.size(0);
        weight.cols = weight.data.size(1);
        return {weight, {}};
    }
    static FeedForwardWeights expert(const GoldenFile& golden, const std::string& name)
    {
        return {matrix(golden, name + ".w1"), matrix(golden, name + ".w3"),
                matrix(golden, name + ".w2")};
    }
    static MoEWeights layer(const GoldenFile& golden)
    {
        MoEWeights moe;
        moe.router = matrix(golden, "router.gate");
        for (int e = 0; e < 4; ++e)
            moe.experts.push_back(expert(golden, "experts." + std::to_string(e)));
        moe.shared.push_back(expert(golden, "shared_experts.0"));
        return moe;
    }
    static MoEConfig config() { return {.numExperts = 4, .numActive = 2, .numShared = 1}; }

private Q_SLOTS:
    void routesAndMixesAsTheReference_data()
    {
        QTest::addColumn<int>("path");
        QTest::newRow("fast kernels") << static_cast<int>(KernelPath::Fast);
        QTest::newRow("plain operators") << static_cast<int>(KernelPath::Reference);
    }
    void routesAndMixesAsTheReference()
    {
        QFETCH(int, path);
        const ProductSettings settings{static_cast<KernelPath>(path), Precision::Exact};
        const GoldenFile golden("gptosslite/moe/golden.safetensors");
        const MoEWeights moe = layer(golden);
        const at::Tensor x = golden.tensor("x").reshape({-1, 64}).contiguous();
        const auto verify = [&](const std::string& name, const at::Tensor& got) {
            const QString difference = golden.difference(name, got.view_as(golden.tensor(name)));
            QVERIFY2(difference.isEmpty(),
                     qPrintable(QString::fromStdString(name) + ": " + difference));
        };
        const Routing routing = route(x, moe, config(), settings);
        verify("router_logits", product(x, moe.router, settings));
        verify("expert_choice", routing.experts);
        verify("expert_weight", routing.weights);
        verify("expert0_y", feedForward(x, moe.experts[0], Activation::Silu, settings));
        verify("y", mixtureOfExperts(x, moe, routing, Activation::Silu, settings));
        // One token, as a decode step has it, visits its experts without gathering.
        const at::Tensor one = x.narrow(0, 0, 1).contiguous();
        verify("y_one_token", mixtureOfExperts(one, moe, route(one, moe, config(), settings),
                                               Activation::Silu, settings));
    }

    void oneByOneEqualsGrouped()
    {
        const ProductSettings settings{KernelPath::Fast, Precision::Exact};
        const GoldenFile golden("gptosslite/moe/golden.safetensors");
        const MoEWeights moe = layer(golden);
        const at::Tensor x = golden.tensor("x").reshape({-1, 64}).contiguous();
        const at::Tensor whole =
            mixtureOfExperts(x, moe, route(x, moe, config(), settings), Activation::Silu, settings);
        for (std::int64_t i = 0; i < x.size(0); ++i) {
            const at::Tensor row = x.narrow(0, i, 1).contiguous();
            const at::Tensor alone = mixtureOfExperts(row, moe, route(row, moe, config(), settings),
                                                      Activation::Silu, settings);
            const QString difference = compareTensors(alone, whole.narrow(0, i, 1), 1e-5, 1e-5);
            QVERIFY2(difference.isEmpty(), qPrintable(difference));
        }
    }
};

QTEST_GUILESS_MAIN(TestFeedForward)
#include "tst_feed_forward.moc"
