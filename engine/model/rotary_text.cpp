#include "engine/base/units.h"
#include "engine/model/rotary_override.h"

#include <algorithm>
#include <array>
#include <cstdio>

namespace kvscope {
namespace {

std::string number(double value)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

std::string scaled(const char* name, double factor, std::int64_t original)
{
    return std::string(name) + " x" + number(factor) + " from " + formatCount(original);
}

struct SchemeText
{
    const RotaryConfig& config;

    std::string operator()(const PlainRotary&) const
    {
        return config.frequencyDivisors.empty() ? "plain" : "plain with the file's divisors";
    }
    std::string operator()(const LinearRotary& linear) const
    {
        return "linear x" + number(linear.factor);
    }
    std::string operator()(const DynamicRotary& dynamic) const
    {
        return scaled("dynamic NTK", dynamic.factor, dynamic.originalPositions);
    }
    std::string operator()(const YarnRotary& yarn) const
    {
        return scaled("YaRN", yarn.factor, yarn.originalPositions);
    }
    std::string operator()(const Llama3Rotary& llama3) const
    {
        return scaled("llama3", llama3.factor, llama3.originalPositions);
    }
    std::string operator()(const LongRotary& longRotary) const
    {
        return scaled("longrope", longRotary.factor, longRotary.originalPositions);
    }
    std::string operator()(const GptOssLiteRotary& lite) const
    {
        return scaled("gpt-oss-lite YaRN", lite.factor, lite.originalPositions);
    }
};

std::string schemeText(const RotaryConfig& rotary)
{
    return std::visit(SchemeText{rotary}, rotary.scheme) + ", base " + number(rotary.base);
}

} // namespace

std::string rotaryText(const ModelConfig& config)
{
    if (config.hasLearnedPositions)
        return "none (learned positions)";
    const auto numRotated = std::count_if(config.layers.begin(), config.layers.end(),
                                          [](const LayerConfig& l) { return l.isRotated; });
    if (numRotated == 0)
        return "none";
    std::string text = schemeText(config.rotary);
    if (config.windowedRotary)
        text += " (windowed layers: " + schemeText(*config.windowedRotary) + ")";
    text += config.rotary.pairing == RotaryPairing::Adjacent ? ", adjacent pairs" : ", half pairs";
    if (config.rotary.rotatedDim > 0)
        text += " of " + std::to_string(config.rotary.rotatedDim) + " of " +
                std::to_string(config.headDim) + " elements";
    if (numRotated < config.numLayers())
        text += ", " + std::to_string(config.numLayers() - numRotated) + " layers without";
    return text;
}

} // namespace kvscope
