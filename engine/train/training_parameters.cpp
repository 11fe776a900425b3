#include "engine/train/training_parameters.h"

#include "engine/base/errors.h"
#include "engine/checkpoint/safetensors.h"
#include "engine/checkpoint/safetensors_writer.h"

#include <ATen/CPUGeneratorImpl.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/ones.h>
#include <ATen/ops/zeros.h>
#include <c10/core/GradMode.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <utility>

namespace kvscope {
namespace {

// Of queries as keys and of outputs as values, where a global layer begins. Five settings were
// tried (1 to 2, 0 to 0.6; docs/training.md); all learned, this one among the soonest.
constexpr double kLikeness = 1.5;
constexpr double kCopying = 0.5;

/// Makes parameters one after another, all random numbers from one generator.
class Maker
{
public:
    Maker(double deviation, std::int64_t numLayers, std::uint64_t seed)
        : m_deviation(deviation)
        , m_residualDeviation(deviation / std::sqrt(2.0 * static_cast<double>(numLayers)))
        , m_generator(at::detail::createCPUGenerator(seed))
    {
    }

    std::size_t matrix(std::string name, std::int64_t rows, std::int64_t columns)
    {
        return random(std::move(name), rows, columns, m_deviation);
    }
    /// Each query head looks for what is like the token it stands at.
    std::size_t lookingForLike(std::string name, std::size_t keyValue, const ModelConfig& config)
    {
        return add(std::move(name), headsOf(keyValue, 0, config).mul(kLikeness).flatten(0, 1),
                   true);
    }
    /// Each head writes what it reads, so that the tied head makes the same token likelier.
    std::size_t copying(std::string name, std::size_t keyValue, const ModelConfig& config)
    {
        const std::int64_t keyRows = config.numKvHeads * config.headDim;
        return add(std::move(name),
                   headsOf(keyValue, keyRows, config).mul(kCopying).flatten(0, 1).t().contiguous(),
                   true);
    }
    std::size_t residualMatrix(std::string name, std::int64_t rows, std::int64_t columns)
    {
        return random(std::move(name), rows, columns, m_residualDeviation);
    }
    std::size_t gain(std::string name, std::int64_t count)
    {
        return add(std::move(name), at::ones({count}, at::kFloat), false);
    }
    std::size_t sink(std::string name, std::int64_t count)
    {
        return add(std::move(name), at::zeros({count}, at::kFloat), false);
    }
    ExpertParameters expert(const std::string& prefix, const ModelConfig& config)
    {
        const std::int64_t width = config.modelWidth, inner = config.feedForwardDim;
        ExpertParameters made;
        made.gate = matrix(prefix + "w1.weight", inner, width);
        made.down = residualMatrix(prefix + "w2.weight", width, inner);
        made.up = matrix(prefix + "w3.weight", inner, width);
        return made;
    }
    std::vector<TrainingParameter> take() { return std::move(m_all); }

private:
    /// The key or value heads of a kv_proj, one for each query head, [H, D, E].
    at::Tensor headsOf(std::size_t keyValue, std::int64_t firstRow, const ModelConfig& config) const
    {
        return m_all[keyValue]
            .value.detach()
            .slice(0, firstRow, firstRow + config.numKvHeads * config.headDim)
            .view({config.numKvHeads, config.headDim, config.modelWidth})
            .repeat_interleave(config.numHeads / config.numKvHeads, 0);
    }
    std::size_t random(std::string name, std::int64_t rows, std::int64_t columns, double deviation)
    {
        at::Tensor value = at::empty({rows, columns}, at::kFloat);
        value.normal_(0.0, deviation, m_generator);
        return add(std::move(name), std::move(value), true);
    }
    std::size_t add(std::string name, at::Tensor value, bool decays)
    {
        m_all.push_back({std::move(name), std::move(value), decays});
        m_all.back().value.requires_grad_();
        return m_all.size() - 1;
    }

    double m_deviation;
    double m_residualDeviation;
    at::Generator m_generator;
    std::vector<TrainingParameter> m_all;
};

BlockParameters makeBlock(Maker& make, const ModelConfig& config, std::int64_t layer)
{
    const std::string prefix = "blocks." + std::to_string(layer) + ".";
    const std::int64_t width = config.modelWidth;
    const std::int64_t queryWidth = config.numHeads * config.headDim;
    BlockParameters block;
    block.attentionNorm = make.gain(prefix + "norm1.weight", width);
    block.keyValue =
        make.matrix(prefix + "attn.kv_proj.weight", 2 * config.numKvHeads * config.headDim, width);
    const bool isGlobal = config.layers[static_cast<std::size_t>(layer)].kind == LayerKind::Global;
    const std::string query = prefix + "attn.q_proj.weight";
    block.query = isGlobal ? make.lookingForLike(query, block.keyValue, config)
                           : make.matrix(query, queryWidth, width);
    const std::string output = prefix + "attn.o_proj.weight";
    block.output = isGlobal ? make.copying(output, block.keyValue, config)
                            : make.residualMatrix(output, width, queryWidth);
    block.sink = make.sink(prefix + "attn.sink_bias", config.numHeads);
    block.feedForwardNorm = make.gain(prefix + "norm2.weight", width);
    block.router =
        make.matrix(prefix + "moe.router.gate.weight", config.experts->numExperts, width);
    for (std::int64_t e = 0; e < config.experts->numExperts; ++e)
        block.experts.push_back(
            make.expert(prefix + "moe.experts." + std::to_string(e) + ".", config));
    for (std::int64_t s = 0; s < config.experts->numShared; ++s)
        block.shared.push_back(
            make.expert(prefix + "moe.shared_experts." + std::to_string(s) + ".", config));
    return block;
}

std::vector<std::int64_t> shapeOf(const at::Tensor& tensor)
{
    return tensor.sizes().vec();
}

} // namespace

TrainingParameters::TrainingParameters(const ModelConfig& config, double initDeviation,
                                       std::uint64_t seed)
{
    if (config.architecture != "gpt-oss-lite" || !config.experts || !config.hasTiedHead)
        throw ArgumentError("training makes GPT-OSS-Lite models with a tied head, not " +
                            config.architecture);
    Maker make(initDeviation, config.numLayers(), seed);
    m_embedding = make.matrix("embed.weight", config.vocabularySize, config.modelWidth);
    for (std::int64_t i = 0; i < config.numLayers(); ++i)
        m_blocks.push_back(makeBlock(make, config, i));
    m_lastNorm = make.gain("norm.weight", config.modelWidth);
    m_all = make.take();
}

void loadTensors(const std::vector<NamedTensor>& tensors, const std::filesystem::path& file)
{
    const c10::NoGradGuard noGradient;
    const auto stored = readSafetensors(file);
    for (const NamedTensor& tensor : tensors) {
        const TensorInfo* found = stored->find(tensor.name);
        const auto fail = [&](const std::string& what) {
            throw CheckpointError(file.string() + ": tensor " + tensor.name + " " + what);
        };
        if (found == nullptr)
            fail("is missing");
        if (found->shape != shapeOf(tensor.value))
            fail("has another shape than the model under training");
        if (found->type != StorageType::F32)
            fail("is not float32, which training goes on from");
        std::memcpy(tensor.value.mutable_data_ptr<float>(), found->data.data(), found->data.size());
    }
}

void loadParameters(const TrainingParameters& parameters, const std::filesystem::path& file)
{
    std::vector<NamedTensor> tensors;
    for (const TrainingParameter& parameter : parameters.all())
        tensors.push_back({parameter.name, parameter.value});
    loadTensors(tensors, file);
}

void writeTensors(const std::filesystem::path& file, const std::vector<NamedTensor>& tensors)
{
    std::vector<SafetensorsWriter::Tensor> header;
    for (const NamedTensor& tensor : tensors)
        header.push_back(
            {tensor.name,
             tensor.value.scalar_type() == at::kBFloat16 ? StorageType::BF16 : StorageType::F32,
             shapeOf(tensor.value)});
    SafetensorsWriter writer(file, header);
    for (const NamedTensor& tensor : tensors) {
        const at::Tensor whole = tensor.value.detach().contiguous();
        writer.write({static_cast<const std::byte*>(whole.const_data_ptr()),
                      static_cast<std::size_t>(whole.nbytes())});
    }
    writer.finish();
}

} // namespace kvscope
