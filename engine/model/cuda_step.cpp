#include "engine/model/cuda_step.h"

#include "engine/cache/open_chunk.h"
#include "engine/model/cuda_step_buffers.h"
#include "engine/model/cuda_step_launches.h"

#include <ATen/ops/empty_like.h>

#include <algorithm>
#include <utility>
#include <vector>

namespace kvscope {
namespace {

/// Where a layer's keys and values lie.
struct LayerPlace
{
    const void* keys;
    const void* values;
    std::int64_t keyHeadStride;
    std::int64_t valueHeadStride;
    std::int64_t capacity;
    at::ScalarType type;

    bool operator==(const LayerPlace&) const = default;
};

std::vector<LayerPlace> placesOf(const MixedKVCache& cache)
{
    std::vector<LayerPlace> places;
    const auto numLayers = static_cast<std::int64_t>(cache.shape().layers.size());
    for (std::int64_t layer = 0; layer < numLayers; ++layer) {
        const KVSlots slots = cache.slots(layer);
        places.push_back({slots.keys.const_data_ptr(), slots.values.const_data_ptr(),
                          slots.keys.stride(1), slots.values.stride(1), slots.capacity(),
                          slots.keys.scalar_type()});
    }
    return places;
}

/// The kernels write where the cache says, so it must be one for this model.
void requireCacheOf(const ModelConfig& config, at::Device device, const MixedKVCache& cache)
{
    const CacheShape& shape = cache.shape();
    TORCH_CHECK(CudaStep::canFill(cache) && cache.options().device() == device &&
                    shape.layers.size() == config.layers.size() &&
                    shape.numKvHeads == config.numKvHeads && shape.headDim == config.headDim,
                "a step on ", device, " of ", config.layers.size(), " layers with ",
                config.numKvHeads, " heads of ", config.headDim,
                " cannot write to this cache: it is on ", cache.options().device(), " for ",
                shape.layers.size(), " layers with ", shape.numKvHeads, " heads of ",
                shape.headDim);
}

bool areAlike(const WeightMatrix& a, const WeightMatrix& b)
{
    return a.type == b.type && a.rows == b.rows && a.cols == b.cols;
}

bool areAlike(const std::vector<FeedForwardWeights>& experts)
{
    return std::ranges::all_of(experts, [&](const FeedForwardWeights& each) {
        const FeedForwardWeights& first = experts.front();
        return areAlike(each.gate.weight, first.gate.weight) &&
               areAlike(each.up.weight, first.up.weight) &&
               areAlike(each.down.weight, first.down.weight);
    });
}

} // namespace

struct CudaStep::Impl
{
    Impl(const ModelConfig& modelConfig, const DecoderWeights& decoderWeights,
         std::span<const std::size_t> rotary, std::unique_ptr<StepRunner> stepRunner)
        : config(modelConfig)
        , weights(decoderWeights)
        , rotaryOfLayer(rotary.begin(), rotary.end())
        , runner(std::move(stepRunner))
        , buffers(config, rotaryOfLayer, weights.embedding.data.device())
    {
        for (const LayerWeights& layer : weights.layers)
            experts.push_back(expertTables(layer));
    }

    const ModelConfig& config;
    const DecoderWeights& weights;
    std::vector<std::size_t> rotaryOfLayer;
    std::unique_ptr<StepRunner> runner;
    CudaStepBuffers buffers;
    std::vector<ExpertTables> experts; ///< by layer
    std::vector<LayerPlace> places;    ///< that `made` is for
    CudaStepLaunches made;
};

bool CudaStep::supports(const ModelConfig& config, const DecoderWeights& weights)
{
    if (config.experts && (config.experts->numExperts > kStepMostExperts ||
                           config.experts->numShared > kStepMostShared))
        return false;
    return config.norm == NormKind::RMS && config.isGated &&
           config.activation != Activation::Gelu && !config.hasLearnedPositions &&
           config.attentionSoftCap == 0.0 && config.headDim % 2 == 0 &&
           config.headDim <= kDecodeMaxHeadDim &&
           config.numHeads / config.numKvHeads <= kDecodeMaxGroup &&
           std::ranges::all_of(weights.layers, [](const LayerWeights& layer) {
               return areAlike(layer.experts.experts);
           });
}

CudaStep::CudaStep(const ModelConfig& config, const DecoderWeights& weights,
                   std::span<const std::size_t> rotaryOfLayer, std::unique_ptr<StepRunner> runner)
    : m_impl(std::make_unique<Impl>(config, weights, rotaryOfLayer, std::move(runner)))
{
}

CudaStep::~CudaStep() = default;

bool CudaStep::canFill(const MixedKVCache& cache)
{
    const CacheShape& shape = cache.shape();
    return shape.batch == 1 &&
           (!hasScales(cache.options().dtype().toScalarType()) || shape.headDim % kScaleBytes == 0);
}

at::Tensor CudaStep::run(std::int64_t id, std::span<const RotaryRows> rows, MixedKVCache& cache,
                         const std::stop_token& stop)
{
    if (stop.stop_requested())
        throw Stopped{};
    Impl& step = *m_impl;
    requireCacheOf(step.config, step.buffers.x.device(), cache);
    OpenChunk chunk(&cache, 1);
    std::vector<LayerPlace> places = placesOf(cache);
    const bool areNew = places != step.places;
    if (areNew) {
        step.places.clear(); // of none, should what follows fail
        step.made = cudaStepLaunches({step.config, step.weights, step.rotaryOfLayer, step.experts,
                                      step.buffers, step.runner->multiprocessors()},
                                     cache);
    }
    // Asked for before anything is written.
    const at::Tensor logits = at::empty_like(step.buffers.logits);
    step.buffers.setToken({id, cache.seqLen()}, rows);
    step.runner->run(step.made.launches, areNew);
    step.places = std::move(places);
    chunk.commitWritten();
    logits.copy_(step.buffers.logits);
    return logits;
}

} // namespace kvscope
