#include "engine/checkpoint/error_text.h"
#include "engine/checkpoint/model_config.h"

#include <cmath>
#include <sstream>

namespace kvscope {
namespace {

// Generous for any model there is, and small enough that no product of a shape's parts overflows:
// layers * experts * 3 * width * feed-forward <= 2^60.
constexpr std::int64_t kMaxVocabulary = std::int64_t{1} << 26;
constexpr std::int64_t kMaxWidth = std::int64_t{1} << 18;
constexpr std::int64_t kMaxFeedForward = std::int64_t{1} << 20;
constexpr std::int64_t kMaxHeads = std::int64_t{1} << 12;
constexpr std::int64_t kMaxHeadDim = std::int64_t{1} << 12;
constexpr std::int64_t kMaxLayers = std::int64_t{1} << 10;
constexpr std::int64_t kMaxExperts = std::int64_t{1} << 9;
constexpr std::int64_t kMaxPositions = std::int64_t{1} << 40;

class Validator
{
public:
    explicit Validator(std::string_view file)
        : m_file(file)
    {
    }

    void range(std::string_view what, std::int64_t value, std::int64_t least,
               std::int64_t most) const
    {
        if (value < least || value > most)
            failIn(m_file, std::string(what) + " is " + std::to_string(value) + "; " +
                               std::to_string(least) + " to " + std::to_string(most) +
                               " was expected");
    }
    void positive(std::string_view what, double value, double most) const
    {
        if (std::isfinite(value) && value > 0.0 && value <= most)
            return;
        std::ostringstream text;
        text << what << " is " << value << "; a number above 0, at most " << most
             << ", was expected";
        failIn(m_file, text.str());
    }
    void require(bool isRight, const std::string& why) const
    {
        if (!isRight)
            failIn(m_file, why);
    }

private:
    std::string_view m_file;
};

void checkRotary(const ModelConfig& config, const Validator& check)
{
    const RotaryConfig& rotary = config.rotary;
    check.positive("the rotary base", rotary.base, 1e15);
    check.positive("the rotary scale", rotary.scale, 1e6);
    if (rotary.scheme == RotaryScheme::GptOssLite) {
        check.range("the number of positions before extension", rotary.originalPositions, 1,
                    kMaxPositions);
        check.positive("the ramp's fast end", rotary.betaFast, 1e9);
        check.positive("the ramp's slow end", rotary.betaSlow, 1e9);
    }
    const auto numDivisors = static_cast<std::int64_t>(rotary.frequencyDivisors.size());
    check.require(numDivisors == 0 || numDivisors == config.headDim / 2,
                  std::to_string(numDivisors) + " rotary frequency divisors for heads of " +
                      std::to_string(config.headDim));
    for (const float divisor : rotary.frequencyDivisors)
        check.positive("a rotary frequency divisor", divisor, 1e9);
}

void checkExperts(const MoEConfig& experts, const Validator& check)
{
    check.range("the number of experts", experts.numExperts, 1, kMaxExperts);
    check.range("the number of active experts", experts.numActive, 1, experts.numExperts);
    check.range("the number of shared experts", experts.numShared, 0, kMaxExperts);
}

void checkLayers(const ModelConfig& config, const Validator& check)
{
    check.range("the number of layers", config.numLayers(), 1, kMaxLayers);
    for (const LayerConfig& layer : config.layers) {
        if (layer.kind == LayerKind::Windowed)
            check.range("the window", layer.window, 1, kMaxPositions);
        check.range("the number of unrotated pairs", layer.identityPairs, 0, config.headDim / 2);
    }
}

} // namespace

void validate(const ModelConfig& config, std::string_view file)
{
    const Validator check(file);
    check.range("the vocabulary size", config.vocabularySize, 1, kMaxVocabulary);
    check.range("the model width", config.modelWidth, 1, kMaxWidth);
    check.range("the feed-forward size", config.feedForwardDim, 1, kMaxFeedForward);
    check.range("the number of query heads", config.numHeads, 1, kMaxHeads);
    check.range("the number of key/value heads", config.numKvHeads, 1, kMaxHeads);
    check.range("the head size", config.headDim, 2, kMaxHeadDim);
    check.require(config.headDim % 2 == 0,
                  "the head size is " + std::to_string(config.headDim) + "; it must be even");
    check.require(config.numHeads % config.numKvHeads == 0,
                  std::to_string(config.numHeads) + " query heads cannot share " +
                      std::to_string(config.numKvHeads) + " key/value heads evenly");
    check.positive("the norms' epsilon", config.normEpsilon, 1.0);
    check.range("the number of trained positions", config.trainedPositions, 0, kMaxPositions);
    check.range("the number of extended positions", config.extendedPositions, 0, kMaxPositions);
    if (config.experts)
        checkExperts(*config.experts, check);
    checkLayers(config, check);
    checkRotary(config, check);
}

} // namespace kvscope
