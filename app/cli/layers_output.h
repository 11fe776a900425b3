#pragma once

#include "app/cli/cli_context.h"

#include <cstdint>
#include <functional>

namespace kvscope {

/// Adds a model's name, family, parameters, shape and experts.
void addModel(Json& json, const ModelConfig& config);
/// Adds what it was trained on, what it is extended to, and how it rotates.
void addPositions(Json& json, const ModelConfig& config);
/// The layers' kinds, and the cache at the model's full length in every type.
/// \param bytesAt  of what keys and values are stored as
Json cacheJson(const ModelConfig& config, const CacheNumbers& numbers,
               const std::function<std::uint64_t(const CacheNumbers&)>& bytesAt);

/// Kind, window and cache bytes of every layer.
/// \param numbers  what keys and values are stored as
Json layersJson(const ModelConfig& config, const CacheNumbers& numbers);
/// The same for people, a line a layer.
void printLayers(std::ostream& out, const ModelConfig& config, const CacheNumbers& numbers);

} // namespace kvscope
