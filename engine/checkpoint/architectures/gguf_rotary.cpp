#include "engine/checkpoint/architectures/gguf_config.h"
#include "engine/checkpoint/error_text.h"

#include <cmath>
#include <cstring>

namespace kvscope {
namespace {

constexpr std::int64_t kMostPairs = 2048; // validate() allows no wider heads

/// One F32 number for each rotary pair; empty where there is no such tensor. Another count is
/// refused before anything is copied: a sparse file can claim any.
std::vector<float> readDivisors(const GgufFile& file, std::string_view name, std::int64_t numPairs)
{
    const TensorInfo* tensor = file.findTensor(name);
    if (tensor == nullptr)
        return {};
    if (tensor->type != StorageType::F32 || tensor->shape.size() != 1)
        failIn(file.name(), std::string(name) + " is " + std::string(storageName(tensor->type)) +
                                " " + shapeText(tensor->shape) +
                                "; one F32 number per rotary pair was expected");
    if (tensor->shape[0] != numPairs || numPairs > kMostPairs)
        failIn(file.name(), std::string(name) + " has " + std::to_string(tensor->shape[0]) +
                                " stored rotary frequency divisors for " +
                                std::to_string(numPairs) + " pairs");
    std::vector<float> divisors(tensor->data.size() / sizeof(float));
    std::memcpy(divisors.data(), tensor->data.data(), tensor->data.size());
    return divisors;
}

std::int64_t originalPositions(const GgufSection& section)
{
    return section.count("rope.scaling.original_context_length")
        .value_or(section.count("context_length").value_or(0));
}

RotaryScheme readYarn(const GgufSection& section, double factor)
{
    YarnRotary yarn;
    yarn.factor = factor;
    yarn.originalPositions = originalPositions(section);
    yarn.betaFast = section.number("rope.scaling.yarn_beta_fast").value_or(32.0);
    yarn.betaSlow = section.number("rope.scaling.yarn_beta_slow").value_or(1.0);
    const double given = section.number("rope.scaling.attn_factor").value_or(1.0);
    yarn.attentionFactor = given * (factor > 1.0 ? 0.1 * std::log(factor) + 1.0 : 1.0);
    return yarn;
}

/// Phi-3's: the divisors are tensors, the magnitude is attn_factor or follows from the lengths.
RotaryScheme readLongRope(const GgufSection& section, std::vector<float> shortDivisors,
                          std::int64_t numPairs)
{
    LongRotary rotary;
    rotary.shortDivisors = std::move(shortDivisors);
    rotary.longDivisors = readDivisors(section.file(), "rope_factors_long.weight", numPairs);
    rotary.originalPositions = originalPositions(section);
    const auto original = static_cast<double>(rotary.originalPositions);
    rotary.factor =
        original > 0.0 ? static_cast<double>(section.count("context_length").value_or(0)) / original
                       : 1.0;
    const double computed = rotary.factor > 1.0 && original > 1.0
                                ? std::sqrt(1.0 + std::log(rotary.factor) / std::log(original))
                                : 1.0;
    rotary.attentionFactor = section.number("rope.scaling.attn_factor").value_or(computed);
    return rotary;
}

RotaryScheme readScheme(const GgufSection& section, std::int64_t numPairs)
{
    if (auto divisors = readDivisors(section.file(), "rope_factors_short.weight", numPairs);
        !divisors.empty())
        return readLongRope(section, std::move(divisors), numPairs);
    const std::string* type = section.text("rope.scaling.type");
    // Files of before 2023-11 have the factor alone.
    const double factor = section.number("rope.scaling.factor")
                              .value_or(section.number("rope.scale_linear").value_or(1.0));
    const std::string name = type != nullptr                  ? *type
                             : factor != 0.0 && factor != 1.0 ? "linear"
                                                              : "none";
    if (name == "none")
        return PlainRotary{};
    if (name == "linear")
        return LinearRotary{factor};
    if (name == "yarn")
        return readYarn(section, factor);
    section.fail("rope.scaling.type",
                 "is " + printable(name) + "; none, linear and yarn are read by this version");
}

} // namespace

RotaryConfig readGgufRotary(const GgufSection& section, std::int64_t headDim)
{
    RotaryConfig rotary;
    rotary.base = section.number("rope.freq_base").value_or(10000.0);
    const std::int64_t rotated = section.count("rope.dimension_count").value_or(headDim);
    rotary.scheme = readScheme(section, rotated / 2);
    rotary.frequencyDivisors = readDivisors(section.file(), "rope_freqs.weight", rotated / 2);
    rotary.rotatedDim = rotated == headDim ? 0 : rotated;
    return rotary;
}

} // namespace kvscope
