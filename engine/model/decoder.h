#pragma once

#include "engine/base/cache_numbers.h"
#include "engine/cache/mixed_kv_cache.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/kernels/linear/weight_matrix.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <functional>
#include <memory>
#include <stop_token>
#include <string>

namespace kvscope {

/// Where and in what numbers a model runs.
enum class ComputeType {
    Auto,    ///< the fast default: weights as stored, cache bfloat16, Precision::Fast products
    Float32, ///< everything float32; block formats multiply as their expanded values
    BFloat16,
    Float16,
};

/// What keys and values are stored as.
enum class CacheType {
    Auto, ///< as computed; bfloat16 where that is Auto too
    Float32,
    BFloat16,
    Float16,
    Int8, ///< with a scale for each head and position: engine/cache/scaled_rows.h
    Fp8,  ///< e4m3, with a scale as Int8
};

struct DecoderOptions
{
    std::string device = "cpu"; ///< "cpu", "cuda", "cuda:1"
    ComputeType computeType = ComputeType::Auto;
    CacheType cacheType = CacheType::Auto;
    std::function<void(std::uint64_t done, std::uint64_t total)>
        progress;         ///< weight bytes; loading thread
    std::stop_token stop; ///< a load that is stopped throws Stopped
};

/// Work ended because its stop token asked for it. Not an error; caught where the work was started.
struct Stopped
{
};

/// Which positions get logits.
enum class LogitPositions { None, Last, All };

/// Watches a forward pass; every member may be empty. Called on the engine thread, between layers.
struct ForwardHooks
{
    std::function<void(std::int64_t layer, const at::Tensor& residual)>
        afterLayer; ///< [B, T, E]; -1: embeddings
    std::function<void(std::int64_t layer, const at::Tensor& experts)>
        afterRouting; ///< [B*T, topK] int64, on the device
};

/// Plain operators throughout (dense masks, expanded weights), to compare the fast path with.
enum class KernelPath { Fast, Reference };

struct ForwardOptions
{
    LogitPositions logits = LogitPositions::Last;
    KernelPath path = KernelPath::Fast;
    std::int64_t firstPosition = 0; ///< without a cache only: position of ids[:, 0]
    /// Sequence length that length-dependent rotations (dynamic, longrope) are made for, where it
    /// is above the length so far. A prompt in chunks gives its whole length, so that the chunks
    /// are rotated as one.
    std::int64_t plannedLength = 0;
    std::stop_token stop; ///< looked at between layers
    const ForwardHooks* hooks = nullptr;
};

/// The one decoder-only transformer: every family is a ModelConfig and a mapping of tensor names
/// onto it.
///
/// Owned by the engine thread. Weights are immutable after construction.
class Decoder
{
public:
    /// Reads the weights. Those whose storage is used as it is are not copied, so `checkpoint` is
    /// kept alive. \throws CheckpointError, MemoryError (with both numbers, before allocating),
    /// ArgumentError, Stopped
    Decoder(std::shared_ptr<const Checkpoint> checkpoint, DecoderOptions options);
    ~Decoder();
    Decoder(const Decoder&) = delete;
    Decoder& operator=(const Decoder&) = delete;

    const ModelConfig& config() const;
    const Checkpoint& checkpoint() const;
    at::Device device() const;
    /// "bfloat16", "Q4_1 with float32 sums": what products run in, for the status bar and records.
    std::string computeDescription() const;
    /// "bfloat16", "int8", "fp8": what keys and values are stored as.
    std::string cacheTypeName() const;
    CacheNumbers cacheNumbers() const;
    /// Bytes of weights in memory.
    std::uint64_t weightBytes() const;
    /// Bytes of weights that one decode step at batch 1 reads: all but the unvisited experts and
    /// the unread rows of the embedding.
    std::uint64_t activeWeightBytes() const;

    /// Whether the rotation is chosen from how long a sequence is to become (longrope), so that
    /// ForwardOptions::plannedLength ought to be given. (Dynamic rotation follows the length so
    /// far.)
    bool rotatesByPlan() const;
    /// Whether keys made for sequences of `a` and of `b` tokens are the same: not so where longrope
    /// takes another list of divisors.
    bool rotatesAlike(std::int64_t a, std::int64_t b) const;

    /// An empty cache for this model.
    /// \param ringSlack  see CacheShape
    MixedKVCache makeCache(std::int64_t batch = 1, std::int64_t ringSlack = 0) const;

    /// Runs ids through every layer, appending to the cache where there is one.
    /// If a layer throws (or is stopped), the cache is as it was before. If only the logits do not
    /// fit the memory, the positions stay stored: the caller goes by cache->seqLen().
    /// \param ids  [B, T] int64 on the CPU
    /// \param cache  null: the chunk attends to itself alone, from options.firstPosition on
    /// \returns logits float32 [B, n, V]: n = 1 (Last), T (All); an undefined tensor for None.
    /// \throws ArgumentError for an id outside the vocabulary or a position beyond the learned
    /// ones, Stopped, MemoryError
    at::Tensor forward(const at::Tensor& ids, MixedKVCache* cache,
                       const ForwardOptions& options = {});

    /// As forward() with LogitPositions::None, returning the normalised hidden states [B, T, E].
    at::Tensor forwardHidden(const at::Tensor& ids, MixedKVCache* cache,
                             const ForwardOptions& options = {});
    /// Logits of hidden states: [N, E] to float32 [N, V]. Slicing N keeps memory flat.
    at::Tensor head(const at::Tensor& hidden, KernelPath path = KernelPath::Fast) const;

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace kvscope
