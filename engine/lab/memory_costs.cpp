#include "engine/lab/memory_costs.h"

#include "engine/base/errors.h"

#include <algorithm>
#include <initializer_list>
#include <limits>
#include <string>

namespace kvscope {
namespace {

constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();

[[noreturn]] void throwTooMany()
{
    throw ArgumentError("The limits cannot count more than 2^63 bytes; a length is too large.");
}

std::uint64_t checkedProduct(std::initializer_list<std::int64_t> factors)
{
    std::int64_t product = 1;
    for (const std::int64_t factor : factors)
        if (__builtin_mul_overflow(product, factor, &product))
            throwTooMany();
    return static_cast<std::uint64_t>(product);
}

void check(std::int64_t tokens, std::int64_t elementBytes)
{
    if (tokens < 1)
        throw ArgumentError("A context length must be at least 1 token, got " +
                            std::to_string(tokens) + ".");
    if (elementBytes < 1)
        throw ArgumentError("An element must have at least 1 byte, got " +
                            std::to_string(elementBytes) + ".");
}

std::int64_t keptPositions(const LayerConfig& layer, std::int64_t tokens)
{
    return layer.kind == LayerKind::Windowed ? std::min(tokens, layer.window) : tokens;
}

/// Positions that all windowed layers keep together.
std::int64_t windowedPositions(const ModelConfig& config, std::int64_t tokens)
{
    std::int64_t positions = 0;
    for (const LayerConfig& layer : config.layers)
        if (layer.kind == LayerKind::Windowed &&
            __builtin_add_overflow(positions, keptPositions(layer, tokens), &positions))
            throwTooMany();
    return positions;
}

/// Whether a cache of `tokens` fits; what cannot be counted does not.
bool fits(const ModelConfig& config, std::int64_t tokens, std::uint64_t available,
          const CacheNumbers& numbers)
{
    const auto perPosition = static_cast<std::uint64_t>(config.cacheBytesPerToken(numbers));
    std::uint64_t left = available / perPosition; // positions over all layers
    for (const LayerConfig& layer : config.layers) {
        const auto kept = static_cast<std::uint64_t>(keptPositions(layer, tokens));
        if (kept > left)
            return false;
        left -= kept;
    }
    return true;
}

} // namespace

KVBytes kvBytes(const ModelConfig& config, std::int64_t tokens, const CacheNumbers& numbers)
{
    check(tokens, numbers.elementBytes);
    const std::int64_t perPosition = config.cacheBytesPerToken(numbers);
    // The largest of the figures, so that the others cannot overflow.
    const std::int64_t sharing = config.numHeads / config.numKvHeads;
    checkedProduct({perPosition, sharing, config.numLayers(), tokens});
    KVBytes bytes;
    bytes.global = checkedProduct({perPosition, config.numLayers(LayerKind::Global), tokens});
    bytes.windowed = checkedProduct({perPosition, windowedPositions(config, tokens)});
    bytes.everyLayerFull = checkedProduct({perPosition, config.numLayers(), tokens});
    bytes.unshared = bytes.total() * static_cast<std::uint64_t>(sharing);
    return bytes;
}

ContextFit longestContext(const ModelConfig& config, std::uint64_t budgetBytes,
                          std::uint64_t weightBytes, const CacheNumbers& numbers)
{
    check(1, numbers.elementBytes);
    if (weightBytes > budgetBytes)
        return {.weightsFit = false};
    const std::uint64_t available = budgetBytes - weightBytes;
    if (fits(config, kMost, available, numbers))
        return {.isUnbounded = true, .tokens = kMost};
    std::int64_t fitting = 0;
    std::int64_t tooLong = kMost;
    while (tooLong - fitting > 1) {
        const std::int64_t middle = fitting + (tooLong - fitting) / 2;
        (fits(config, middle, available, numbers) ? fitting : tooLong) = middle;
    }
    return {.tokens = fitting};
}

std::uint64_t allLogitsBytes(const ModelConfig& config, std::int64_t tokens,
                             std::int64_t elementBytes)
{
    check(tokens, elementBytes);
    return checkedProduct({config.vocabularySize, tokens, elementBytes});
}

double scoresBytes(const ModelConfig& config, std::int64_t tokens, std::int64_t elementBytes)
{
    check(tokens, elementBytes);
    const auto count = static_cast<double>(tokens);
    return count * count * static_cast<double>(config.numHeads * elementBytes);
}

std::uint64_t activationBytes(const ModelConfig& config, std::int64_t tokens)
{
    const std::int64_t inner =
        config.experts ? config.experts->numActive * config.expertDim() + config.sharedExpertDim()
                       : config.feedForwardDim;
    const std::int64_t floats = 4 * config.modelWidth + 3 * inner +
                                (2 * config.numHeads + 2 * config.numKvHeads) * config.headDim;
    return static_cast<std::uint64_t>(tokens) * static_cast<std::uint64_t>(floats) * sizeof(float);
}

double concatenationBytes(const ModelConfig& config, std::int64_t tokens,
                          const CacheNumbers& numbers)
{
    check(tokens, numbers.elementBytes);
    const auto count = static_cast<double>(tokens);
    return count * (count - 1.0) / 2.0 * static_cast<double>(config.cacheBytesPerToken(numbers)) *
           static_cast<double>(config.numLayers());
}

} // namespace kvscope
