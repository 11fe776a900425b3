#pragma once

#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/weight_matrix.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>
#include <ATen/ops/randint.h>
#include <ATen/ops/randn.h>

#include <QString>

#include <array>
#include <cstring>
#include <vector>

// Random weights of every storage type, shared by the kernel tests.

namespace kvscope {

inline constexpr std::array kBlockTypes{StorageType::Q8_0,  StorageType::Q4_0,  StorageType::Q4_1,
                                        StorageType::Q5_0,  StorageType::Q5_1,  StorageType::IQ4_NL,
                                        StorageType::MXFP4, StorageType::Q2_K,  StorageType::Q3_K,
                                        StorageType::Q4_K,  StorageType::Q5_K,  StorageType::Q6_K,
                                        StorageType::Q8_K,  StorageType::IQ4_XS};

inline std::vector<StorageType> weightTypes()
{
    std::vector<StorageType> types{StorageType::F32, StorageType::F16, StorageType::BF16};
    types.insert(types.end(), kBlockTypes.begin(), kBlockTypes.end());
    return types;
}

/// The smallest number of columns from `cols` on that is whole blocks.
inline std::int64_t wholeBlocks(StorageType type, std::int64_t cols)
{
    const std::int64_t block = blockElements(type);
    return (cols + block - 1) / block * block;
}

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

/// Where a block's scale and offset lie, and how they are drawn.
struct FactorPlaces
{
    std::int64_t scaleAt = 0;
    double scale = 0.02;        ///< standard deviation; the integers behind it go further in some
    std::int64_t offsetAt = -1; ///< none
    double offsetInScales =
        0.0; ///< about the middle of the integers, so that weights are of both signs
};

inline FactorPlaces factorPlaces(StorageType type)
{
    switch (type) {
    case StorageType::Q4_1:
        return {0, 0.02, 2, -7.5};
    case StorageType::Q5_1:
        return {0, 0.02, 2, -15.5};
    case StorageType::Q2_K:
        return {80, 0.002, 82, 1.5};
    case StorageType::Q3_K:
        return {108, 0.001};
    case StorageType::Q4_K:
        return {0, 0.001, 2, 7.5};
    case StorageType::Q5_K:
        return {0, 0.001, 2, 15.5};
    case StorageType::Q6_K:
        return {208, 0.001};
    default:
        return {};
    }
}

/// Random bytes under scales of both signs.
inline at::Tensor randomBlocks(StorageType type, std::int64_t rows, std::int64_t cols)
{
    const std::int64_t numBlocks = cols / blockElements(type);
    const at::Tensor blocks = at::randint(0, 256, {rows, numBlocks, blockBytes(type)}, at::kByte);
    const auto put = [&](std::int64_t at, const at::Tensor& values) {
        const at::Tensor bytes = values.unsqueeze(2).view(at::kByte);
        blocks.narrow(2, at, bytes.size(2)).copy_(bytes);
    };
    const FactorPlaces places = factorPlaces(type);
    const at::Tensor scale = at::randn({rows, numBlocks}) * places.scale;
    if (type == StorageType::MXFP4)
        put(0, at::randint(115, 125, {rows, numBlocks}, at::kByte));
    else
        put(places.scaleAt, type == StorageType::Q8_K ? scale : scale.to(at::kHalf));
    if (places.offsetAt >= 0)
        put(places.offsetAt,
            (scale * places.offsetInScales + at::randn({rows, numBlocks}) * places.scale / 2)
                .to(at::kHalf));
    return blocks.view({rows, bytesPerRow(type, cols)});
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
