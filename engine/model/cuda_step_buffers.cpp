#include "engine/model/cuda_step_buffers.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <cstring>

namespace kvscope {
namespace {

/// Experts that a token visits in one layer.
std::int64_t visitsOf(const ModelConfig& config)
{
    return config.experts ? config.experts->numActive + config.experts->numShared : 1;
}

/// Of all feed-forwards of a layer side by side; shared experts follow when routed ones are done.
std::int64_t hiddenOf(const ModelConfig& config)
{
    std::int64_t width = config.feedForwardDim;
    if (config.experts)
        width = std::max(
            {width, config.experts->numActive * config.expertDim(), config.sharedExpertDim()});
    return width;
}

} // namespace

CudaStepBuffers::CudaStepBuffers(const ModelConfig& config,
                                 std::span<const std::size_t> rotaryOfLayer, at::Device device)
{
    const auto make = [&](std::int64_t count, at::ScalarType type = at::kFloat) {
        return at::empty({count}, at::TensorOptions(type).device(device));
    };
    x = make(config.modelWidth);
    q = make(config.numHeads * config.headDim);
    k = make(config.numKvHeads * config.headDim);
    v = make(config.numKvHeads * config.headDim);
    turned = make(config.numHeads * config.headDim);
    mixed = make(config.numHeads * config.headDim);
    gate = make(hiddenOf(config));
    up = make(hiddenOf(config));
    parts = make(visitsOf(config) * config.modelWidth);
    router = make(config.experts ? config.experts->numExperts + 1 : 1);
    chosen = make(visitsOf(config), at::kInt);
    shares = make(visitsOf(config));
    logits = make(config.vocabularySize).view({1, 1, -1});

    std::size_t bytes = sizeof(StepToken);
    for (std::size_t layer = 0; layer < rotaryOfLayer.size(); ++layer) {
        const std::size_t number = rotaryOfLayer[layer];
        m_pairs.resize(std::max(m_pairs.size(), number + 1));
        m_pairs[number] = config.rotaryOf(config.layers[layer]).dim(config.headDim) / 2;
    }
    for (const std::int64_t pairs : m_pairs)
        bytes += static_cast<std::size_t>(2 * pairs) * sizeof(float);
    m_onHost.resize(bytes);
    m_input = make(static_cast<std::int64_t>(bytes), at::kByte);
}

void CudaStepBuffers::setToken(const StepToken& token, std::span<const RotaryRows> rows)
{
    std::byte* to = m_onHost.data();
    const auto put = [&to](const void* from, std::size_t bytes) {
        std::memcpy(to, from, bytes);
        to += bytes;
    };
    put(&token, sizeof token);
    for (const RotaryRows& row : rows) {
        put(row.cos.const_data_ptr<float>(), row.cos.nbytes());
        put(row.sin.const_data_ptr<float>(), row.sin.nbytes());
    }
    TORCH_CHECK(to == m_onHost.data() + m_onHost.size(), "the rotations of a step have changed");
    // Waits, since m_onHost is written again with the next step: for memory that is not pinned CUDA
    // promises nothing else. Who reads a step's logits has waited for it anyway.
    m_input.copy_(at::from_blob(m_onHost.data(), m_input.sizes(), at::kByte));
}

const StepToken* CudaStepBuffers::token() const
{
    return static_cast<const StepToken*>(m_input.const_data_ptr());
}

CudaStepBuffers::Rotation CudaStepBuffers::rotation(std::size_t number) const
{
    const auto* first = reinterpret_cast<const float*>(token() + 1);
    for (std::size_t before = 0; before < number; ++before)
        first += 2 * m_pairs[before];
    return {first, first + m_pairs[number], m_pairs[number]};
}

} // namespace kvscope
