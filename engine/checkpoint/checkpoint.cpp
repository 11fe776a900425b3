#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <map>
#include <utility>

namespace kvscope {

const TensorInfo* Checkpoint::find(std::string_view name) const
{
    for (const auto& file : files)
        if (const TensorInfo* tensor = file->find(name))
            return tensor;
    return nullptr;
}

std::uint64_t Checkpoint::weightBytes() const
{
    std::uint64_t bytes = 0;
    for (const auto& file : files)
        for (const auto& [name, tensor] : file->tensors())
            bytes += tensor.data.size();
    return bytes;
}

std::vector<std::pair<StorageType, std::uint64_t>> Checkpoint::storageBytes() const
{
    std::map<StorageType, std::uint64_t> bytesOf;
    for (const auto& file : files)
        for (const auto& [name, tensor] : file->tensors()) {
            // Hugging Face's MXFP4: blocks and scales are tensors of bytes.
            const bool isMxfp4 = tensor.type == StorageType::U8 &&
                                 (name.ends_with("_blocks") || name.ends_with("_scales"));
            bytesOf[isMxfp4 ? StorageType::MXFP4 : tensor.type] += tensor.data.size();
        }
    std::vector<std::pair<StorageType, std::uint64_t>> types(bytesOf.begin(), bytesOf.end());
    std::stable_sort(types.begin(), types.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    return types;
}

std::string Checkpoint::storageSummary() const
{
    std::string text;
    for (const auto& [type, bytes] : storageBytes())
        text += (text.empty() ? "" : ", ") + std::string(storageName(type));
    return text;
}

} // namespace kvscope
