#pragma once

#include "engine/model/decoder.h"

#include <ATen/core/Tensor.h>

#include <cstdint>
#include <vector>

namespace kvscope {

/// How much of a layer's attention goes to its sink. It makes queries and keys anew, from the
/// residual stream that a forward pass shows between its layers; weights are used where they lie.
class SinkProbe
{
public:
    /// \param decoder  outlives it
    explicit SinkProbe(const Decoder& decoder)
        : m_decoder(decoder)
    {
    }

    /// Mean over the tokens of the attention on the sink, by query head [H].
    /// \pre the layer has a sink
    /// \param residual  [1, T, E] before the layer, positions from 0
    std::vector<double> shares(std::int64_t layer, const at::Tensor& residual) const;

private:
    const Decoder& m_decoder;
};

} // namespace kvscope
