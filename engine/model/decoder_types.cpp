#include "engine/model/decoder_types.h"

#include "engine/base/errors.h"
#include "engine/kernels/cuda/cuda_backend.h"

#include <algorithm>
#include <initializer_list>
#include <string_view>
#include <utility>

namespace kvscope {
namespace {

/// The type of that name. \throws ArgumentError with all names where there is none
template <typename Type>
Type typeNamed(const std::string& what, const std::string& name,
               std::initializer_list<std::pair<std::string_view, Type>> types)
{
    std::string names;
    for (const auto& [known, type] : types) {
        if (name == known)
            return type;
        names.append(names.empty() ? "" : ", ").append(known);
    }
    throw ArgumentError(what + " '" + name + "' is not one of " + names);
}

} // namespace

ComputeType computeTypeFrom(const std::string& name)
{
    return typeNamed<ComputeType>("dtype", name,
                                  {{"auto", ComputeType::Auto},
                                   {"float32", ComputeType::Float32},
                                   {"bfloat16", ComputeType::BFloat16},
                                   {"float16", ComputeType::Float16}});
}

CacheType cacheTypeFrom(const std::string& name)
{
    return typeNamed<CacheType>("cache dtype", name,
                                {{"auto", CacheType::Auto},
                                 {"float32", CacheType::Float32},
                                 {"bfloat16", CacheType::BFloat16},
                                 {"float16", CacheType::Float16},
                                 {"int8", CacheType::Int8},
                                 {"fp8", CacheType::Fp8}});
}

at::ScalarType cacheTypeIn(const Checkpoint& checkpoint, const std::string& dtype,
                           const std::string& cacheDtype)
{
    return cacheScalarType(cacheTypeFrom(cacheDtype),
                           resolvedType(checkpoint, computeTypeFrom(dtype)));
}

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
    return checkpoint.storageSummary() == "F32" ? ComputeType::Float32 : ComputeType::Auto;
}

std::string weightsText(const Checkpoint& checkpoint, ComputeType compute)
{
    const std::string stored = checkpoint.storageSummary() + " weights";
    if (compute != ComputeType::BFloat16 && compute != ComputeType::Float16)
        return stored;
    const std::string type = compute == ComputeType::BFloat16 ? "bfloat16" : "float16";
    const auto types = checkpoint.storageBytes();
    const bool hasBlocks = std::any_of(types.begin(), types.end(), [](const auto& typeAndBytes) {
        return isQuantized(typeAndBytes.first);
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
    case CacheType::Fp8:
        return at::kFloat8_e4m3fn;
    }
    return at::kBFloat16;
}

std::int64_t logitBytes(ComputeType compute, at::Device device)
{
    return device.is_cpu() || compute == ComputeType::Float32 ? 4 : 2;
}

} // namespace kvscope
