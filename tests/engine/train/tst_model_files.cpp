#include "engine/base/errors.h"
#include "engine/checkpoint/architectures/gpt_oss_lite.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/yaml_config.h"
#include "engine/model/decoder.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/train/model_files.h"
#include "engine/train/training_forward.h"
#include "engine/train/training_shape.h"
#include "engine/train/vocabulary.h"
#include "engine/train/whole_file.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/randint.h>
#include <c10/core/GradMode.h>

#include <QtTest>

#include <random>

using namespace kvscope;

namespace {

TrainingShape smallShape()
{
    TrainingShape shape;
    shape.vocabulary = 400;
    shape.width = 48;
    shape.headDim = 16;
    shape.expertDim = 40;
    shape.window = 8;
    shape.trainedLength = 64;
    shape.yarnScale = 4.0;
    shape.yarnBetaFast = 16.0;
    return shape;
}

/// Random weights in which every part has a say. \param type  what the numbers can be stored as
TrainingParameters randomParameters(const ModelConfig& config, SavedType type)
{
    const c10::NoGradGuard noGradient;
    TrainingParameters parameters(config, 0.1, 5);
    at::Generator generator = at::detail::createCPUGenerator(3);
    for (const TrainingParameter& parameter : parameters.all()) {
        at::Tensor value = parameter.value;
        if (value.dim() == 1)
            value.normal_(0.5, 1.0, generator);
        if (type == SavedType::BFloat16)
            value.copy_(value.to(at::kBFloat16));
    }
    return parameters;
}

at::Tensor engineLogits(const std::filesystem::path& folder, const at::Tensor& ids)
{
    DecoderOptions options;
    options.computeType = ComputeType::Float32;
    Decoder decoder(openCheckpoint(folder), options);
    ForwardOptions all;
    all.logits = LogitPositions::All;
    return decoder.forward(ids, nullptr, all).flatten(0, 1);
}

} // namespace

class TestModelFiles : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theEngineComputesWhatTrainingDoes_data()
    {
        QTest::addColumn<int>("type");
        QTest::addColumn<int>("length");
        QTest::newRow("float32") << static_cast<int>(SavedType::Float32) << 53;
        QTest::newRow("bfloat16") << static_cast<int>(SavedType::BFloat16) << 53;
        QTest::newRow("beyond the trained length") << static_cast<int>(SavedType::Float32) << 150;
    }
    void theEngineComputesWhatTrainingDoes()
    {
        QFETCH(int, type);
        QFETCH(int, length);
        const QTemporaryDir folder;
        const ModelConfig config = modelConfig(smallShape());
        CheckpointToWrite what;
        what.step = 120;
        what.type = static_cast<SavedType>(type);
        const TrainingParameters parameters = randomParameters(config, what.type);
        writeCheckpoint(folder.path().toStdString(), config, parameters, what);
        const at::Tensor ids = at::randint(config.vocabularySize, {2, length},
                                           at::detail::createCPUGenerator(7), at::kLong);
        const c10::NoGradGuard noGradient;
        const TrainingForward forward(config);
        const at::Tensor expected = forward.logits(parameters, forward(parameters, ids).hidden);
        const double difference =
            (engineLogits(folder.path().toStdString(), ids) - expected).abs().max().item<double>();
        QVERIFY2(difference < 1e-4, qPrintable(QString::number(difference)));
    }

    void theConfigurationComesBack_data()
    {
        QTest::addColumn<int>("seed");
        for (int seed = 0; seed < 20; ++seed)
            QTest::addRow("random shape %d", seed) << seed;
    }
    void theConfigurationComesBack()
    {
        QFETCH(int, seed);
        std::mt19937 random(static_cast<std::uint32_t>(seed));
        const auto pick = [&](std::int64_t most) {
            return 1 + static_cast<std::int64_t>(random()) % most;
        };
        TrainingShape shape;
        shape.layers = pick(6);
        shape.kvHeads = pick(4);
        shape.heads = shape.kvHeads * pick(4);
        shape.headDim = 4 * pick(16);
        shape.experts = pick(8);
        shape.activeExperts = pick(shape.experts);
        shape.sharedExperts = pick(3) - 1;
        shape.window = pick(500);
        shape.ropeBase = static_cast<double>(pick(1'000'000)) / 7.0;
        shape.trainedLength = pick(5000);
        shape.yarnScale = 1.0 + static_cast<double>(pick(1000)) / 32.0;
        shape.yarnBetaFast = static_cast<double>(pick(100)) / 3.0;
        const ModelConfig written = modelConfig(shape);
        const QTemporaryDir folder;
        const auto file = folder.filePath("config.yaml").toStdString();
        writeWholeFile(file, checkpointYaml(written, SavedType::Float32));
        const ModelConfig read = readGptOssLiteConfig(readYamlConfig(file));
        QCOMPARE(summary(read), summary(written));
        QCOMPARE(checkpointYaml(read, SavedType::Float32),
                 checkpointYaml(written, SavedType::Float32));
        QCOMPARE(read.rotary.base, written.rotary.base);
        QCOMPARE(read.extendedPositions, written.extendedPositions);
        QCOMPARE(read.normEpsilon, written.normEpsilon);
        QCOMPARE(std::get<GptOssLiteRotary>(read.rotary.scheme).factor, shape.yarnScale);
        QCOMPARE(read.totalParameters(), written.totalParameters());
        for (std::size_t i = 0; i < read.layers.size(); ++i) {
            QCOMPARE(read.layers[i].identityPairs, written.layers[i].identityPairs);
            QCOMPARE(read.layers[i].window, written.layers[i].window);
            QCOMPARE(read.layers[i].hasSink, written.layers[i].hasSink);
        }
    }

    void theTokenizerAndItsEndComeAlong()
    {
        const QTemporaryDir folder;
        const std::filesystem::path path = folder.filePath("deep/er").toStdString();
        const auto vocabulary = folder.filePath("v.model").toStdString();
        std::string text;
        for (int i = 0; i < 2000; ++i)
            text += "the special number is " + std::to_string(i) + " and so on\n";
        trainVocabulary(text, {.size = 300}, vocabulary);
        const ModelConfig config = modelConfig(smallShape());
        const TrainingParameters parameters = randomParameters(config, SavedType::BFloat16);
        writeCheckpoint(path, config, parameters, {7, SavedType::BFloat16, vocabulary});
        writeCheckpoint(path, config, parameters,
                        {12, SavedType::BFloat16, path / "tokenizer.model"}); // its own file
        const auto checkpoint = openCheckpoint(path);
        QCOMPARE(checkpoint->tokenizer.endTokens, std::vector<std::int64_t>{kEndPiece});
        QVERIFY(checkpoint->warnings.empty());
        const auto tokenizer = makeTokenizer(checkpoint->tokenizer);
        QCOMPARE(tokenizer->vocabularySize(), config.vocabularySize);
        QCOMPARE(tokenizer->decode(tokenizer->encode("the number 5", ControlTokens::Literal)),
                 std::string("the number 5"));
        QStringList names;
        for (const auto& entry : std::filesystem::directory_iterator(path))
            names << QString::fromStdString(entry.path().filename().string());
        names.sort();
        QCOMPARE(names, QStringList({"config.yaml", "model_step_12.safetensors",
                                     "model_step_7.safetensors", "tokenizer.model"}));
    }

    void otherConfigurationsAreRefused()
    {
        const ModelConfig good = modelConfig(smallShape());
        ModelConfig reordered = good;
        std::swap(reordered.layers[0], reordered.layers[1]);
        ModelConfig windows = good;
        windows.layers[2].window = 9;
        ModelConfig pairs = good;
        pairs.layers[3].identityPairs = 1;
        ModelConfig plain = good;
        plain.rotary.scheme = PlainRotary{};
        ModelConfig family = good;
        family.architecture = "llama";
        for (const ModelConfig& config : {reordered, windows, pairs, plain, family})
            QVERIFY_EXCEPTION_THROWN(checkpointYaml(config, SavedType::Float32), ArgumentError);
    }

    void shapesThatNoModelHasAreRefused_data()
    {
        QTest::addColumn<int>("what");
        QTest::addColumn<QString>("why");
        QTest::newRow("no layers") << 0 << "0 layers";
        QTest::newRow("heads that do not divide") << 1 << "4 query heads cannot share 3";
        QTest::newRow("a scale below one") << 2 << "YaRN extends by a factor";
        QTest::newRow("more active experts than there are") << 3 << "active experts is 5";
        QTest::newRow("an odd head") << 4 << "must be even";
        QTest::newRow("no trained length") << 5 << "trained length of 0";
    }
    void shapesThatNoModelHasAreRefused()
    {
        QFETCH(int, what);
        QFETCH(QString, why);
        TrainingShape shape;
        if (what == 0)
            shape.layers = 0;
        else if (what == 1)
            shape.kvHeads = 3;
        else if (what == 2)
            shape.yarnScale = 0.5;
        else if (what == 3)
            shape.activeExperts = 5;
        else if (what == 4)
            shape.headDim = 15;
        else
            shape.trainedLength = 0;
        try {
            modelConfig(shape);
            QFAIL("made");
        } catch (const ArgumentError& error) {
            QVERIFY2(QString(error.what()).contains(why), error.what());
        }
    }

    void whatCannotBeWrittenIsNamed()
    {
        const QTemporaryDir folder;
        const std::filesystem::path file = folder.filePath("file").toStdString();
        writeWholeFile(file, "x");
        const ModelConfig config = modelConfig(smallShape());
        const TrainingParameters parameters(config, 0.02, 1);
        try {
            writeCheckpoint(file / "inside", config, parameters, {});
            QFAIL("written");
        } catch (const EngineError& error) {
            QVERIFY2(QString(error.what()).contains("config.yaml: cannot be written"),
                     error.what());
        }
        CheckpointToWrite negative;
        negative.step = -1;
        QVERIFY_EXCEPTION_THROWN(
            writeCheckpoint(folder.path().toStdString(), config, parameters, negative),
            ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestModelFiles)
#include "tst_model_files.moc"
