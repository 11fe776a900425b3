#include "engine/base/errors.h"
#include "engine/generate/sampler.h"
#include "tests/support/golden_file.h"
#include "tests/support/tensor_compare.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros.h>

#include <QtTest>

#include <cmath>
#include <limits>

using namespace kvscope;

class TestSampler : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void nucleusAgreesWithTheReference()
    {
        const GoldenFile golden("gptosslite/sampling/golden.safetensors");
        int compared = 0;
        for (const auto& entry : golden.facts().at("cases")) {
            if (entry.at("cut_is_rounding_sensitive").get<bool>())
                continue;
            const auto name = entry.at("case").get<std::string>(); // "random/T0.7/p0.5"
            const auto first = name.find("/T");
            const auto second = name.find("/p");
            const double temperature = std::stod(name.substr(first + 2));
            const double topP = std::stod(name.substr(second + 2));
            const at::Tensor& logits = golden.tensor(name.substr(0, first) + "/logits");
            const Nucleus kept = nucleus(logits, temperature, topP);
            QCOMPARE(kept.ids.numel(), entry.at("kept").get<std::int64_t>());
            const at::Tensor padded = at::cat(
                {kept.probabilities, at::zeros({logits.numel() - kept.ids.numel()}, at::kFloat)});
            QString difference = golden.difference(name + "/sorted_renorm", padded);
            QVERIFY2(difference.isEmpty(),
                     qPrintable(QString::fromStdString(name) + ": " + difference));
            if (!entry.at("cut_falls_inside_a_tie").get<bool>()) {
                const at::Tensor byId = at::zeros({logits.numel()}, at::kFloat)
                                            .scatter(0, kept.ids, kept.probabilities);
                difference = golden.difference(name + "/renorm", byId);
                QVERIFY2(difference.isEmpty(),
                         qPrintable(QString::fromStdString(name) + ": " + difference));
            }
            ++compared;
        }
        QVERIFY(compared > 100);
    }

    void logitsThatAreNotFiniteAreRefusedWithAReason_data()
    {
        QTest::addColumn<float>("value");
        QTest::addColumn<double>("temperature");
        const float infinity = std::numeric_limits<float>::infinity();
        QTest::newRow("NaN, greedy") << std::nanf("") << 0.0;
        QTest::newRow("NaN, sampled") << std::nanf("") << 0.7;
        QTest::newRow("infinite, greedy") << infinity << 0.0;
        QTest::newRow("infinite, sampled") << infinity << 0.7;
    }
    void logitsThatAreNotFiniteAreRefusedWithAReason()
    {
        QFETCH(float, value);
        QFETCH(double, temperature);
        at::Tensor logits = at::zeros({300}, at::kFloat);
        logits[17] = value;
        SamplingSettings settings;
        settings.temperature = temperature;
        Sampler sampler(settings);
        QVERIFY_EXCEPTION_THROWN(sampler.next(logits).id, EngineError);
    }

    void aTinyTemperatureIsGreedy()
    {
        at::Tensor logits = at::zeros({300}, at::kFloat);
        logits[17] = 3.0F;
        SamplingSettings settings;
        for (const double temperature : {1e-40, 1e-300}) {
            settings.temperature = temperature;
            QCOMPARE(Sampler(settings).next(logits).id, 17);
            // The largest is 0, whose quotient never overflows.
            QCOMPARE(Sampler(settings).next(logits.sub(3.0F)).id, 17);
        }
    }

    void drawsAreTorchMultinomial()
    {
        const GoldenFile golden("gptosslite/sampling/golden.safetensors");
        const at::Tensor& want = golden.tensor("draws/ids");
        at::Generator generator = at::detail::createCPUGenerator(123);
        const at::Tensor& probabilities = golden.tensor("draws/probs");
        for (std::int64_t i = 0; i < want.numel(); ++i)
            QCOMPARE(drawIndex(probabilities, probabilities.numel(), generator),
                     want[i].item<std::int64_t>());
    }

    // A large vocabulary takes the short cut through the first 256; it must not change what is
    // kept.
    void shortCutKeepsTheSameTokens_data()
    {
        QTest::addColumn<double>("topP");
        for (const double topP : {0.0, 0.5, 0.9, 0.99, 1.0})
            QTest::addRow("top-p %g", topP) << topP;
    }
    void shortCutKeepsTheSameTokens()
    {
        QFETCH(double, topP);
        at::Generator generator = at::detail::createCPUGenerator(5);
        const at::Tensor logits = at::randn({1000}, generator, at::kFloat).mul(3.0);
        const auto order = logits.argsort(0, true);
        const Nucleus kept = nucleus(logits, 1.0, topP);
        QVERIFY(at::equal(kept.ids, order.narrow(0, 0, kept.ids.numel())));
        const at::Tensor sorted = logits.softmax(0).index_select(0, order);
        const double before = kept.ids.numel() > 1
                                  ? sorted.narrow(0, 0, kept.ids.numel() - 1).sum().item<double>()
                                  : 0.0;
        QVERIFY(before <= topP + 1e-6);
        if (kept.ids.numel() < 1000)
            QVERIFY(sorted.narrow(0, 0, kept.ids.numel()).sum().item<double>() > topP - 1e-6);
    }

    void zeroTemperatureIsGreedyAndDrawsNothing()
    {
        SamplingSettings settings;
        settings.temperature = 0.0;
        Sampler sampler(settings);
        at::Tensor logits = at::zeros({50}, at::kFloat);
        logits[31] = 2.0;
        for (int i = 0; i < 5; ++i)
            QCOMPARE(sampler.next(logits).id, 31);
    }

    void theSameSeedGivesTheSameTokens()
    {
        SamplingSettings settings;
        settings.seed = 9;
        settings.temperature = 1.5;
        Sampler first(settings);
        Sampler second(settings);
        settings.seed = 10;
        Sampler other(settings);
        const at::Tensor logits = at::zeros({300}, at::kFloat);
        bool differs = false;
        for (int i = 0; i < 20; ++i) {
            const auto id = first.next(logits).id;
            QCOMPARE(second.next(logits).id, id);
            differs = differs || other.next(logits).id != id;
        }
        QVERIFY(differs);
    }

    void refusesImpossibleSettings()
    {
        SamplingSettings settings;
        settings.topP = -0.1;
        QVERIFY_EXCEPTION_THROWN(Sampler{settings}, ArgumentError);
        settings = {};
        settings.temperature = std::numeric_limits<double>::quiet_NaN();
        QVERIFY_EXCEPTION_THROWN(Sampler{settings}, ArgumentError);
        settings = {};
        settings.maxNewTokens = 0;
        QVERIFY_EXCEPTION_THROWN(Sampler{settings}, ArgumentError);
    }

    void nllIsMinusLogSoftmax()
    {
        at::Tensor logits = at::zeros({4}, at::kFloat);
        QVERIFY(std::abs(negativeLogLikelihood(logits, 2) - std::log(4.0)) < 1e-6);
        logits[1] = 1000.0; // must not overflow
        QVERIFY(std::abs(negativeLogLikelihood(logits, 1)) < 1e-6);
        QVERIFY(std::abs(negativeLogLikelihood(logits, 0) - 1000.0) < 1e-3);
    }
};

QTEST_GUILESS_MAIN(TestSampler)
#include "tst_sampler.moc"
