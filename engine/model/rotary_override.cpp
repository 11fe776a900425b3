#include "engine/model/rotary_override.h"

#include "engine/base/errors.h"
#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <charconv>
#include <cmath>
#include <utility>

namespace kvscope {
namespace {

constexpr double kLargestFactor = 1e6;

/// A choice taken apart: "linear:2" is linear and 2.
struct Parsed
{
    std::string name;
    double factor = 1.0;
};

std::string choicesText()
{
    std::string text;
    for (const RotaryChoice& choice : rotaryChoices())
        text +=
            (text.empty() ? "" : ", ") + std::string(choice.name) + (choice.hasFactor ? ":F" : "");
    return text;
}

double parsedFactor(const std::string& choice, std::string_view text)
{
    double factor = 0.0;
    const char* end = text.data() + text.size();
    const auto [stop, error] = std::from_chars(text.data(), end, factor);
    if (error != std::errc() || stop != end || !std::isfinite(factor) || factor < 1.0 ||
        factor > kLargestFactor)
        throw ArgumentError("rotary override '" + choice +
                            "' needs a factor of 1 or more, as in linear:2");
    return factor;
}

Parsed parsed(const std::string& choice)
{
    const std::size_t colon = choice.find(':');
    const std::string name = choice.substr(0, colon);
    const auto& all = rotaryChoices();
    const auto known = std::find_if(all.begin(), all.end(),
                                    [&](const RotaryChoice& one) { return one.name == name; });
    if (known == all.end() || (!known->hasFactor && colon != std::string::npos))
        throw ArgumentError("rotary override '" + choice + "' is not one of " + choicesText());
    const std::string factor = colon == std::string::npos ? "" : choice.substr(colon + 1);
    return {name, known->hasFactor ? parsedFactor(choice, factor) : 1.0};
}

double yarnMagnitude(double factor)
{
    return factor > 1.0 ? 0.1 * std::log(factor) + 1.0 : 1.0; // YaRN, eq. 22
}

/// What a scaling counts from: the trained positions, or, of a file with llama3's scaling, those
/// before it.
std::int64_t originalPositions(const ModelConfig& config, const RotaryConfig& own)
{
    if (const auto* llama3 = std::get_if<Llama3Rotary>(&own.scheme))
        return llama3->originalPositions;
    return std::max<std::int64_t>(1, config.trainedPositions);
}

RotaryScheme chosenScheme(const ModelConfig& config, const RotaryConfig& own, const Parsed& choice,
                          const std::string& text)
{
    const double factor = choice.factor;
    const std::int64_t original = originalPositions(config, own);
    if (choice.name == "linear")
        return LinearRotary{factor};
    if (choice.name == "dynamic")
        return DynamicRotary{factor, original};
    if (choice.name == "yarn")
        return YarnRotary{.factor = factor,
                          .originalPositions = original,
                          .attentionFactor = yarnMagnitude(factor)};
    if (choice.name == "llama3")
        return Llama3Rotary{.factor = factor, .originalPositions = original};
    if (choice.name == "longrope") {
        if (!std::holds_alternative<LongRotary>(own.scheme))
            throw ArgumentError("rotary override 'longrope' needs the divisors that only a "
                                "checkpoint of that scheme has");
        return own.scheme;
    }
    if (choice.name == "gpt-oss-lite") {
        auto lite = std::get_if<GptOssLiteRotary>(&own.scheme) != nullptr
                        ? std::get<GptOssLiteRotary>(own.scheme)
                        : GptOssLiteRotary{.originalPositions = original};
        lite.factor = factor;
        return lite;
    }
    if (choice.name == "plain")
        return PlainRotary{};
    throw ArgumentError("rotary override '" + text + "' is not one of " + choicesText());
}

} // namespace

const std::vector<RotaryChoice>& rotaryChoices()
{
    static const std::vector<RotaryChoice> choices = {
        {"plain", "unscaled, at the file's base", false},
        {"linear", "positions divided by the factor", true},
        {"dynamic", "dynamic NTK: a larger base beyond the trained length", true},
        {"yarn", "YaRN as Hugging Face defines it", true},
        {"llama3", "Llama 3.1's scaling by wavelength", true},
        {"longrope", "the file's own lists of divisors", false},
        {"gpt-oss-lite", "GPT-OSS-Lite's own YaRN", true},
        {"none", "no rotation at all", false},
    };
    return choices;
}

void overrideRotary(ModelConfig& config, const std::string& choice)
{
    const Parsed wanted = parsed(choice);
    if (config.hasLearnedPositions)
        throw ArgumentError("rotary override '" + choice + "': " + config.architecture +
                            " has learned positions and does not rotate");
    if (wanted.name == "none") {
        for (LayerConfig& layer : config.layers)
            layer.isRotated = false;
        config.extendedPositions = config.trainedPositions;
        return;
    }
    const std::int64_t original = originalPositions(config, config.rotary);
    // Windowed layers with a rotation of their own keep it: they never look past their window.
    config.rotary.scheme = chosenScheme(config, config.rotary, wanted, choice);
    config.rotary.frequencyDivisors.clear();
    if (wanted.name != "longrope") // whose length is the file's
        config.extendedPositions =
            static_cast<std::int64_t>(std::llround(static_cast<double>(original) * wanted.factor));
    config.trainedPositions = std::min(config.trainedPositions, original);
}

std::shared_ptr<const Checkpoint> withRotary(std::shared_ptr<const Checkpoint> checkpoint,
                                             const std::string& choice)
{
    if (choice.empty())
        return checkpoint;
    auto changed = std::make_shared<Checkpoint>(*checkpoint);
    overrideRotary(changed->config, choice);
    return changed;
}

} // namespace kvscope
