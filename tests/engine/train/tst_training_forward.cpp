#include "engine/checkpoint/checkpoint.h"
#include "engine/model/decoder.h"
#include "engine/train/training_forward.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>

#include <QtTest>

using namespace kvscope;

namespace {

const std::filesystem::path kFolder =
    std::filesystem::path(KVSCOPE_TEST_DATA) / "gptosslite" / "tiny_a";

double largestDifference(const at::Tensor& a, const at::Tensor& b)
{
    return (a - b).abs().max().item<double>();
}

} // namespace

class TestTrainingForward : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void itsLogitsAreTheEngines_data()
    {
        QTest::addColumn<int>("length");
        QTest::newRow("shorter than the window") << 5;
        QTest::newRow("the window itself") << 8;
        QTest::newRow("one more") << 9;
        QTest::newRow("many windows and a part") << 53;
        QTest::newRow("beyond the trained length") << 200;
    }
    void itsLogitsAreTheEngines()
    {
        QFETCH(int, length);
        const auto checkpoint = openCheckpoint(kFolder);
        DecoderOptions options;
        options.computeType = ComputeType::Float32;
        Decoder decoder(checkpoint, options);
        TrainingParameters parameters(checkpoint->config, 0.02, 1);
        loadParameters(parameters, kFolder / "model.safetensors");
        const TrainingForward forward(checkpoint->config);
        const at::Tensor ids = at::randint(checkpoint->config.vocabularySize, {2, length},
                                           at::detail::createCPUGenerator(7), at::kLong);
        ForwardOptions all;
        all.logits = LogitPositions::All;
        const c10::NoGradGuard noGradient;
        const at::Tensor expected = decoder.forward(ids, nullptr, all).flatten(0, 1);
        const at::Tensor found = forward.logits(parameters, forward(parameters, ids).hidden);
        const double difference = largestDifference(found, expected);
        QVERIFY2(difference < 1e-4, qPrintable(QString::number(difference)));
    }
};

QTEST_GUILESS_MAIN(TestTrainingForward)
#include "tst_training_forward.moc"
