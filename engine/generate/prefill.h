#pragma once

#include "engine/generate/generator.h"

#include <ATen/core/Tensor.h>

#include <chrono>
#include <cstdint>
#include <vector>

namespace kvscope {

/// Estimates how long the rest of a prefill takes: a chunk's time grows linearly with the positions
/// before it, so the line through the chunks measured is summed over those to come.
class PrefillClock
{
public:
    PrefillClock(std::int64_t firstPosition, std::int64_t totalTokens);

    /// A chunk of `numTokens` took `seconds`.
    void add(std::int64_t numTokens, double seconds);
    double secondsElapsed() const { return m_elapsed; }
    double secondsLeft() const;

private:
    std::int64_t m_position;
    std::int64_t m_end;
    double m_elapsed = 0.0;
    std::int64_t m_chunkTokens = 0;
    // Least squares of seconds per token against the chunk's first position.
    double m_count = 0.0;
    double m_sumX = 0.0;
    double m_sumY = 0.0;
    double m_sumXX = 0.0;
    double m_sumXY = 0.0;
};

/// Ids as the [1, n] tensor a decoder takes, on the caller's memory.
at::Tensor idsTensor(const TokenId* first, std::int64_t count);

/// Runs the prompt from context.ids().size() on, chunk by chunk.
/// \returns the last position's logits [V] float32 on the CPU
/// \throws Stopped; the context then holds the chunks that were done
at::Tensor prefill(Decoder& decoder, Context& context, const GenerationRequest& request,
                   const GenerationObserver& observer, std::stop_token stop);

/// nll of `targets[i]` under the logits of hidden row i; the head runs over slices, so memory stays
/// flat. \param hidden  [N, E] \param targets  at least N ids
std::vector<double> scoredRows(const Decoder& decoder, const at::Tensor& hidden,
                               const TokenId* targets);

} // namespace kvscope
