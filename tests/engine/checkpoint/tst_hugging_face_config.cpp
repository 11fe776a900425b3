#include "engine/checkpoint/architectures/family.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <cmath>
#include <nlohmann/json.hpp>
#include <vector>

using namespace kvscope;
using Json = nlohmann::json;

namespace {

constexpr std::int64_t kHidden = 96;
constexpr std::int64_t kHeads = 6;
constexpr std::int64_t kLayers = 4;

Json smallest(const std::string& type)
{
    if (type == "gpt2")
        return {{"model_type", type},
                {"vocab_size", 99},
                {"n_embd", 96},
                {"n_head", 6},
                {"n_layer", 4}};
    return {{"model_type", type},           {"hidden_size", kHidden},
            {"intermediate_size", 64},      {"num_attention_heads", kHeads},
            {"num_hidden_layers", kLayers}, {"vocab_size", 99}};
}

/// What a family makes of its smallest configuration with some keys beside.
ModelConfig read(const std::string& type, const char* extra = "{}")
{
    Json json = smallest(type);
    json.update(Json::parse(extra));
    return findHuggingFaceFamily(type)->readHuggingFace(ConfigObject(json, "config.json"));
}

QString errorFrom(const std::string& type, const char* extra)
{
    return errorOf([&] { validate(read(type, extra), "config.json"); });
}

/// 0 for a global layer.
std::vector<std::int64_t> windowsOf(const ModelConfig& model)
{
    std::vector<std::int64_t> windows;
    for (const LayerConfig& layer : model.layers)
        windows.push_back(layer.kind == LayerKind::Windowed ? layer.window : 0);
    return windows;
}

using Windows = std::vector<std::int64_t>;
const Windows kNone{0, 0, 0, 0};

} // namespace
Q_DECLARE_METATYPE(Windows)

// What is read where a config.json is silent, says null, or says a thing twice. All numbers are
// those of transformers 5.23's own classes: CONFIG_MAPPING[type].from_dict(...) of the same keys.
class TestHuggingFaceConfig : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void aMissingKeyIsWhatTheClassAssumes_data()
    {
        QTest::addColumn<int>("numKvHeads");
        QTest::addColumn<int>("headDim");
        QTest::addColumn<double>("epsilon");
        QTest::addColumn<int>("positions");
        QTest::addColumn<bool>("tied");
        QTest::addColumn<double>("base");
        QTest::addColumn<Windows>("windows");
        const auto row = [](const char* type, int kv, int dim, double eps, int positions, bool tied,
                            double base, const Windows& windows) {
            QTest::newRow(type) << kv << dim << eps << positions << tied << base << windows;
        };
        const Windows every{4096, 4096, 4096, 4096};
        row("llama", 6, 16, 1e-6, 2048, false, 1e4, kNone);
        row("mistral", 8, 16, 1e-6, 131072, false, 1e4, every);
        row("mixtral", 8, 16, 1e-5, 131072, false, 1e6, kNone);
        row("qwen2", 32, 16, 1e-6, 32768, false, 1e4, kNone);
        row("qwen2_moe", 16, 16, 1e-6, 32768, false, 1e4, kNone);
        row("qwen3", 32, 128, 1e-6, 32768, false, 1e4, kNone);
        row("qwen3_moe", 4, 16, 1e-6, 32768, false, 1e4, kNone);
        row("gemma", 16, 256, 1e-6, 8192, true, 1e4, kNone);
        row("gemma2", 4, 256, 1e-6, 8192, true, 1e4, {4096, 0, 4096, 0});
        row("gemma3_text", 4, 256, 1e-6, 131072, true, 1e6, every);
        row("phi3", 6, 16, 1e-5, 4096, false, 1e4, kNone);
        row("granite", 6, 16, 1e-6, 2048, false, 1e4, kNone);
        row("olmo2", 6, 16, 1e-5, 2048, false, 1e4, kNone);
        row("smollm3", 4, 16, 1e-6, 32768, true, 2e6, kNone);
        row("starcoder2", 2, 16, 1e-5, 4096, true, 1e4, kNone);
        row("gpt2", 6, 16, 1e-5, 1024, true, 1e4, kNone);
        row("gpt_oss", 8, 64, 1e-5, 131072, false, 150000.0, {128, 0, 128, 0});
    }
    void aMissingKeyIsWhatTheClassAssumes()
    {
        QFETCH(int, numKvHeads);
        QFETCH(int, headDim);
        QFETCH(double, epsilon);
        QFETCH(int, positions);
        QFETCH(bool, tied);
        QFETCH(double, base);
        QFETCH(Windows, windows);
        const ModelConfig model = read(QTest::currentDataTag());
        QCOMPARE(model.numKvHeads, std::int64_t{numKvHeads});
        QCOMPARE(model.headDim, std::int64_t{headDim});
        QCOMPARE(model.normEpsilon, epsilon);
        QCOMPARE(model.extendedPositions, std::int64_t{positions});
        QCOMPARE(model.hasTiedHead, tied);
        QCOMPARE(model.rotary.base, base);
        QCOMPARE(windowsOf(model), windows);
    }

    void activationsOfSilentFiles()
    {
        for (const char* type : {"llama", "mistral", "mixtral", "qwen2", "qwen3", "phi3", "granite",
                                 "olmo2", "smollm3", "qwen2_moe", "qwen3_moe"})
            QCOMPARE(read(type).activation, Activation::Silu);
        for (const char* type : {"gemma", "gemma2", "gemma3_text", "starcoder2", "gpt2"})
            QCOMPARE(read(type).activation, Activation::GeluTanh);
        // Gemma 1's class looks at the other key, and takes "gelu" for the approximation.
        QCOMPARE(read("gemma", R"({"hidden_act": "gelu"})").activation, Activation::GeluTanh);
        QCOMPARE(read("gemma", R"({"hidden_act": "silu", "hidden_activation": "gelu"})").activation,
                 Activation::Silu);
    }

    void expertsOfSilentFiles_data()
    {
        QTest::addColumn<QByteArray>("type");
        QTest::addColumn<QByteArray>("extra");
        QTest::addColumn<int>("count");
        QTest::addColumn<int>("active");
        QTest::addColumn<int>("dim");
        const auto row = [](const char* name, const char* type, const char* extra, int count,
                            int active, int dim) {
            QTest::newRow(name) << QByteArray(type) << QByteArray(extra) << count << active << dim;
        };
        row("mixtral", "mixtral", "{}", 8, 2, 64);
        row("gpt-oss", "gpt_oss", "{}", 128, 4, 64);
        row("qwen2-moe", "qwen2_moe", "{}", 60, 4, 1408);
        row("qwen3-moe", "qwen3_moe", "{}", 128, 8, 768);
        row("gpt-oss's other key does not count", "gpt_oss",
            R"({"num_experts_per_tok": 2, "experts_per_token": 3})", 128, 2, 64);
        row("mixtral by both names", "mixtral", R"({"num_local_experts": 6, "num_experts": 4})", 4,
            2, 64);
        row("qwen3-moe by both names", "qwen3_moe", R"({"num_local_experts": 6, "num_experts": 4})",
            6, 8, 768);
        row("qwen2-moe has one name", "qwen2_moe", R"({"num_local_experts": 6})", 60, 4, 1408);
    }
    void expertsOfSilentFiles()
    {
        QFETCH(QByteArray, type);
        QFETCH(QByteArray, extra);
        QFETCH(int, count);
        QFETCH(int, active);
        QFETCH(int, dim);
        const ModelConfig model = read(type.toStdString(), extra.constData());
        QCOMPARE(model.experts->numExperts, std::int64_t{count});
        QCOMPARE(model.experts->numActive, std::int64_t{active});
        QCOMPARE(model.expertDim(), std::int64_t{dim});
    }

    void nullKeyValueHeadsAreAsManyAsQueryHeads_data()
    {
        QTest::addColumn<QByteArray>("type");
        for (const char* type : {"qwen2", "qwen3", "mistral", "mixtral", "gpt_oss", "smollm3"})
            QTest::newRow(type) << QByteArray(type);
    }
    void nullKeyValueHeadsAreAsManyAsQueryHeads()
    {
        QFETCH(QByteArray, type);
        QCOMPARE(read(type.toStdString(), R"({"num_key_value_heads": null})").numKvHeads, kHeads);
    }

    void otherNullsThatMeanSomething()
    {
        QCOMPARE(read("gpt_oss", R"({"head_dim": null})").headDim, kHidden / kHeads);
        QCOMPARE(windowsOf(read("mistral", R"({"sliding_window": null})")), kNone);
        QCOMPARE(windowsOf(read("qwen2", R"({"use_sliding_window": true, "max_window_layers": 1,
                                             "sliding_window": null})")),
                 kNone);
        QCOMPARE(
            windowsOf(read("qwen3_moe", R"({"use_sliding_window": true, "sliding_window": null})")),
            kNone);
        QCOMPARE(read("gemma2", R"({"attn_logit_softcapping": null})").attentionSoftCap, 0.0);
        for (const char* type : {"gemma2", "gemma3_text", "gpt_oss"})
            KVSCOPE_CONTAINS(errorFrom(type, R"({"sliding_window": null})"),
                             "sliding_window is null");
    }

    void rulesOfWindowedLayers()
    {
        const char* layers = R"({"use_sliding_window": true, "max_window_layers": 3,
                                 "sliding_window": 7})";
        QCOMPARE(windowsOf(read("qwen2", layers)), (Windows{0, 0, 0, 7}));
        QCOMPARE(windowsOf(read("qwen3", layers)), (Windows{0, 0, 0, 7}));
        QCOMPARE(windowsOf(read("qwen2_moe", layers)), (Windows{7, 0, 7, 0}));
        QCOMPARE(windowsOf(read("qwen3_moe", layers)), (Windows{7, 7, 7, 7}));
        QCOMPARE(windowsOf(read("qwen2_moe", R"({"use_sliding_window": true,
                                                 "max_window_layers": 2})")),
                 (Windows{4096, 0, 0, 0}));
        QCOMPARE(windowsOf(read("smollm3", layers)), (Windows{0, 0, 0, 7}));
        QCOMPARE(windowsOf(read("gemma3_text", R"({"sliding_window_pattern": 2})")),
                 (Windows{4096, 0, 4096, 0}));
        QCOMPARE(windowsOf(read("gemma3_text", R"({"_sliding_window_pattern": 2})")),
                 (Windows{4096, 4096, 4096, 4096}));
        // A class whose windows are everywhere does not look at the list.
        QCOMPARE(windowsOf(read("mistral", R"({"sliding_window": 7, "layer_types":
                     ["full_attention", "full_attention", "full_attention", "full_attention"]})")),
                 (Windows{7, 7, 7, 7}));
    }

    void ropeScalingCountsBeforeRopeParameters()
    {
        const char* both = R"({"rope_scaling": {"rope_type": "linear", "factor": 2.0},
            "rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5000.0}})";
        ModelConfig model = read("llama", both);
        QCOMPARE(std::get<LinearRotary>(model.rotary.scheme).factor, 2.0);
        QCOMPARE(model.rotary.base, 10000.0); // the other section's base does not count either
        model = read("llama", R"({"rope_scaling": {}, "rope_theta": 7000.0, "rope_parameters":
            {"rope_type": "linear", "factor": 4.0, "rope_theta": 5000.0}})");
        QCOMPARE(std::get<LinearRotary>(model.rotary.scheme).factor, 4.0);
        QCOMPARE(model.rotary.base, 5000.0);
        KVSCOPE_CONTAINS(errorFrom("gemma2", R"({"rope_parameters": {"full_attention":
                             {"rope_type": "linear", "factor": 8.0}}})"),
                         "rope_parameters.full_attention is there, but");
    }

    void gemma3PutsRopeScalingOverItsGlobalLayers()
    {
        ModelConfig model = read("gemma3_text", R"({"rope_scaling":
            {"rope_type": "linear", "factor": 8.0}, "rope_theta": 500000.0,
            "rope_local_base_freq": 20000.0})");
        QCOMPARE(std::get<LinearRotary>(model.rotary.scheme).factor, 8.0);
        QCOMPARE(model.rotary.base, 500000.0);
        QVERIFY(std::holds_alternative<PlainRotary>(model.windowedRotary->scheme));
        QCOMPARE(model.windowedRotary->base, 20000.0);

        model = read("gemma3_text", R"({"rope_scaling": {"factor": 2.0}, "rope_parameters":
            {"full_attention": {"rope_type": "linear", "factor": 8.0, "rope_theta": 300000.0},
             "sliding_attention": null}})");
        QCOMPARE(std::get<LinearRotary>(model.rotary.scheme).factor, 2.0);
        QCOMPARE(model.rotary.base, 300000.0);
        QCOMPARE(model.windowedRotary->base, 10000.0);

        model = read("gemma3_text", R"({"rope_theta": 900000.0, "rope_parameters":
            {"full_attention": {"rope_type": "linear", "factor": 8.0},
             "sliding_attention": {"rope_type": "default"}}})");
        QCOMPARE(model.rotary.base, 900000.0);
        QCOMPARE(model.windowedRotary->base, 10000.0);

        // What is not nested is not looked at.
        model = read("gemma3_text", R"({"rope_parameters":
            {"rope_type": "linear", "factor": 8.0, "rope_theta": 3.0}})");
        QVERIFY(std::holds_alternative<PlainRotary>(model.rotary.scheme));
        QCOMPARE(model.rotary.base, 1e6);
    }

    void phi3ExtendsFrom4096AndTakesYarnForLongRope()
    {
        Json scaling = {{"original_max_position_embeddings", 64},
                        {"short_factor", std::vector<double>(8, 1.0)},
                        {"long_factor", std::vector<double>(8, 2.0)}};
        for (const char* type : {"longrope", "yarn", "su"}) {
            scaling["type"] = type;
            const Json extra = {{"max_position_embeddings", 131072}, {"rope_scaling", scaling}};
            const ModelConfig model = read("phi3", extra.dump().c_str());
            const auto& rotary = std::get<LongRotary>(model.rotary.scheme);
            QCOMPARE(rotary.originalPositions, std::int64_t{4096});
            QCOMPARE(rotary.factor, 32.0);
            // sqrt(1 + ln 32 / ln 4096)
            QVERIFY(std::abs(rotary.attentionFactor - 1.190238071423809) < 1e-12);
            QCOMPARE(model.trainedPositions, std::int64_t{4096});
            QCOMPARE(model.extendedPositions, std::int64_t{131072});
        }
        KVSCOPE_CONTAINS(
            errorFrom("phi3", R"({"rope_scaling": {"type": "linear", "factor": 2.0}})"),
            "rope_scaling.type is linear; phi3 has longrope alone");
    }

    void gptOssWithoutARotationExtends4096ThirtyTwoTimes()
    {
        ModelConfig model = read("gpt_oss", R"({"rope_theta": 7000.0})");
        const auto& yarn = std::get<YarnRotary>(model.rotary.scheme);
        QCOMPARE(yarn.factor, 32.0);
        QCOMPARE(yarn.originalPositions, std::int64_t{4096});
        QCOMPARE(yarn.betaFast, 32.0);
        QCOMPARE(yarn.betaSlow, 1.0);
        QVERIFY(!yarn.roundsRamp);
        QVERIFY(std::abs(yarn.attentionFactor - 1.3465735902799727) < 1e-12);
        QCOMPARE(model.rotary.base, 7000.0);
        QCOMPARE(model.trainedPositions, std::int64_t{4096});
        QCOMPARE(model.extendedPositions, std::int64_t{131072});
        model = read("gpt_oss", R"({"rope_parameters": {}})"); // says that there is none
        QVERIFY(std::holds_alternative<PlainRotary>(model.rotary.scheme));
    }

    void scalesOfScoresArePositive()
    {
        QCOMPARE(read("granite").scoreScale(), 1.0);
        KVSCOPE_CONTAINS(errorFrom("granite", R"({"attention_multiplier": 0.0})"),
                         "the attention scale is 0");
        KVSCOPE_CONTAINS(errorFrom("granite", R"({"attention_multiplier": -1.0})"),
                         "the attention scale is -1");
        for (const char* type : {"gemma2", "gemma3_text"}) {
            KVSCOPE_CONTAINS(
                errorFrom(type, R"({"query_pre_attn_scalar": 0, "num_key_value_heads": 2})"),
                "the attention scale is inf");
            KVSCOPE_CONTAINS(
                errorFrom(type, R"({"query_pre_attn_scalar": -4, "num_key_value_heads": 2})"),
                "the attention scale is");
        }
    }

    void gemmasThatLookAheadAreRefused()
    {
        for (const char* type : {"gemma", "gemma2", "gemma3_text"}) {
            KVSCOPE_CONTAINS(errorFrom(type, R"({"use_bidirectional_attention": true})"),
                             "use_bidirectional_attention is true; kvscope runs causal models");
            QCOMPARE(read(type, R"({"use_bidirectional_attention": null})").numHeads, kHeads);
        }
    }

    void layersBeyondTheLimitAreRefusedAlike()
    {
        KVSCOPE_CONTAINS(errorFrom("llama", R"({"num_hidden_layers": 1025})"),
                         "config.json: num_hidden_layers is 1025; 1 to 1024 was expected");
        KVSCOPE_CONTAINS(errorFrom("gpt2", R"({"n_layer": 0})"),
                         "config.json: n_layer is 0; 1 to 1024 was expected");
    }
};

QTEST_GUILESS_MAIN(TestHuggingFaceConfig)
#include "tst_hugging_face_config.moc"
