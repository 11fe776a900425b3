// The CUDA kernel that finds a sampler's most probable tokens, compiled for the CPU
// (tests/support/cuda_on_cpu), and what the sampler makes of them.
#include "engine/base/errors.h"
#include "engine/generate/sampler.h"
#include "engine/kernels/cuda/top_logits.h"
#include "tests/support/cuda_on_cpu/block_of_fibers.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/logsumexp.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/sort.h>

#include <QTest>

#include <cmath>

using namespace kvscope;

namespace {

TopLogits topOf(const at::Tensor& logits, double temperature)
{
    TopLogits top{};
    TopLogitsLaunch launch{};
    launch.logits = logits.const_data_ptr<float>();
    launch.count = static_cast<int>(logits.numel());
    launch.temperature = static_cast<float>(temperature);
    launch.result = &top;
    if (launchTopLogits(launch, nullptr) != cudaSuccess)
        throw std::runtime_error("the launch was refused");
    return top;
}

SamplingSettings settingsOf(double temperature, double topP, std::uint64_t seed = 3)
{
    SamplingSettings settings;
    settings.temperature = temperature;
    settings.topP = topP;
    settings.seed = seed;
    return settings;
}

} // namespace

class TestTopLogitsOnCpu : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        at::manual_seed(47);
        BlockOfFibers::startsFromTheLast = false;
    }

    void theMostProbableAreFoundInOrder_data()
    {
        QTest::addColumn<int>("count");
        QTest::addColumn<double>("spread");
        QTest::addColumn<double>("temperature");
        QTest::addColumn<bool>("hasTies");
        for (const int count : {1, 2, 511, 1024, 1025, 50000})
            for (const double spread : {0.01, 3.0, 100.0})
                for (const double temperature : {0.01, 0.7, 5.0})
                    for (const bool hasTies : {false, true})
                        QTest::addRow("%d, spread %g, temperature %g, ties %d", count, spread,
                                      temperature, hasTies)
                            << count << spread << temperature << hasTies;
    }
    void theMostProbableAreFoundInOrder()
    {
        QFETCH(int, count);
        QFETCH(double, spread);
        QFETCH(double, temperature);
        QFETCH(bool, hasTies);
        at::Tensor logits = at::randn({count}) * spread;
        if (hasTies)
            logits = (logits * 8.0 / spread).round() * (spread / 8.0);
        BlockOfFibers::startsFromTheLast = hasTies;
        const TopLogits top = topOf(logits, temperature);
        const auto [sorted, order] = at::sort(logits, true, 0, true);
        QCOMPARE(top.largest, sorted[0].item<float>());
        QVERIFY(std::abs(top.logSumExp - at::logsumexp(logits.to(at::kDouble), 0).item<double>()) <
                1e-5);
        const double atTemperature =
            ((logits.to(at::kDouble) - static_cast<double>(top.largest)) / temperature)
                .exp()
                .sum()
                .item<double>();
        QVERIFY(std::abs(top.sumAtTemperature / atTemperature - 1.0) < 1e-4);
        QVERIFY(top.count <= kMostTopLogits);
        for (int i = 0; i < top.count; ++i) { // a stable sort has equals in the order of their ids
            QCOMPARE(top.ids[i], static_cast<int>(order[i].item<std::int64_t>()));
            QCOMPARE(top.logits[i], sorted[i].item<float>());
        }
        if (top.count > 0 && top.count < count)
            QVERIFY(sorted[top.count].item<float>() < top.logits[top.count - 1]);
        // Enough of them, unless equals are too many or what is left has no probability.
        if (top.count < kMostTopLogits / 4 && top.count < count)
            QVERIFY(hasTies ||
                    (top.largest - sorted[top.count].item<float>()) / temperature > 30.0);
        if (!hasTies)
            QVERIFY(top.count > 0);
    }

    void tooManyEqualsAreLeftToOthers()
    {
        const TopLogits top = topOf(at::full({3000}, 2.5F), 0.7);
        QCOMPARE(top.count, 0);
        QVERIFY(std::abs(top.logSumExp - (2.5 + std::log(3000.0))) < 1e-9);
        QVERIFY(!Sampler(settingsOf(0.7, 0.9)).next(top, 3000));
        QCOMPARE(topOf(at::full({1000}, 2.5F), 0.7).count, 1000);
    }

    void aDrawIsTheOneFromAllLogits_data()
    {
        QTest::addColumn<double>("temperature");
        QTest::addColumn<double>("topP");
        for (const double temperature : {0.0, 0.3, 0.7, 1.5})
            for (const double topP : {0.0, 0.5, 0.9, 1.0})
                QTest::addRow("temperature %g, top-p %g", temperature, topP) << temperature << topP;
    }
    void aDrawIsTheOneFromAllLogits()
    {
        QFETCH(double, temperature);
        QFETCH(double, topP);
        for (const int count : {5, 900, 20000}) {
            const SamplingSettings settings = settingsOf(temperature, topP);
            Sampler ofTop(settings), ofAll(settings);
            int numFound = 0;
            for (int draw = 0; draw < 8; ++draw) {
                const at::Tensor logits = at::randn({count}) * 3;
                const auto token = ofTop.next(topOf(logits, std::max(temperature, 0.1)), count);
                if (!token) { // and nothing was drawn
                    QCOMPARE(ofTop.next(logits).id, ofAll.next(logits).id);
                    continue;
                }
                ++numFound;
                const SampledToken want = ofAll.next(logits);
                QCOMPARE(token->id, want.id);
                QVERIFY(std::abs(token->nll - want.nll) < 1e-5);
            }
            if (topP < 1.0 && (count < kMostTopLogits || temperature <= 0.7))
                QCOMPARE(numFound, 8);
        }
    }

    // The second token lies beyond what is looked for, and beyond the nucleus.
    void aPeakIsANucleusByItself()
    {
        at::Tensor logits = at::randn({5000});
        logits[4321] = 20.0;
        const TopLogits top = topOf(logits, 0.1);
        QCOMPARE(top.count, 1);
        const auto token = Sampler(settingsOf(0.1, 0.9)).next(top, 5000);
        QVERIFY(token.has_value());
        QCOMPARE(token->id, std::int64_t(4321));
    }

    void whatIsNotANumberIsAnError()
    {
        for (const double bad : {std::nan(""), static_cast<double>(INFINITY)}) {
            at::Tensor logits = at::randn({700});
            logits[650] = bad;
            QVERIFY_EXCEPTION_THROWN(Sampler(settingsOf(0.7, 0.9)).next(topOf(logits, 0.7), 700),
                                     EngineError);
            QVERIFY_EXCEPTION_THROWN(Sampler(settingsOf(0.0, 0.9)).next(topOf(logits, 1.0), 700),
                                     EngineError);
        }
        at::Tensor logits = at::randn({700});
        logits[650] = -INFINITY; // a token that cannot be
        QCOMPARE(topOf(logits, 0.7).count, 699);
    }
};

QTEST_GUILESS_MAIN(TestTopLogitsOnCpu)
#include "tst_top_logits_on_cpu.moc"
