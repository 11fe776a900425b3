#pragma once

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// One tensor as a safetensors header states it; nothing but its form has been checked.
struct SafetensorsEntry
{
    std::string name;
    std::string dtype;                ///< "F32", "BF16", ...
    std::vector<std::uint64_t> shape; ///< at most 8 dimensions
    std::uint64_t begin = 0;          ///< bytes from the start of the data
    std::uint64_t end = 0;
};

/// Reads a header's JSON: an object of tensors, each with exactly `dtype`, `shape` and
/// `data_offsets`, and at most one `__metadata__` of strings. Nothing else can be nested, so depth
/// and memory (about four times the text) are bounded. \param file  named in errors \throws
/// CheckpointError for JSON that is not well-formed UTF-8, has a key twice, or another form
std::vector<SafetensorsEntry> parseSafetensorsHeader(std::string_view json,
                                                     const std::string& file);

} // namespace kvscope
