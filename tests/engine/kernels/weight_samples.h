#pragma once

#include "engine/kernels/block_formats.h"
#include "engine/kernels/weight_matrix.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <QString>

#include <array>
#include <cstring>

// Random weights of every storage type, shared by the kernel tests.

namespace kvscope {

inline constexpr std::array kWeightTypes{StorageType::F32,  StorageType::F16,  StorageType::BF16,
                                         StorageType::Q8_0, StorageType::Q4_0, StorageType::Q4_1};

inline QString nameOf(StorageType type)
{
    const auto name = storageName(type);
    return QString::fromLatin1(name.data(), static_cast<qsizetype>(name.size()));
}

inline at::ScalarType scalarTypeOf(StorageType type)
{
    switch (type) {
    case StorageType::F32:
        return at::kFloat;
    case StorageType::F16:
        return at::kHalf;
    case StorageType::BF16:
        return at::kBFloat16;
    default:
        return at::kByte;
    }
}

/// float16 numbers around 0.02 in both signs as bytes [rows, blocks, 2].
inline at::Tensor halfBytes(const at::Tensor& values)
{
    return values.to(at::kHalf).view(at::kByte).view({values.size(0), values.size(1), 2});
}

/// Random integers under scales around 0.02 of both signs; offsets of Q4_1 near -7.5 scales.
inline at::Tensor randomBlocks(StorageType type, std::int64_t rows, std::int64_t cols)
{
    const std::int64_t numBlocks = cols / 32;
    const at::Tensor scale = at::randn({rows, numBlocks}) * 0.02;
    std::vector<at::Tensor> parts{halfBytes(scale)};
    if (type == StorageType::Q4_1)
        parts.push_back(halfBytes(scale * -7.5 + at::randn({rows, numBlocks}) * 0.01));
    const std::int64_t payload = type == StorageType::Q8_0 ? 32 : 16;
    parts.push_back(at::randint(0, 256, {rows, numBlocks, payload}, at::kByte));
    return at::cat(parts, 2).view({rows, bytesPerRow(type, cols)});
}

/// A random weight [rows, cols]; its bytes begin `misalignment` bytes past an aligned address.
inline WeightMatrix randomWeight(StorageType type, std::int64_t rows, std::int64_t cols,
                                 std::int64_t misalignment = 0)
{
    const at::Tensor data = isQuantized(type)
                                ? randomBlocks(type, rows, cols)
                                : (at::randn({rows, cols}) * 0.2).to(scalarTypeOf(type));
    if (misalignment == 0)
        return {type, rows, cols, data};
    const auto bytes = static_cast<std::int64_t>(data.nbytes());
    const at::Tensor storage = at::empty({bytes + misalignment}, at::kByte);
    auto* start = storage.mutable_data_ptr<std::uint8_t>() + misalignment;
    std::memcpy(start, data.const_data_ptr(), data.nbytes());
    // The deleter's copy of `storage` keeps it alive.
    const at::Tensor moved = at::from_blob(
        start, data.sizes(), [storage](void*) {}, data.options());
    return {type, rows, cols, moved};
}

} // namespace kvscope
