#pragma once

#include "engine/cache/mixed_kv_cache.h"
#include "engine/model/cuda_step.h"
#include "engine/model/decode_step.h"
#include "engine/model/decoder.h"
#include "engine/model/decoder_weights.h"
#include "engine/model/feed_forward.h"
#include "engine/model/rotary.h"
#include "engine/model/step_settings.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace kvscope {

/// The newest `count` positions of [B, T, E].
inline at::Tensor newest(const at::Tensor& x, std::int64_t count)
{
    return count == x.size(1) ? x : x.narrow(1, x.size(1) - count, count).contiguous();
}

/// decoder.cpp has its beginning and its single tokens, decoder_layers.cpp its chunks.
struct Decoder::Impl
{
    std::shared_ptr<const Checkpoint> checkpoint;
    at::Device device = at::kCPU;
    ComputeType compute = ComputeType::Auto;
    at::ScalarType cacheType = at::kBFloat16;
    DecoderWeights weights;
    std::vector<RotaryTable> rotary;
    std::vector<std::size_t> rotaryOfLayer; ///< index into `rotary`, by layer
    /// One token at a time: at most one of the two, where it supports the model.
    std::unique_ptr<DecodeStep> step;
    std::unique_ptr<CudaStep> cudaStep;
    StepSettings stepSettings;

    const ModelConfig& config() const { return checkpoint->config; }
    ProductSettings settingsOf(KernelPath path) const
    {
        return {path, compute == ComputeType::Float32 ? Precision::Exact : Precision::Fast};
    }
    at::ScalarType activationType() const
    {
        if (device.is_cpu() || compute == ComputeType::Float32)
            return at::kFloat; // sums and activations stay float32 on the CPU, whatever the weights
                               // are
        return compute == ComputeType::Float16 ? at::kHalf : at::kBFloat16;
    }

    void checkIds(const at::Tensor& ids) const;
    /// Where the chunk begins. \throws ArgumentError where it cannot be run
    std::int64_t checkedPosition(const at::Tensor& ids, const MixedKVCache* cache,
                                 const ForwardOptions& options) const;
    void makeRotaryTables();
    /// For each table, the chunk's rows.
    std::vector<RotaryRows> rotaryRows(std::int64_t firstPosition, std::int64_t count,
                                       std::int64_t plannedLength, at::Device where) const;
    at::Tensor normalised(const at::Tensor& x, const NormWeights& norm, KernelPath path) const;
    at::Tensor embedded(const at::Tensor& ids, std::int64_t firstPosition) const;
    at::Tensor heads(const at::Tensor& projected, const NormWeights& norm, at::IntArrayRef shape,
                     KernelPath path) const;
    /// \param firstRow  of rows, for x's first position
    void rotateHeads(at::Tensor& x, std::int64_t layer, const std::vector<RotaryRows>& rows,
                     std::int64_t firstRow, KernelPath path) const;
    /// What attention adds to the newest numOutputs positions; nothing where that is 0.
    at::Tensor attend(const at::Tensor& x, std::int64_t layer, const std::vector<RotaryRows>& rows,
                      MixedKVCache* cache, const ForwardOptions& options,
                      std::int64_t firstPosition, std::int64_t numOutputs) const;
    at::Tensor transform(const at::Tensor& x, std::int64_t layer,
                         const ForwardOptions& options) const;
    /// The last layer's residual, by the fast path of the wanted positions alone: of the others
    /// only keys and values are to be had from that layer.
    at::Tensor runLayers(const at::Tensor& ids, MixedKVCache* cache, const ForwardOptions& options,
                         LogitPositions wanted) const;
    bool isStep(const at::Tensor& ids, const MixedKVCache* cache,
                const ForwardOptions& options) const;
    /// Logits [1, 1, V] of one token, or an undefined tensor.
    at::Tensor runStep(const at::Tensor& ids, MixedKVCache& cache,
                       const ForwardOptions& options) const;
    at::Tensor stepOnCpu(const at::Tensor& ids, MixedKVCache& cache,
                         const ForwardOptions& options) const;
    at::Tensor stepOnCuda(const at::Tensor& ids, MixedKVCache& cache,
                          const ForwardOptions& options) const;
    void scaleLogits(at::Tensor& logits) const;
};

} // namespace kvscope
