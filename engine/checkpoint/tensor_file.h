#pragma once

#include "engine/base/mapped_file.h"
#include "engine/checkpoint/storage_type.h"

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
