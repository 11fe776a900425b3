#include "engine/train/training_attention.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/softmax.h>

#include <QtTest>

#include <cmath>
#include <limits>
#include <random>

using namespace kvscope;

namespace {

/// Query i sees key j where 0 <= i - j < window, by a mask over all pairs.
at::Tensor denseAttention(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                          const at::Tensor& sinks, std::int64_t window)
{
    const std::int64_t group = q.size(1) / k.size(1), length = q.size(2);
    const at::Tensor keys = k.repeat_interleave(group, 1);
    const at::Tensor scores =
        at::matmul(q, keys.transpose(2, 3)) / std::sqrt(static_cast<double>(q.size(3)));
    const at::Tensor position = at::arange(length, at::kLong);
    const at::Tensor distance = position.view({-1, 1}) - position.view({1, -1});
    const at::Tensor isHidden = distance.lt(0).logical_or(distance.ge(window));
    const at::Tensor masked =
        scores.masked_fill(isHidden, -std::numeric_limits<double>::infinity());
    const at::Tensor sinkColumn =
        sinks.view({1, -1, 1, 1}).expand({q.size(0), q.size(1), length, 1});
    const at::Tensor weights = at::softmax(at::cat({masked, sinkColumn}, 3), 3);
    return at::matmul(weights.slice(3, 0, length), v.repeat_interleave(group, 1));
}

/// What attention is made of, float64, each with a gradient.
struct Inputs
{
    at::Tensor q, k, v, sinks;
    at::Tensor direction; ///< what the output is multiplied with to get a loss

    Inputs(std::int64_t batch, std::int64_t kvHeads, std::int64_t group, std::int64_t length,
           std::int64_t dim, std::uint64_t seed)
    {
        at::Generator generator = at::detail::createCPUGenerator(seed);
        const auto random = [&](at::IntArrayRef shape) {
            return at::randn(shape, generator, at::kDouble).requires_grad_();
        };
        q = random({batch, kvHeads * group, length, dim});
        k = random({batch, kvHeads, length, dim});
        v = random({batch, kvHeads, length, dim});
        sinks = random({kvHeads * group});
        direction = at::randn(q.sizes(), generator, at::kDouble);
    }

    /// The gradients that an output leads to, which are then forgotten.
    std::vector<at::Tensor> gradients(const at::Tensor& output) const
    {
        (output * direction).sum().backward();
        std::vector<at::Tensor> all;
        for (at::Tensor input : {q, k, v, sinks}) {
            all.push_back(input.grad().clone());
            input.mutable_grad() = at::Tensor();
        }
        return all;
    }
};

double largestDifference(const at::Tensor& a, const at::Tensor& b)
{
    return (a - b).abs().max().item<double>();
}

/// Whether outputs and gradients are the dense mask's.
void compare(const Inputs& in, const at::Tensor& found, std::int64_t window)
{
    const at::Tensor expected = denseAttention(in.q, in.k, in.v, in.sinks, window);
    QCOMPARE(found.sizes(), expected.sizes());
    QVERIFY(largestDifference(found, expected) < 1e-12);
    const auto mine = in.gradients(found);
    const auto theirs = in.gradients(expected);
    const std::array names{"queries", "keys", "values", "sinks"};
    for (std::size_t i = 0; i < mine.size(); ++i)
        QVERIFY2(largestDifference(mine[i], theirs[i]) < 1e-11, names.at(i));
}

} // namespace

class TestTrainingAttention : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void windowsAreThoseOfADenseMask_data()
    {
        QTest::addColumn<int>("length");
        QTest::addColumn<int>("window");
        QTest::newRow("one token, a window of one") << 1 << 1;
        QTest::newRow("one token") << 1 << 8;
        QTest::newRow("a window of one") << 7 << 1;
        QTest::newRow("shorter than the window") << 5 << 9;
        QTest::newRow("the window itself") << 6 << 6;
        QTest::newRow("one more than the window") << 7 << 6;
        QTest::newRow("whole blocks") << 24 << 6;
        QTest::newRow("whole blocks and one") << 25 << 6;
        std::mt19937 random(3);
        for (int i = 0; i < 24; ++i)
            QTest::addRow("random %d", i)
                << 1 + static_cast<int>(random() % 50) << 1 + static_cast<int>(random() % 20);
    }
    void windowsAreThoseOfADenseMask()
    {
        QFETCH(int, length);
        QFETCH(int, window);
        std::mt19937 random(static_cast<std::uint32_t>(100 * length + window));
        const auto pick = [&](unsigned most) { return 1 + static_cast<int>(random() % most); };
        const Inputs in(pick(3), pick(2), pick(3), length, 2 * pick(4), random());
        compare(in, windowedAttentionWithSinks(in.q, in.k, in.v, in.sinks, window), window);
    }

    void globalLayersSeeEverythingBefore_data()
    {
        QTest::addColumn<int>("length");
        QTest::newRow("one token") << 1;
        QTest::newRow("two") << 2;
        QTest::newRow("many") << 37;
    }
    void globalLayersSeeEverythingBefore()
    {
        QFETCH(int, length);
        const Inputs in(2, 2, 2, length, 6, 9);
        compare(in, causalAttentionWithSinks(in.q, in.k, in.v, in.sinks), length);
    }
};

QTEST_GUILESS_MAIN(TestTrainingAttention)
#include "tst_training_attention.moc"
