#pragma once

#include "engine/checkpoint/model_config.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

inline constexpr std::int64_t kMaxLayers = 1024; ///< generous for any model there is

/// As many layers as a file says, all global and alike, once that number is one that a model has.
/// \param where  what the number was read from: a ConfigObject or a GgufSection
/// \throws CheckpointError naming the key, before anything is allocated on the file's word
template <class Where>
std::vector<LayerConfig> layersOf(const Where& where, std::string_view key, std::int64_t count)
{
    if (count < 1 || count > kMaxLayers)
        where.fail(key, "is " + std::to_string(count) + "; 1 to " + std::to_string(kMaxLayers) +
                            " was expected");
    return std::vector<LayerConfig>(static_cast<std::size_t>(count));
}

/// Makes every layer a windowed one. \param window  nothing: they stay as they are
inline void windowEveryLayer(std::optional<std::int64_t> window, ModelConfig& model)
{
    if (!window)
        return;
    for (LayerConfig& layer : model.layers) {
        layer.kind = LayerKind::Windowed;
        layer.window = *window;
    }
}

} // namespace kvscope
