#pragma once

#include "engine/checkpoint/model_config.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <filesystem>
#include <string>
#include <vector>

namespace kvscope {

/// A weight that is being learned; the name is the checkpoint's.
struct TrainingParameter
{
    std::string name;    ///< "blocks.0.attn.q_proj.weight"
    at::Tensor value;    ///< float32, a leaf that requires a gradient
    bool decays = false; ///< matrices do; gains and sinks do not
};

/// One expert's matrices, by index into TrainingParameters::all().
struct ExpertParameters
{
    std::size_t gate = 0; ///< w1
    std::size_t down = 0; ///< w2
    std::size_t up = 0;   ///< w3
};

/// A block's weights, by index into TrainingParameters::all().
struct BlockParameters
{
    std::size_t attentionNorm = 0;
    std::size_t query = 0;
    std::size_t keyValue = 0; ///< [2, Hkv, D] fused
    std::size_t output = 0;
    std::size_t sink = 0;
    std::size_t feedForwardNorm = 0;
    std::size_t router = 0;
    std::vector<ExpertParameters> experts;
    std::vector<ExpertParameters> shared;
};

/// The weights of a GPT-OSS-Lite model under training, with the tensor names of its checkpoints.
/// The head is tied to the embedding.
class TrainingParameters
{
public:
    /// Random: matrices normal with deviation `initDeviation`, those that write into the residual
    /// stream (o_proj, w2) with that over sqrt(2 layers); gains 1, sinks 0. The same seed gives the
    /// same numbers.
    ///
    /// Global layers begin as finders: their queries are their keys (times 1.5), so that a head
    /// looks for what is like the token it stands at and those before it, and their outputs are
    /// their values turned round (times 0.5), so that it writes what it reads. From random
    /// matrices they were not seen to take part within 5 million tokens (docs/training.md).
    /// After Trockman and Kolter 2023 (2305.09828), "Mimetic initialization".
    /// \throws ArgumentError for a configuration of another family or with a head of its own
    TrainingParameters(const ModelConfig& config, double initDeviation, std::uint64_t seed);

    const std::vector<TrainingParameter>& all() const { return m_all; }
    const at::Tensor& operator[](std::size_t index) const { return m_all[index].value; }
    const std::vector<BlockParameters>& blocks() const { return m_blocks; }
    std::size_t embedding() const { return m_embedding; }
    std::size_t lastNorm() const { return m_lastNorm; }

private:
    std::vector<TrainingParameter> m_all;
    std::vector<BlockParameters> m_blocks;
    std::size_t m_embedding = 0;
    std::size_t m_lastNorm = 0;
};

/// A tensor under its name in a safetensors file.
struct NamedTensor
{
    std::string name;
    at::Tensor value; ///< float32 or bfloat16, as it is written
};
/// Copies the tensors of a safetensors file into tensors of these names, which are float32.
/// \throws CheckpointError where one is missing or of another shape
void loadTensors(const std::vector<NamedTensor>& tensors, const std::filesystem::path& file);
/// The same into the parameters.
void loadParameters(const TrainingParameters& parameters, const std::filesystem::path& file);
/// \throws EngineError as SafetensorsWriter
void writeTensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors);

} // namespace kvscope
