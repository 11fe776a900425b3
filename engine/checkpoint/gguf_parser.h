#pragma once

#include "engine/checkpoint/gguf_file.h"

#include <cstddef>
#include <span>
#include <string>

namespace kvscope {

/// Parses and checks a whole GGUF file; tensors point into `bytes`.
/// \param file  named in errors
/// \throws CheckpointError
GgufContent parseGguf(std::span<const std::byte> bytes, const std::string& file);

} // namespace kvscope
