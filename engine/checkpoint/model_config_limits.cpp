#include "engine/checkpoint/architectures/layer_list.h"
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

/// The numbers of one scheme; `numPairs` is how many divisors a list must have.
class SchemeChecker
{
public:
    SchemeChecker(const Validator& check, std::int64_t numPairs)
        : m_check(check)
        , m_numPairs(numPairs)
    {
    }

    void operator()(const PlainRotary&) const {}
    void operator()(const LinearRotary& linear) const { factor(linear.factor); }
    void operator()(const DynamicRotary& dynamic) const
    {
        factor(dynamic.factor);
        positions(dynamic.originalPositions);
        m_check.require(m_numPairs > 1, "dynamic rotary scaling needs heads of more than 2");
    }
    void operator()(const YarnRotary& yarn) const
    {
        factor(yarn.factor);
        positions(yarn.originalPositions);
        ramp(yarn.betaFast, yarn.betaSlow);
        m_check.positive("the attention factor", yarn.attentionFactor, 1e3);
    }
    void operator()(const Llama3Rotary& llama3) const
    {
        factor(llama3.factor);
        positions(llama3.originalPositions);
        m_check.positive("the low frequency factor", llama3.lowFrequencyFactor, 1e6);
        m_check.positive("the high frequency factor", llama3.highFrequencyFactor, 1e6);
        m_check.require(llama3.highFrequencyFactor > llama3.lowFrequencyFactor,
                        "the high frequency factor is not above the low one");
    }
    void operator()(const LongRotary& longRotary) const
    {
        factor(longRotary.factor);
        m_check.range("the number of positions before extension", longRotary.originalPositions, 2,
                      kMaxPositions);
        divisors(longRotary.shortDivisors, "short");
        divisors(longRotary.longDivisors, "long");
        m_check.positive("the attention factor", longRotary.attentionFactor, 1e3);
    }
    void operator()(const GptOssLiteRotary& yarn) const
    {
        factor(yarn.factor);
        positions(yarn.originalPositions);
        ramp(yarn.betaFast, yarn.betaSlow);
    }

    void divisors(const std::vector<float>& list, const std::string& kind) const
    {
        m_check.require(static_cast<std::int64_t>(list.size()) == m_numPairs,
                        std::to_string(list.size()) + " " + kind +
                            " rotary frequency divisors for " + std::to_string(m_numPairs) +
                            " pairs");
        for (const float divisor : list)
            m_check.positive("a rotary frequency divisor", divisor, 1e9);
    }

private:
    void factor(double factor) const { m_check.positive("the rotary scale", factor, 1e6); }
    void positions(std::int64_t count) const
    {
        m_check.range("the number of positions before extension", count, 1, kMaxPositions);
    }
    void ramp(double fast, double slow) const
    {
        m_check.positive("the ramp's fast end", fast, 1e9);
        m_check.positive("the ramp's slow end", slow, 1e9);
    }

    const Validator& m_check;
    std::int64_t m_numPairs;
};

void checkRotary(const RotaryConfig& rotary, std::int64_t headDim, const Validator& check)
{
    check.positive("the rotary base", rotary.base, 1e15);
    check.range("the rotated part of a head", rotary.dim(headDim), 2, headDim);
    check.require(rotary.dim(headDim) % 2 == 0, "the rotated part of a head is " +
                                                    std::to_string(rotary.dim(headDim)) +
                                                    "; it must be even");
    const SchemeChecker checker(check, rotary.dim(headDim) / 2);
    std::visit(checker, rotary.scheme);
    if (!rotary.frequencyDivisors.empty())
        checker.divisors(rotary.frequencyDivisors, "stored");
}

void checkExperts(const ModelConfig& config, const Validator& check)
{
    const MoEConfig& experts = *config.experts;
    check.range("the number of experts", experts.numExperts, 1, kMaxExperts);
    check.range("the number of active experts", experts.numActive, 1, experts.numExperts);
    check.range("the number of shared experts", experts.numShared, 0, kMaxExperts);
    check.range("the experts' feed-forward size", config.expertDim(), 1, kMaxFeedForward);
    check.range("the shared experts' feed-forward size", config.sharedExpertDim(), 1,
                kMaxFeedForward);
}

/// Scales and caps: what would turn every number into another of no use.
void checkScales(const ModelConfig& config, const Validator& check)
{
    check.positive("the embedding scale", config.embeddingScale, 1e6);
    check.positive("the residual scale", config.residualScale, 1e6);
    check.positive("the logit scale", config.logitScale, 1e6);
    check.positive("the attention scale", config.scoreScale(), 1e6);
    for (const double cap : {config.attentionSoftCap, config.finalSoftCap})
        check.require(std::isfinite(cap) && cap >= 0.0, "a soft cap is not a number from 0 up");
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
        checkExperts(config, check);
    checkLayers(config, check);
    checkRotary(config.rotary, config.headDim, check);
    if (config.windowedRotary)
        checkRotary(*config.windowedRotary, config.headDim, check);
    if (config.hasLearnedPositions)
        check.range("the number of learned positions", config.trainedPositions, 1, kMaxVocabulary);
    checkScales(config, check);
}

} // namespace kvscope
