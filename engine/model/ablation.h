#pragma once

#include "engine/checkpoint/checkpoint.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <string>

namespace kvscope {

/// Parts of a model put out of work on purpose, to measure what they are worth.
struct Ablations
{
    std::optional<double> sinkBias;     ///< takes the place of every learned sink, before clamping
    std::optional<std::int64_t> window; ///< positions that windowed layers see instead

    bool any() const { return sinkBias || window; }
};

/// The checkpoint with its parts changed; the same one where nothing is asked for. What was changed
/// stands among its checks, so that everything that names its conditions can say so.
/// \throws ArgumentError for sinks of a model that has none, a window of a model without windowed
/// layers, and numbers out of range (a sink is finite and within 1e6 of 0, a window at least 1)
std::shared_ptr<const Checkpoint> withAblations(std::shared_ptr<const Checkpoint> checkpoint,
                                                const Ablations& ablations);

/// "every sink -10, windows of 32 positions instead of 64"; empty: the model is as its files have
/// it.
std::string ablationText(const Checkpoint& checkpoint);

} // namespace kvscope
