#pragma once

#include "engine/checkpoint/check_log.h"
#include "engine/checkpoint/gguf_file.h"

#include <cstddef>
#include <span>
#include <string>

namespace kvscope {

/// Parses and checks a whole GGUF file; tensors point into `bytes`.
/// \param file  named in errors
/// \param log  gets each check with the bytes it looked at
/// \throws CheckpointError
GgufContent parseGguf(std::span<const std::byte> bytes, const std::string& file, CheckLog& log);
inline GgufContent parseGguf(std::span<const std::byte> bytes, const std::string& file)
{
    CheckLog log;
    return parseGguf(bytes, file, log);
}

} // namespace kvscope
