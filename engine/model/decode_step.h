#pragma once

#include "engine/cache/mixed_kv_cache.h"
#include "engine/model/decoder_weights.h"
#include "engine/model/feed_forward.h"
#include "engine/model/rotary.h"
#include "engine/model/step_settings.h"

#include <cstdint>
#include <memory>
#include <span>
#include <stop_token>

namespace kvscope {

/// One token through every layer on the CPU: what the layers give by tensor operations, by threads
/// that share out rows and heads themselves and stay together from the first layer to the head.
/// They meet six or seven times a layer, where operations would begin and end a parallel region
/// each and leave one thread to work between them; and they allocate nothing.
///
/// Borrows the configuration and the weights. Engine thread.
class DecodeStep
{
public:
    /// Whether its loops have all that the family asks for.
    static bool supports(const ModelConfig& config);

    /// \pre supports(config), weights on the CPU
    DecodeStep(const ModelConfig& config, const DecoderWeights& weights,
               const StepSettings& settings);
    ~DecodeStep();
    DecodeStep(const DecodeStep&) = delete;
    DecodeStep& operator=(const DecodeStep&) = delete;

    /// \param x  [E], the embedding; becomes the last layer's residual
    /// \param rows  of the position, by layer
    /// \param cache  with an open chunk of one position, batch 1
    /// \param logits  [V], of the unscaled head, or null
    /// \throws Stopped, and what the cache throws; the chunk is then to be discarded
    void run(float* x, std::int64_t position, std::span<const RotaryRows* const> rows,
             MixedKVCache& cache, float* logits, const std::stop_token& stop);

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace kvscope
