#include "engine/model/rotary_override.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/checkpoint/checkpoint.h"

#include <array>
#include <charconv>
#include <cmath>
#include <cstdio>
#include <utility>

namespace kvscope {
namespace {

double parsedFactor(const std::string& choice, std::size_t at)
{
    double factor = 0.0;
    const char* end = choice.data() + choice.size();
    const auto [stop, error] = std::from_chars(choice.data() + at, end, factor);
    if (error != std::errc() || stop != end || !std::isfinite(factor) || factor < 1.0)
        throw ArgumentError("rotary override '" + choice +
                            "' needs a factor of 1 or more, as in linear:2");
    return factor;
}

std::string number(double value)
{
    std::array<char, 32> text{};
    std::snprintf(text.data(), text.size(), "%g", value);
    return text.data();
}

} // namespace

void overrideRotary(ModelConfig& config, const std::string& choice)
{
    constexpr std::string_view kLinear = "linear:";
    RotaryConfig& rotary = config.rotary;
    if (choice == "plain") {
        rotary.scheme = RotaryScheme::Plain;
        rotary.scale = 1.0;
        rotary.frequencyDivisors.clear();
    } else if (choice.starts_with(kLinear)) {
        rotary.scale = parsedFactor(choice, kLinear.size());
        rotary.scheme = RotaryScheme::Linear;
        rotary.frequencyDivisors.clear();
    } else {
        throw ArgumentError("rotary override '" + choice + "' is not one of plain, linear:F");
    }
    config.extendedPositions = static_cast<std::int64_t>(
        std::llround(static_cast<double>(config.trainedPositions) * rotary.scale));
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

std::string rotaryText(const RotaryConfig& rotary)
{
    const std::string base = "base " + number(rotary.base);
    const std::string pairs =
        rotary.pairing == RotaryPairing::Adjacent ? ", adjacent pairs" : ", half pairs";
    switch (rotary.scheme) {
    case RotaryScheme::Plain:
        return (rotary.frequencyDivisors.empty() ? "plain, " : "plain with the file's divisors, ") +
               base + pairs;
    case RotaryScheme::Linear:
        return "linear x" + number(rotary.scale) + ", " + base + pairs;
    case RotaryScheme::GptOssLite:
        return "gpt-oss-lite YaRN x" + number(rotary.scale) + " from " +
               formatCount(rotary.originalPositions) + ", " + base + pairs;
    }
    return base;
}

} // namespace kvscope
