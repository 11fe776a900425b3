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

std::string Checkpoint::storageSummary() const
{
    std::map<StorageType, std::uint64_t> bytesOf;
    for (const auto& file : files)
        for (const auto& [name, tensor] : file->tensors())
            bytesOf[tensor.type] += tensor.data.size();
    std::vector<std::pair<StorageType, std::uint64_t>> types(bytesOf.begin(), bytesOf.end());
    std::stable_sort(types.begin(), types.end(),
                     [](const auto& a, const auto& b) { return a.second > b.second; });
    std::string text;
    for (const auto& [type, bytes] : types)
        text += (text.empty() ? "" : ", ") + std::string(storageName(type));
    return text;
}

} // namespace kvscope
