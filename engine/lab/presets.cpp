#include "engine/lab/presets.h"

#include "engine/base/errors.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace kvscope {
namespace {

/// What the Llama-like shapes differ in.
struct Shape
{
    std::int64_t vocabulary = 0;
    std::int64_t width = 0;
    std::int64_t numLayers = 0;
    std::int64_t numHeads = 0;
    std::int64_t numKvHeads = 0;
    std::int64_t headDim = 0;
    std::int64_t feedForward = 0;
    std::int64_t positions = 0;
    double rotaryBase = 10000.0;
};

ModelConfig configOf(const char* architecture, const Shape& shape)
{
    ModelConfig config;
    config.architecture = architecture;
    config.vocabularySize = shape.vocabulary;
    config.modelWidth = shape.width;
    config.numHeads = shape.numHeads;
    config.numKvHeads = shape.numKvHeads;
    config.headDim = shape.headDim;
    config.feedForwardDim = shape.feedForward;
    config.trainedPositions = shape.positions;
    config.extendedPositions = shape.positions;
    config.rotary.base = shape.rotaryBase;
    config.layers.resize(static_cast<std::size_t>(shape.numLayers));
    return config;
}

void makeWindowed(LayerConfig& layer, std::int64_t window)
{
    layer.kind = LayerKind::Windowed;
    layer.window = window;
}

ModelConfig gpt2()
{
    ModelConfig config = configOf("gpt2", {.vocabulary = 50257,
                                           .width = 768,
                                           .numLayers = 12,
                                           .numHeads = 12,
                                           .numKvHeads = 12,
                                           .headDim = 64,
                                           .feedForward = 3072,
                                           .positions = 1024});
    config.norm = NormKind::Layer;
    config.activation = Activation::GeluTanh;
    config.isGated = false;
    config.hasTiedHead = true;
    config.hasLearnedPositions = true;
    config.hasQueryKeyValueBias = true;
    config.hasOutputBias = true;
    config.hasFeedForwardBias = true;
    for (LayerConfig& layer : config.layers)
        layer.isRotated = false;
    return config;
}

ModelConfig tinyLlama()
{
    return configOf("llama", {.vocabulary = 32000,
                              .width = 2048,
                              .numLayers = 22,
                              .numHeads = 32,
                              .numKvHeads = 4,
                              .headDim = 64,
                              .feedForward = 5632,
                              .positions = 2048});
}

/// Its config.json states a window of 2,047 in every layer; the chapter's table counts all 4,096.
ModelConfig phi3Mini()
{
    ModelConfig config = configOf("phi3", {.vocabulary = 32064,
                                           .width = 3072,
                                           .numLayers = 32,
                                           .numHeads = 32,
                                           .numKvHeads = 32,
                                           .headDim = 96,
                                           .feedForward = 8192,
                                           .positions = 4096});
    for (LayerConfig& layer : config.layers)
        makeWindowed(layer, 2047);
    return config;
}

ModelConfig gemma2()
{
    ModelConfig config = configOf("gemma2", {.vocabulary = 256000,
                                             .width = 2304,
                                             .numLayers = 26,
                                             .numHeads = 8,
                                             .numKvHeads = 4,
                                             .headDim = 256,
                                             .feedForward = 9216,
                                             .positions = 8192});
    config.normEpsilon = 1e-6;
    config.hasTiedHead = true;
    config.hasPostNorms = true;
    config.addsOneToGains = true;
    config.activation = Activation::GeluTanh;
    config.embeddingScale = std::sqrt(2304.0);
    config.attentionScale = 1.0 / std::sqrt(256.0);
    config.attentionSoftCap = 50.0;
    config.finalSoftCap = 30.0;
    for (std::size_t i = 0; i < config.layers.size(); i += 2)
        makeWindowed(config.layers[i], 4096);
    return config;
}

ModelConfig mistral7B()
{
    return configOf("mistral", {.vocabulary = 32768,
                                .width = 4096,
                                .numLayers = 32,
                                .numHeads = 32,
                                .numKvHeads = 8,
                                .headDim = 128,
                                .feedForward = 14336,
                                .positions = 32768,
                                .rotaryBase = 1e6});
}

ModelConfig llama3(const Shape& shape, double factor)
{
    ModelConfig config = configOf("llama", shape);
    config.vocabularySize = 128256;
    config.rotary.base = 5e5;
    config.trainedPositions = 131072; // with the scaling, which it was trained on with
    config.extendedPositions = 131072;
    config.rotary.scheme = Llama3Rotary{.factor = factor, .originalPositions = 8192};
    return config;
}

ModelConfig llama32With1B()
{
    ModelConfig config = llama3({.width = 2048,
                                 .numLayers = 16,
                                 .numHeads = 32,
                                 .numKvHeads = 8,
                                 .headDim = 64,
                                 .feedForward = 8192},
                                32.0);
    config.hasTiedHead = true;
    return config;
}

ModelConfig llama32With3B()
{
    ModelConfig config = llama3({.width = 3072,
                                 .numLayers = 28,
                                 .numHeads = 24,
                                 .numKvHeads = 8,
                                 .headDim = 128,
                                 .feedForward = 8192},
                                32.0);
    config.hasTiedHead = true;
    return config;
}

ModelConfig llama31With8B()
{
    return llama3({.width = 4096,
                   .numLayers = 32,
                   .numHeads = 32,
                   .numKvHeads = 8,
                   .headDim = 128,
                   .feedForward = 14336},
                  8.0);
}

ModelConfig gptOssLite()
{
    ModelConfig config = configOf("gpt-oss-lite", {.vocabulary = 128000,
                                                   .width = 768,
                                                   .numLayers = 12,
                                                   .numHeads = 8,
                                                   .numKvHeads = 4,
                                                   .headDim = 96,
                                                   .feedForward = 1536,
                                                   .positions = 4096,
                                                   .rotaryBase = 1e5});
    config.extendedPositions = 131072;
    config.hasTiedHead = true;
    config.clampsSinks = true;
    config.experts = MoEConfig{.numExperts = 8, .numActive = 2, .numShared = 1};
    config.rotary.pairing = RotaryPairing::Adjacent;
    config.rotary.scheme = GptOssLiteRotary{.factor = 32.0, .originalPositions = 4096};
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
        LayerConfig& layer = config.layers[i];
        layer.hasSink = true;
        layer.hasExperts = true;
        if (i % 2 == 0)
            makeWindowed(layer, 128);
        else
            layer.identityPairs = config.headDim / 4;
    }
    return config;
}

struct Preset
{
    std::string_view name;
    ModelConfig (*config)();
};

constexpr std::array<Preset, 9> kPresets = {{{"GPT-2", gpt2},
                                             {"TinyLlama-1.1B", tinyLlama},
                                             {"Phi-3-mini-4k", phi3Mini},
                                             {"Gemma-2-2B", gemma2},
                                             {"Mistral-7B-v0.3", mistral7B},
                                             {"Llama-3.2-1B", llama32With1B},
                                             {"Llama-3.2-3B", llama32With3B},
                                             {"Llama-3.1-8B", llama31With8B},
                                             {"GPT-OSS-Lite", gptOssLite}}};

/// ASCII alone: no preset is named otherwise, and a locale must not decide.
char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? static_cast<char>(letter - 'A' + 'a') : letter;
}

bool sameName(std::string_view a, std::string_view b)
{
    return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                      [](char x, char y) { return lower(x) == lower(y); });
}

/// A name typed by a person, fit for one line of an error.
std::string shortened(std::string_view name)
{
    constexpr std::size_t kLongest = 60;
    return name.size() <= kLongest ? std::string(name)
                                   : std::string(name.substr(0, kLongest)) + "...";
}

} // namespace

std::vector<std::string_view> presetNames()
{
    std::vector<std::string_view> names;
    for (const Preset& preset : kPresets)
        names.push_back(preset.name);
    return names;
}

ModelConfig presetConfig(std::string_view name)
{
    for (const Preset& preset : kPresets) {
        if (!sameName(preset.name, name))
            continue;
        ModelConfig config = preset.config();
        config.name = preset.name;
        return config;
    }
    std::string known;
    for (const Preset& preset : kPresets)
        known += (known.empty() ? "" : ", ") + std::string(preset.name);
    throw ArgumentError("There is no preset '" + shortened(name) + "'; there are " + known + ".");
}

} // namespace kvscope
