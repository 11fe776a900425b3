#include "engine/checkpoint/architectures/hugging_face_config.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

/// How much YaRN strengthens attention. Source: Peng et al. 2023, eq. 22; `mscale` is DeepSeek's.
double yarnMagnitude(double factor, double mscale)
{
    return factor <= 1.0 ? 1.0 : 0.1 * mscale * std::log(factor) + 1.0;
}

std::int64_t maxPositionsOf(const ConfigObject& config, const HuggingFaceDefaults& defaults)
{
    return config.wholeNumber("max_position_embeddings").value_or(defaults.maxPositions);
}

/// One rope section together with the keys of the whole configuration that it leans on.
class RotarySection
{
public:
    RotarySection(const ConfigObject& config, const ConfigObject& section,
                  const HuggingFaceDefaults& defaults)
        : m_config(config)
        , m_section(section)
        , m_defaults(defaults)
    {
    }

    std::string type() const
    {
        if (const auto type = m_section.text("rope_type"))
            return *type;
        return m_section.text("type").value_or("default"); // transformers before 4.43
    }

    RotaryScheme scheme() const
    {
        const std::string name = type();
        if (name == "default" || name == "mrope")
            return PlainRotary{};
        if (name == "linear")
            return LinearRotary{m_section.requireNumber("factor")};
        if (name == "dynamic")
            return DynamicRotary{m_section.requireNumber("factor"), maxPositions()};
        if (name == "yarn")
            return yarn();
        if (name == "llama3")
            return Llama3Rotary{.factor = m_section.requireNumber("factor"),
                                .lowFrequencyFactor = m_section.requireNumber("low_freq_factor"),
                                .highFrequencyFactor = m_section.requireNumber("high_freq_factor"),
                                .originalPositions = originalPositions()};
        if (name == "longrope" || name == "su") // "su" in Phi-3's first files
            return longRope();
        m_section.fail(m_section.has("rope_type") ? "rope_type" : "type",
                       "is " + printable(name) +
                           "; default, linear, dynamic, yarn, llama3 and longrope are read by "
                           "this version");
    }

private:
    std::int64_t maxPositions() const { return maxPositionsOf(m_config, m_defaults); }

    /// Phi-3 states it outside the section, and there it counts first.
    std::int64_t originalPositions() const
    {
        if (const auto outside = m_config.wholeNumber("original_max_position_embeddings"))
            return *outside;
        if (m_defaults.originalPositions > 0)
            return m_defaults.originalPositions;
        const auto inside = m_section.wholeNumber("original_max_position_embeddings");
        return inside ? *inside : maxPositions();
    }

    double factor(std::int64_t original) const
    {
        if (const auto stated = m_section.number("factor"))
            return *stated;
        return static_cast<double>(maxPositions()) /
               static_cast<double>(std::max<std::int64_t>(1, original));
    }

    YarnRotary yarn() const
    {
        YarnRotary yarn;
        yarn.originalPositions = originalPositions();
        yarn.factor = factor(yarn.originalPositions);
        yarn.betaFast = m_section.number("beta_fast").value_or(32.0);
        yarn.betaSlow = m_section.number("beta_slow").value_or(1.0);
        yarn.roundsRamp = m_section.flag("truncate").value_or(true);
        const double mscale = m_section.number("mscale").value_or(0.0);
        const double allDim = m_section.number("mscale_all_dim").value_or(0.0);
        const double computed =
            mscale != 0.0 && allDim != 0.0
                ? yarnMagnitude(yarn.factor, mscale) / yarnMagnitude(yarn.factor, allDim)
                : yarnMagnitude(yarn.factor, 1.0);
        yarn.attentionFactor = m_section.number("attention_factor").value_or(computed);
        return yarn;
    }

    std::vector<float> divisors(std::string_view key) const
    {
        const auto list = m_section.numbers(key);
        if (!list)
            m_section.fail(key, "is missing; a list of numbers was expected");
        return {list->begin(), list->end()};
    }

    LongRotary longRope() const
    {
        LongRotary rotary;
        rotary.shortDivisors = divisors("short_factor");
        rotary.longDivisors = divisors("long_factor");
        rotary.originalPositions = originalPositions();
        rotary.factor = factor(rotary.originalPositions);
        const double computed =
            rotary.factor <= 1.0
                ? 1.0
                : std::sqrt(1.0 + std::log(rotary.factor) /
                                      std::log(static_cast<double>(rotary.originalPositions)));
        rotary.attentionFactor = m_section.number("attention_factor").value_or(computed);
        return rotary;
    }

    const ConfigObject& m_config;
    const ConfigObject& m_section;
    const HuggingFaceDefaults& m_defaults;
};

/// 0 where the whole head rotates.
std::int64_t rotatedDim(const ConfigObject& where, double share, std::int64_t headDim)
{
    if (!(share > 0.0 && share <= 1.0))
        where.fail("partial_rotary_factor", "is not above 0 and at most 1");
    const auto dim = static_cast<std::int64_t>(static_cast<double>(headDim) * share);
    return dim == headDim ? 0 : dim;
}

} // namespace

RotaryConfig readRotarySection(const ConfigObject& config, const ConfigObject& section,
                               const HuggingFaceDefaults& defaults, std::int64_t headDim)
{
    RotaryConfig rotary;
    rotary.base = section.number("rope_theta").value_or(defaults.rotaryBase);
    rotary.scheme = RotarySection(config, section, defaults).scheme();
    const auto share = section.number("partial_rotary_factor");
    rotary.rotatedDim =
        rotatedDim(share ? section : config,
                   share.value_or(config.number("partial_rotary_factor").value_or(1.0)), headDim);
    return rotary;
}

ConfigObject rotarySection(const ConfigObject& config)
{
    for (const char* key : {"rope_scaling", "rope_parameters"})
        if (auto section = config.section(key); section && !section->isEmpty())
            return *std::move(section);
    return {nlohmann::json::object(), config.file()};
}

RotaryConfig readRotary(const ConfigObject& config, const HuggingFaceDefaults& defaults,
                        std::int64_t headDim)
{
    const ConfigObject section = rotarySection(config);
    for (const char* kind : {"full_attention", "sliding_attention"})
        if (section.has(kind))
            section.fail(kind, "is there, but this family has one rotation for all layers");
    HuggingFaceDefaults own = defaults;
    own.rotaryBase = config.number("rope_theta").value_or(defaults.rotaryBase);
    return readRotarySection(config, section, own, headDim);
}

void readPositions(const ConfigObject& config, const HuggingFaceDefaults& defaults,
                   ModelConfig& model)
{
    // Where a file does not say what it was extended from, its positions are taken as they are.
    model.extendedPositions = maxPositionsOf(config, defaults);
    model.trainedPositions = model.extendedPositions;
    const auto extendFrom = [&](std::int64_t original, double factor) {
        model.trainedPositions = original;
        // A file may switch YaRN on without raising max_position_embeddings (Qwen's advice).
        const auto aimed = static_cast<double>(original) * factor;
        if (aimed > static_cast<double>(model.extendedPositions) && aimed < 1e15)
            model.extendedPositions = std::llround(aimed);
        model.trainedPositions = std::min(model.trainedPositions, model.extendedPositions);
    };
    // Models that ship with llama3's scaling were trained on with it, to their full length.
    const RotaryScheme& scheme = model.rotary.scheme;
    if (const auto* yarn = std::get_if<YarnRotary>(&scheme))
        extendFrom(yarn->originalPositions, yarn->factor);
    else if (const auto* dynamic = std::get_if<DynamicRotary>(&scheme))
        extendFrom(dynamic->originalPositions, dynamic->factor);
    else if (const auto* longRope = std::get_if<LongRotary>(&scheme))
        model.trainedPositions = std::min(longRope->originalPositions, model.extendedPositions);
}

} // namespace kvscope
