#include "engine/model/decoder_types.h"

#include "engine/base/errors.h"
#include "engine/kernels/cuda_backend.h"

#include <algorithm>

namespace kvscope {

at::Device parsedDevice(const std::string& name)
{
    if (name == "cpu")
        return at::kCPU;
    const std::string index = name.starts_with("cuda:") ? name.substr(5) : "";
    const bool isNumber =
        !index.empty() && index.size() <= 2 &&
        std::all_of(index.begin(), index.end(), [](char c) { return c >= '0' && c <= '9'; });
    if (name != "cuda" && !isNumber)
        throw ArgumentError("device '" + name + "' is not one of cpu, cuda, cuda:N");
    ensureCudaBackend();
    return {at::kCUDA, static_cast<c10::DeviceIndex>(isNumber ? std::stoi(index) : 0)};
}

ComputeType resolvedType(const Checkpoint& checkpoint, ComputeType asked)
{
    if (asked != ComputeType::Auto)
        return asked;
    const auto isFloat = [](const auto& named) { return named.second.type == StorageType::F32; };
    const bool allFloat =
        std::all_of(checkpoint.files.begin(), checkpoint.files.end(), [&](const auto& file) {
            return std::all_of(file->tensors().begin(), file->tensors().end(), isFloat);
        });
    return allFloat ? ComputeType::Float32 : ComputeType::Auto;
}

std::string weightsText(const Checkpoint& checkpoint, ComputeType compute)
{
    const std::string stored = checkpoint.storageSummary() + " weights";
    if (compute != ComputeType::BFloat16 && compute != ComputeType::Float16)
        return stored;
    const std::string type = compute == ComputeType::BFloat16 ? "bfloat16" : "float16";
    const auto isBlocks = [](const auto& named) { return isQuantized(named.second.type); };
    const bool hasBlocks =
        std::any_of(checkpoint.files.begin(), checkpoint.files.end(), [&](const auto& file) {
            return std::any_of(file->tensors().begin(), file->tensors().end(), isBlocks);
        });
    return hasBlocks ? stored + ", plain ones as " + type : type + " weights";
}

at::ScalarType cacheScalarType(CacheType cache, ComputeType compute)
{
    switch (cache) {
    case CacheType::Auto:
        return compute == ComputeType::Float32   ? at::kFloat
               : compute == ComputeType::Float16 ? at::kHalf
                                                 : at::kBFloat16;
    case CacheType::Float32:
        return at::kFloat;
    case CacheType::BFloat16:
        return at::kBFloat16;
    case CacheType::Float16:
        return at::kHalf;
    case CacheType::Int8:
        return at::kChar;
    }
    return at::kBFloat16;
}

} // namespace kvscope
