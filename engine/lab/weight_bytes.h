#pragma once

#include "engine/checkpoint/checkpoint.h"

#include <cstdint>

namespace kvscope {

/// A model's weights in bytes.
struct WeightBytes
{
    std::uint64_t total = 0;         ///< held in memory
    std::uint64_t perDecodeStep = 0; ///< read by one token: without tables that are only looked
                                     ///< up and without the experts that it does not visit
};

/// Of a shape alone, every weight taking `elementBytes`.
WeightBytes weightBytesOf(const ModelConfig& config, std::int64_t elementBytes);

/// Of a file, as it is stored. An expert counts as the mean of its layer's, since which ones a
/// token visits is not known before.
WeightBytes weightBytesOf(const Checkpoint& checkpoint);

} // namespace kvscope
