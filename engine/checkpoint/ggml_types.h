#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <cstdint>
#include <optional>
#include <string>

namespace kvscope {

/// A tensor type of the GGUF format, whether this version computes with it or not.
struct GgmlType
{
    std::uint32_t number = 0;
    std::string_view name;
    std::uint64_t elements = 1;         ///< of one row per block
    std::uint64_t bytes = 1;            ///< per block
    std::optional<StorageType> storage; ///< nothing where it cannot be read yet
};

/// The type of that number, or null for one that is not known (its size is not known either).
/// Source: ggml's `enum ggml_type` and block layouts.
const GgmlType* findGgmlType(std::uint32_t number);

/// "Q6_K (type 14)", "type 99"
std::string ggmlTypeText(std::uint32_t number);

} // namespace kvscope
