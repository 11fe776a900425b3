#pragma once

#include "app/cli/cli_context.h"

#include <cstdint>

namespace kvscope {

/// Kind, window and cache bytes of every layer.
/// \param elementBytes  of a cached element
Json layersJson(const ModelConfig& config, std::int64_t elementBytes);
/// The same for people, a line a layer.
void printLayers(std::ostream& out, const ModelConfig& config, std::int64_t elementBytes);

} // namespace kvscope
