#include "engine/base/errors.h"
#include "engine/train/adam_w.h"
#include "engine/train/training_shape.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/full_like.h>
#include <ATen/ops/randn.h>
#include <ATen/ops/zeros_like.h>

#include <QtTest>

#include <cmath>
#include <limits>

using namespace kvscope;

namespace {

TrainingParameters someParameters()
{
    TrainingShape shape;
    shape.vocabulary = 8;
    shape.width = 4;
    shape.layers = 1;
    shape.heads = 2;
    shape.kvHeads = 1;
    shape.headDim = 4;
    shape.experts = 2;
    shape.expertDim = 4;
    return {modelConfig(shape), 0.5, 11};
}

/// Gradients of length about `size` for all but one parameter, which nothing visited.
void setGradients(const TrainingParameters& parameters, double size, at::Generator& generator,
                  std::size_t withoutGradient)
{
    for (std::size_t i = 0; i < parameters.all().size(); ++i) {
        at::Tensor value = parameters[i];
        value.mutable_grad() =
            i == withoutGradient ? at::Tensor() : size * at::randn(value.sizes(), generator);
    }
}

std::vector<double> numbersOf(const at::Tensor& tensor)
{
    const at::Tensor flat = tensor.detach().flatten().to(at::kDouble).contiguous();
    const auto* first = flat.const_data_ptr<double>();
    return {first, first + flat.numel()};
}

double totalLength(const TrainingParameters& parameters)
{
    double sum = 0.0;
    for (const TrainingParameter& parameter : parameters.all())
        if (parameter.value.grad().defined())
            for (const double g : numbersOf(parameter.value.grad()))
                sum += g * g;
    return std::sqrt(sum);
}

/// AdamW by the paper's algorithm 2, number by number in double precision.
class ReferenceAdamW
{
public:
    explicit ReferenceAdamW(const TrainingParameters& parameters, AdamWSettings settings)
        : m_settings(settings)
    {
        for (const TrainingParameter& parameter : parameters.all()) {
            m_values.push_back(numbersOf(parameter.value));
            m_first.emplace_back(m_values.back().size(), 0.0);
            m_second.emplace_back(m_values.back().size(), 0.0);
        }
    }

    void step(const TrainingParameters& parameters, double rate)
    {
        const double length = totalLength(parameters);
        const double cut = m_settings.clipNorm > 0.0 && length > m_settings.clipNorm
                               ? m_settings.clipNorm / length
                               : 1.0;
        ++m_steps;
        for (std::size_t i = 0; i < m_values.size(); ++i) {
            if (!parameters[i].grad().defined())
                continue;
            const std::vector<double> gradient = numbersOf(parameters[i].grad());
            const double decay = parameters.all()[i].decays ? m_settings.weightDecay : 0.0;
            for (std::size_t k = 0; k < gradient.size(); ++k)
                update(i, k, cut * gradient[k], rate, decay);
        }
    }

    const std::vector<double>& values(std::size_t i) const { return m_values[i]; }

private:
    void update(std::size_t i, std::size_t k, double g, double rate, double decay)
    {
        double& m = m_first[i][k];
        double& v = m_second[i][k];
        double& x = m_values[i][k];
        m = m_settings.beta1 * m + (1.0 - m_settings.beta1) * g;
        v = m_settings.beta2 * v + (1.0 - m_settings.beta2) * g * g;
        const double mHat = m / (1.0 - std::pow(m_settings.beta1, m_steps));
        const double vHat = v / (1.0 - std::pow(m_settings.beta2, m_steps));
        x -= rate * (mHat / (std::sqrt(vHat) + m_settings.epsilon) + decay * x);
    }

    AdamWSettings m_settings;
    int m_steps = 0;
    std::vector<std::vector<double>> m_values, m_first, m_second;
};

} // namespace

class TestAdamW : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void itsStepsAreThoseOfThePaper_data()
    {
        QTest::addColumn<double>("size");
        QTest::addColumn<double>("clipNorm");
        QTest::addColumn<double>("weightDecay");
        QTest::newRow("short gradients") << 1e-3 << 1.0 << 0.1;
        QTest::newRow("cut gradients") << 5.0 << 1.0 << 0.1;
        QTest::newRow("long ones that are not cut") << 5.0 << 0.0 << 0.1;
        QTest::newRow("no decay") << 0.1 << 1.0 << 0.0;
    }
    void itsStepsAreThoseOfThePaper()
    {
        QFETCH(double, size);
        QFETCH(double, clipNorm);
        QFETCH(double, weightDecay);
        AdamWSettings settings;
        settings.clipNorm = clipNorm;
        settings.weightDecay = weightDecay;
        const TrainingParameters parameters = someParameters();
        AdamW optimizer(parameters, settings);
        ReferenceAdamW reference(parameters, settings);
        at::Generator generator = at::detail::createCPUGenerator(2);
        for (std::size_t step = 0; step < 12; ++step) {
            const double rate = 0.02 / static_cast<double>(step + 1);
            setGradients(parameters, size, generator, 3 + step % 5);
            const double length = totalLength(parameters);
            reference.step(parameters, rate);
            QVERIFY(std::abs(optimizer.step(parameters, rate) - length) < 1e-5 * length);
        }
        QCOMPARE(optimizer.numSteps(), std::int64_t(12));
        for (std::size_t i = 0; i < parameters.all().size(); ++i) {
            const std::vector<double> found = numbersOf(parameters[i]);
            for (std::size_t k = 0; k < found.size(); ++k)
                QVERIFY2(std::abs(found[k] - reference.values(i)[k]) < 2e-6,
                         parameters.all()[i].name.c_str());
        }
    }

    void aCutGradientIsAShorterOneOfTheSameDirection()
    {
        // With the cut at half its length, a gradient gives the steps of the half one.
        AdamWSettings cutting;
        AdamWSettings never;
        never.clipNorm = 0.0;
        const TrainingParameters a = someParameters();
        const TrainingParameters b = someParameters();
        at::Generator forA = at::detail::createCPUGenerator(5);
        at::Generator forB = at::detail::createCPUGenerator(5);
        setGradients(a, 1.0, forA, 999);
        const double length = totalLength(a);
        cutting.clipNorm = 0.5 * length;
        setGradients(b, 0.5, forB, 999);
        AdamW(a, cutting).step(a, 0.1);
        AdamW(b, never).step(b, 0.1);
        for (std::size_t i = 0; i < a.all().size(); ++i)
            QVERIFY((a[i] - b[i]).abs().max().item<double>() < 1e-6);
    }

    void gradientsAreForgottenAfterAStep()
    {
        const TrainingParameters parameters = someParameters();
        AdamW optimizer(parameters, {});
        at::Generator generator = at::detail::createCPUGenerator(5);
        setGradients(parameters, 1.0, generator, 999);
        optimizer.step(parameters, 0.1);
        for (const TrainingParameter& parameter : parameters.all())
            QVERIFY(!parameter.value.grad().defined());
    }

    void aGradientThatIsNoNumberChangesNothing_data()
    {
        QTest::addColumn<double>("value");
        QTest::newRow("not a number") << std::nan("");
        QTest::newRow("infinite") << std::numeric_limits<double>::infinity();
    }
    void aGradientThatIsNoNumberChangesNothing()
    {
        QFETCH(double, value);
        const TrainingParameters parameters = someParameters();
        AdamW optimizer(parameters, {});
        at::Generator generator = at::detail::createCPUGenerator(5);
        setGradients(parameters, 1.0, generator, 999);
        at::Tensor last = parameters[parameters.lastNorm()];
        last.mutable_grad() = at::full_like(last.detach(), value);
        const at::Tensor before = parameters[0].detach().clone();
        QVERIFY_EXCEPTION_THROWN(optimizer.step(parameters, 0.1), EngineError);
        QVERIFY(parameters[0].equal(before));
        QCOMPARE(optimizer.numSteps(), std::int64_t(0));
    }

    void theLearningRateRisesAndFalls_data()
    {
        QTest::addColumn<int>("step");
        QTest::addColumn<double>("rate"); // of a peak of 8e-3
        QTest::newRow("the first step") << 0 << 8e-3 / 40;
        QTest::newRow("half way up") << 19 << 4e-3;
        QTest::newRow("the last step of the rise") << 39 << 8e-3;
        QTest::newRow("the peak") << 40 << 8e-3;
        // cos(pi / 3) = 1/2, so three quarters of the way from the floor are left.
        QTest::newRow("a third of the fall") << 140 << 8e-3 * (0.25 + 0.75 * 0.75);
        QTest::newRow("half of the fall") << 190 << 8e-3 * (0.25 + 0.75 * 0.5);
        QTest::newRow("two thirds of the fall") << 240 << 8e-3 * (0.25 + 0.75 * 0.25);
        QTest::newRow("the end") << 340 << 2e-3;
        QTest::newRow("beyond the end") << 5000 << 2e-3;
    }
    void theLearningRateRisesAndFalls()
    {
        QFETCH(int, step);
        QFETCH(double, rate);
        const LearningRate curve{.peak = 8e-3, .floor = 0.25, .warmUp = 40, .total = 340};
        QVERIFY2(std::abs(curve.at(step) - rate) < 1e-12,
                 qPrintable(QString::number(curve.at(step))));
    }

    void aRateWithoutWarmUpBeginsAtItsPeak()
    {
        const LearningRate curve{.peak = 1.0, .floor = 0.0, .warmUp = 0, .total = 10};
        QCOMPARE(curve.at(0), 1.0);
        QVERIFY(curve.at(10) < 1e-12);
        const LearningRate rise{.peak = 1.0, .floor = 0.5, .warmUp = 10, .total = 10};
        QCOMPARE(rise.at(9), 1.0);
        QCOMPARE(rise.at(11), 0.5);
    }
};

QTEST_GUILESS_MAIN(TestAdamW)
#include "tst_adam_w.moc"
