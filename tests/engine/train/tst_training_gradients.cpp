#include "engine/train/training_forward.h"
#include "engine/train/training_shape.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>
#include <c10/core/GradMode.h>

#include <QtTest>

#include <cmath>

using namespace kvscope;

namespace {

ModelConfig tinyConfig()
{
    TrainingShape shape;
    shape.vocabulary = 12;
    shape.width = 8;
    shape.layers = 2;
    shape.heads = 2;
    shape.kvHeads = 1;
    shape.headDim = 4;
    shape.experts = 3;
    shape.expertDim = 6;
    shape.window = 3;
    shape.trainedLength = 8;
    shape.yarnScale = 4.0;
    return modelConfig(shape);
}

/// Random float64 weights: the differences then tell seven digits.
TrainingParameters doubleParameters(const ModelConfig& config)
{
    TrainingParameters parameters(config, 0.4, 17);
    at::Generator generator = at::detail::createCPUGenerator(23);
    const c10::NoGradGuard noGradient;
    for (const TrainingParameter& parameter : parameters.all()) {
        at::Tensor value = parameter.value;
        if (value.dim() == 1) // gains and sinks, which begin alike
            value.normal_(0.7, 0.5, generator);
        value.set_data(value.detach().to(at::kDouble));
    }
    return parameters;
}

/// A loss to which every output of the forward pass contributes.
class Loss
{
public:
    Loss(const ModelConfig& config, std::int64_t stride)
        : m_forward(config)
        , m_stride(stride)
    {
        at::Generator generator = at::detail::createCPUGenerator(5);
        m_ids = at::randint(config.vocabularySize, {2, 10}, generator, at::kLong);
        m_direction = at::randn({20, config.vocabularySize}, generator, at::kDouble);
    }

    at::Tensor operator()(const TrainingParameters& parameters) const
    {
        const TrainingOutput output = m_forward(parameters, m_ids, m_stride);
        return (m_forward.logits(parameters, output.hidden) * m_direction).sum() +
               3.0 * output.balance;
    }

private:
    TrainingForward m_forward;
    std::int64_t m_stride;
    at::Tensor m_ids;
    at::Tensor m_direction;
};

} // namespace

class TestTrainingGradients : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void everyGradientIsTheLossesSlope_data()
    {
        QTest::addColumn<int>("stride");
        QTest::newRow("positions as they are") << 1;
        QTest::newRow("spread positions") << 4;
    }
    void everyGradientIsTheLossesSlope()
    {
        QFETCH(int, stride);
        const ModelConfig config = tinyConfig();
        const TrainingParameters parameters = doubleParameters(config);
        const Loss loss(config, stride);
        loss(parameters).backward();
        at::Generator generator = at::detail::createCPUGenerator(31);
        const c10::NoGradGuard noGradient;
        for (const TrainingParameter& parameter : parameters.all()) {
            const char* name = parameter.name.c_str();
            at::Tensor value = parameter.value;
            QVERIFY2(value.grad().defined(), name);
            const at::Tensor direction = at::randn(value.sizes(), generator, at::kDouble);
            const double expected = (value.grad() * direction).sum().item<double>();
            QVERIFY2(std::abs(expected) > 1e-6, name); // so that it says something
            constexpr double kStep = 1e-6;
            const at::Tensor before = value.clone();
            value.add_(direction, kStep);
            const double above = loss(parameters).item<double>();
            value.copy_(before).add_(direction, -kStep);
            const double below = loss(parameters).item<double>();
            value.copy_(before);
            const double slope = (above - below) / (2.0 * kStep);
            QVERIFY2(std::abs(slope - expected) < 1e-6 * std::max(1.0, std::abs(expected)),
                     qPrintable(
                         QString("%1: %2, differences say %3").arg(name).arg(expected).arg(slope)));
        }
    }

    void aSinkBeyondItsClampIsNotLearned()
    {
        const ModelConfig config = tinyConfig();
        const TrainingParameters parameters = doubleParameters(config);
        at::Tensor sinks = parameters[parameters.blocks()[1].sink];
        {
            const c10::NoGradGuard noGradient;
            sinks[0].fill_(20.0);
            sinks[1].fill_(2.0);
        }
        Loss(config, 1)(parameters).backward();
        QCOMPARE(sinks.grad()[0].item<double>(), 0.0);
        QVERIFY(sinks.grad()[1].item<double>() != 0.0);
    }
};

QTEST_GUILESS_MAIN(TestTrainingGradients)
#include "tst_training_gradients.moc"
