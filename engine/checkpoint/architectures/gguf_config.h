#pragma once

#include "engine/checkpoint/gguf_file.h"
#include "engine/checkpoint/model_config.h"
#include "engine/checkpoint/model_tensors.h"
#include "engine/checkpoint/tensor_binder.h"

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace kvscope {

/// The metadata of a GGUF file whose keys begin with its architecture's name ("llama.").
class GgufSection
{
public:
    explicit GgufSection(const GgufFile& file);

    const GgufFile& file() const { return m_file; }
    std::string key(std::string_view name) const { return m_prefix + std::string(name); }
    /// Nothing where missing. \throws CheckpointError where the value has another type
    std::optional<std::int64_t> count(std::string_view name) const;
    std::optional<double> number(std::string_view name) const;
    std::optional<bool> flag(std::string_view name) const;
    const std::string* text(std::string_view name) const;
    /// \throws CheckpointError where missing, too
    std::int64_t requireCount(std::string_view name) const;
    double requireNumber(std::string_view name) const;
    /// A number, or a list with one for each layer, which must all be the same.
    std::optional<std::int64_t> uniformCount(std::string_view name) const;
    [[noreturn]] void fail(std::string_view name, const std::string& why) const;

private:
    const GgufFile& m_file;
    std::string m_prefix;
};

/// What all architectures share: sizes, heads, layers, positions, rotation, experts, tied head
/// where there is no output.weight; biases and query/key norms by the tensors that are there.
/// Rotary pairs are half a head apart. Source: ggml docs/gguf.md; llama.cpp src/llama-arch.cpp for
/// keys. \param epsilonKey  which norm's epsilon to read
ModelConfig readCommonGguf(const GgufSection& section,
                           std::string_view epsilonKey = "attention.layer_norm_rms_epsilon");

/// attention.sliding_window for every layer, where it is set.
void readGgufWindow(const GgufSection& section, ModelConfig& model);

/// The rotation: keys rope.freq_base, rope.dimension_count, rope.scaling.*, and the tensors
/// rope_freqs, rope_factors_short and rope_factors_long.
RotaryConfig readGgufRotary(const GgufSection& section, std::int64_t headDim);

/// Windowed where attention.sliding_window is set and `isWindowed` says so.
/// \param otherwise  what a missing key stands for; 0: no windows
void readGgufWindows(const GgufSection& section,
                     const std::function<bool(std::int64_t layer)>& isWindowed, ModelConfig& model,
                     std::int64_t otherwise = 0);

/// Names that all architectures share (`blk.N.attn_q.weight`, ...), asked for as the configuration
/// says; fused matrices where they are there in place of separate ones.
/// \throws CheckpointError naming missing, unexpected and mis-shaped tensors
ModelTensors bindGguf(const ModelConfig& config, TensorBinder& binder);

} // namespace kvscope
