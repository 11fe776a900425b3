#include "engine/checkpoint/model_config.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <limits>

using namespace kvscope;

namespace {

/// The 502M GPT-OSS-Lite of spec/FACTS.md.
ModelConfig gptOssLite502M()
{
    ModelConfig config;
    config.architecture = "gpt-oss-lite";
    config.vocabularySize = 128000;
    config.modelWidth = 768;
    config.numHeads = 8;
    config.numKvHeads = 4;
    config.headDim = 96;
    config.feedForwardDim = 1536;
    config.hasTiedHead = true;
    config.trainedPositions = 4096;
    config.extendedPositions = 131072;
    config.experts = MoEConfig{.numExperts = 8, .numActive = 2, .numShared = 1};
    config.rotary.scheme = GptOssLiteRotary{.factor = 32.0, .originalPositions = 4096};
    for (int i = 0; i < 12; ++i) {
        LayerConfig layer;
        layer.hasSink = true;
        layer.hasExperts = true;
        if (i % 2 == 0) {
            layer.kind = LayerKind::Windowed;
            layer.window = 128;
        }
        config.layers.push_back(layer);
    }
    return config;
}

using Change = std::function<void(ModelConfig&)>;

} // namespace
Q_DECLARE_METATYPE(Change)

class TestModelConfig : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void parametersOfThe502MShapeAreExact()
    {
        const ModelConfig config = gptOssLite502M();
        QCOMPARE(config.totalParameters(), std::int64_t{501836640});
        QCOMPARE(config.activeParameters(), std::int64_t{247032672});
        QCOMPARE(config.numLayers(LayerKind::Windowed), std::int64_t{6});
        QCOMPARE(config.numLayers(LayerKind::Global), std::int64_t{6});
        QCOMPARE(config.cacheBytesPerToken(2), std::int64_t{1536});
        QCOMPARE(
            QString::fromStdString(summary(config)),
            QString(
                "gpt-oss-lite: 501,836,640 parameters (247,032,672 active), 12 layers (6 "
                "windowed), width 768, 8 query and 4 key/value heads of 96, vocabulary 128,000"));
    }

    void headCountsOnceWhenTied()
    {
        ModelConfig config = gptOssLite502M();
        config.hasTiedHead = false;
        QCOMPARE(config.totalParameters(), std::int64_t{501836640 + 128000 * 768});
    }

    void denseModelIsActiveAsAWhole()
    {
        ModelConfig config = gptOssLite502M();
        config.experts.reset();
        for (LayerConfig& layer : config.layers)
            layer.hasExperts = false;
        QCOMPARE(config.activeParameters(), config.totalParameters());
    }

    void impossibleNumbersAreRefused_data()
    {
        QTest::addColumn<Change>("change");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, Change change, const char* reason) {
            QTest::newRow(name) << change << reason;
        };
        constexpr double kNan = std::numeric_limits<double>::quiet_NaN();
        constexpr std::int64_t kHuge = std::numeric_limits<std::int64_t>::max();
        row(
            "no vocabulary", [](auto& c) { c.vocabularySize = 0; }, "vocabulary size is 0");
        row(
            "negative width", [](auto& c) { c.modelWidth = -1; }, "model width is -1");
        row(
            "huge width", [](auto& c) { c.modelWidth = kHuge; },
            "model width is 9223372036854775807");
        row(
            "huge vocabulary", [](auto& c) { c.vocabularySize = kHuge; }, "vocabulary size is 922");
        row(
            "huge feed-forward", [](auto& c) { c.feedForwardDim = kHuge; }, "feed-forward size is");
        row(
            "no heads", [](auto& c) { c.numHeads = 0; }, "number of query heads is 0");
        row(
            "no key/value heads", [](auto& c) { c.numKvHeads = 0; }, "key/value heads is 0");
        row(
            "uneven groups", [](auto& c) { c.numKvHeads = 3; }, "8 query heads cannot share 3");
        row(
            "more key/value than query heads", [](auto& c) { c.numKvHeads = 16; },
            "cannot share 16");
        row(
            "odd head size", [](auto& c) { c.headDim = 95; }, "head size is 95; it must be even");
        row(
            "no layers", [](auto& c) { c.layers.clear(); }, "number of layers is 0");
        row(
            "window of 0", [](auto& c) { c.layers[2].window = 0; }, "the window is 0");
        row(
            "negative window", [](auto& c) { c.layers[0].window = -5; }, "the window is -5");
        row(
            "too many unrotated pairs", [](auto& c) { c.layers[1].identityPairs = 49; },
            "pairs is 49");
        row(
            "no experts", [](auto& c) { c.experts->numExperts = 0; }, "number of experts is 0");
        row(
            "more active than there are", [](auto& c) { c.experts->numActive = 9; },
            "active experts is 9; 1 to 8");
        row(
            "negative shared", [](auto& c) { c.experts->numShared = -1; }, "shared experts is -1");
        row(
            "epsilon 0", [](auto& c) { c.normEpsilon = 0.0; }, "epsilon is 0");
        row(
            "epsilon not a number", [](auto& c) { c.normEpsilon = kNan; }, "epsilon is nan");
        row(
            "base 0", [](auto& c) { c.rotary.base = 0.0; }, "rotary base is 0");
        row(
            "infinite base",
            [](auto& c) { c.rotary.base = std::numeric_limits<double>::infinity(); },
            "rotary base is inf");
        row(
            "negative scale",
            [](auto& c) { std::get<GptOssLiteRotary>(c.rotary.scheme).factor = -4.0; },
            "rotary scale is -4");
        row(
            "no original positions",
            [](auto& c) { std::get<GptOssLiteRotary>(c.rotary.scheme).originalPositions = 0; },
            "extension is 0");
        row(
            "negative trained positions", [](auto& c) { c.trainedPositions = -1; },
            "positions is -1");
        row(
            "wrong number of divisors", [](auto& c) { c.rotary.frequencyDivisors = {1.0F}; },
            "1 stored rotary frequency divisors for 48 pairs");
        row(
            "divisor 0", [](auto& c) { c.rotary.frequencyDivisors.assign(48, 0.0F); },
            "divisor is 0");
    }
    void impossibleNumbersAreRefused()
    {
        QFETCH(Change, change);
        QFETCH(QString, reason);
        ModelConfig config = gptOssLite502M();
        QCOMPARE(errorOf([&] { validate(config, "a.yaml"); }), QString("(nothing thrown)"));
        change(config);
        const QString error = errorOf([&] { validate(config, "a.yaml"); });
        QVERIFY(error.startsWith("a.yaml: "));
        KVSCOPE_CONTAINS(error, reason);
    }

    // The largest sizes that pass must not overflow the parameter count.
    void theLargestShapeCountsWithoutOverflow()
    {
        ModelConfig config = gptOssLite502M();
        config.vocabularySize = 1 << 26;
        config.modelWidth = 1 << 18;
        config.feedForwardDim = 1 << 20;
        config.numHeads = 1 << 12;
        config.numKvHeads = 1 << 12;
        config.headDim = 1 << 12;
        config.experts = MoEConfig{.numExperts = 512, .numActive = 512, .numShared = 512};
        config.layers.resize(1024);
        for (LayerConfig& layer : config.layers)
            layer = LayerConfig{.hasExperts = true};
        QCOMPARE(errorOf([&] { validate(config, "a"); }), QString("(nothing thrown)"));
        QVERIFY(config.totalParameters() > std::int64_t{1} << 59);
        QCOMPARE(config.totalParameters(), config.activeParameters());
    }
};

QTEST_GUILESS_MAIN(TestModelConfig)
#include "tst_model_config.moc"
