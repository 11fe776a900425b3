#pragma once

#include "engine/model/decoder.h"

#include <memory>
#include <optional>
#include <string>

namespace kvscope {

/// A decoder of a checkpoint under tests/golden. Float32 unless told otherwise.
std::unique_ptr<Decoder> goldenDecoder(const std::string& path,
                                       ComputeType type = ComputeType::Float32,
                                       CacheType cache = CacheType::Auto);

/// The real SmolLM2 file, which scripts/test installs; nothing where it is not there (tests then
/// skip by name).
std::optional<std::string> smolLm2Path();

} // namespace kvscope
