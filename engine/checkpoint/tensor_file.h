#pragma once

#include "engine/base/mapped_file.h"

#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace kvscope {

/// How a tensor's elements are stored. Block formats hold 32 or 256 neighbouring elements of one
/// row per block; kernels/block_formats.h takes them apart. d and m are float16 unless stated.
/// Source: ggml/docs gguf.md (type numbers), ggml-quants (block layouts).
enum class StorageType {
    F64,
    F32,
    F16,
    BF16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
    Q8_0,   ///< 34 bytes: float16 scale d, 32 x int8 q; x = d q
    Q4_0,   ///< 18 bytes: float16 d, 16 bytes; element i is the low nibble of byte i, i + 16 the
            ///< high; x = d (q - 8)
    Q4_1,   ///< 20 bytes: float16 d, float16 m, 16 bytes as Q4_0; x = d q + m
    Q5_0,   ///< 22 bytes: d, 32 fifth bits, 16 bytes as Q4_0; x = d (q - 16)
    Q5_1,   ///< 24 bytes: d, m, 32 fifth bits, 16 bytes as Q4_0; x = d q + m
    IQ4_NL, ///< 18 bytes: as Q4_0, the nibbles being indices of 16 fixed 8-bit integers
    MXFP4,  ///< 17 bytes: an exponent (E8M0), 16 bytes as Q4_0, the nibbles being E2M1 floats
    Q2_K,   ///< 256 in 84 bytes: 16 pairs of 4-bit scale and offset, 64 bytes of 2-bit q, d, m
    Q3_K,   ///< 256 in 110 bytes: 32 bytes of third bits, 64 of the low two, 16 6-bit scales, d
    Q4_K,   ///< 256 in 144 bytes: d, m, 8 pairs of 6-bit scale and offset, 128 bytes of nibbles
    Q5_K,   ///< 256 in 176 bytes: as Q4_K, 32 bytes of fifth bits before the nibbles
    Q6_K,   ///< 256 in 210 bytes: 128 bytes of nibbles, 64 of the high two bits, 16 8-bit scales, d
    Q8_K,   ///< 256 in 292 bytes: float32 d, 256 x int8 q, 16 sums that are not read; x = d q
    IQ4_XS, ///< 256 in 136 bytes: d, 8 6-bit scales, 128 bytes as IQ4_NL
};

/// "F32", "Q4_1", ...
std::string_view storageName(StorageType type);
/// Elements a block holds (1 for plain types).
std::int64_t blockElements(StorageType type);
/// Bytes a block takes.
std::int64_t blockBytes(StorageType type);
inline bool isQuantized(StorageType type)
{
    return blockElements(type) > 1;
}
/// Whether a weight matrix may be stored so: F32, F16, BF16 and every block format. The others only
/// hold what is not multiplied.
bool isWeightType(StorageType type);
/// "F32, F16, BF16, Q8_0, ... and IQ4_XS", for messages.
std::string weightTypeNames();

/// Bytes that a tensor of this shape takes, or nothing where the product overflows or the innermost
/// dimension is not a whole number of blocks. A tensor without dimensions has one element.
std::optional<std::uint64_t> storedBytes(StorageType type, std::span<const std::int64_t> shape);

/// One tensor's place in a file. `data` stays valid while the TensorFile lives.
struct TensorInfo
{
    std::string name;
    StorageType type = StorageType::F32;
    std::vector<std::int64_t> shape; ///< outermost first: a linear weight is [out, in]
    std::uint64_t fileOffset = 0;
    std::span<const std::byte> data;
};

/// "[768, 512]"
std::string shapeText(std::span<const std::int64_t> shape);

/// Named tensors of one file. Every span was checked to lie inside the file and to have exactly the
/// bytes that shape and type ask for.
class TensorFile
{
public:
    TensorFile(std::string path, MappedFile file,
               std::map<std::string, TensorInfo, std::less<>> tensors)
        : m_path(std::move(path))
        , m_file(std::move(file))
        , m_tensors(std::move(tensors))
    {
    }
    const std::string& path() const { return m_path; }
    std::uint64_t sizeBytes() const { return m_file.bytes().size(); }
    const std::map<std::string, TensorInfo, std::less<>>& tensors() const { return m_tensors; }
    /// Null where there is no such tensor.
    const TensorInfo* find(std::string_view name) const
    {
        const auto found = m_tensors.find(name);
        return found == m_tensors.end() ? nullptr : &found->second;
    }

private:
    std::string m_path;
    MappedFile m_file;
    std::map<std::string, TensorInfo, std::less<>> m_tensors;
};

} // namespace kvscope
