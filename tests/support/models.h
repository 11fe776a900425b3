#pragma once

#include "engine/model/decoder.h"

#include <cstdint>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <vector>

namespace kvscope {

/// A decoder of a checkpoint under tests/golden. Float32 unless told otherwise.
std::unique_ptr<Decoder> goldenDecoder(const std::string& path,
                                       ComputeType type = ComputeType::Float32,
                                       CacheType cache = CacheType::Auto);

/// Paths of one golden checkpoint for each family and some storages, for goldenDecoder().
std::vector<std::string> goldenModels();

/// [1, length] of any ids of the model's.
at::Tensor randomIds(const Decoder& decoder, std::int64_t length, std::mt19937& random);

/// Logits by tensor operations, layer for layer: who watches the layers gets those.
at::Tensor byOperations(Decoder& decoder, const at::Tensor& ids, MixedKVCache& cache);

/// The real SmolLM2 file, which scripts/test installs; nothing where it is not there (tests then
/// skip by name).
std::optional<std::string> smolLm2Path();

} // namespace kvscope
