#include "engine/kernels/linear/block_formats.h"

#include "engine/kernels/linear/k_block_readers.h"

#include <c10/util/Exception.h>

namespace kvscope {

namespace {

void decodeGroups(StorageType type, const std::byte* row, float* out, std::int64_t cols)
{
    const bool addsOffset = hasOffsets(type);
    std::int8_t integers[kGroup];
    for (std::int64_t group = 0; group < cols / kGroup; ++group, out += kGroup) {
        const GroupFactors factors = readGroup(type, row, group, integers);
        for (std::int64_t i = 0; i < kGroup; ++i) {
            // Where an offset follows, the product is exact in float32 (17 by 5 bits at most), so
            // fusing it with the sum would change nothing.
            const float product = factors.scales[i / 16] * static_cast<float>(integers[i]);
            out[i] = addsOffset ? product + factors.offsets[i / 16] : product;
        }
    }
}

} // namespace

std::int64_t bytesPerRow(StorageType type, std::int64_t cols)
{
    return cols / blockElements(type) * blockBytes(type);
}

GroupFactors readGroup(StorageType type, const std::byte* row, std::int64_t group,
                       std::int8_t* integers)
{
    TORCH_CHECK(isQuantized(type), "readGroup: no block format ", storageName(type));
    const std::int64_t perBlock = blockElements(type) / kGroup;
    const std::byte* block = row + group / perBlock * blockBytes(type);
    const int inBlock = static_cast<int>(group % perBlock);
    switch (type) {
    case StorageType::Q8_0:
        return readBlock<StorageType::Q8_0>(block, integers);
    case StorageType::Q4_0:
        return readBlock<StorageType::Q4_0>(block, integers);
    case StorageType::Q4_1:
        return readBlock<StorageType::Q4_1>(block, integers);
    case StorageType::Q5_0:
        return readBlock<StorageType::Q5_0>(block, integers);
    case StorageType::Q5_1:
        return readBlock<StorageType::Q5_1>(block, integers);
    case StorageType::IQ4_NL:
        return readBlock<StorageType::IQ4_NL>(block, integers);
    case StorageType::MXFP4:
        return readBlock<StorageType::MXFP4>(block, integers);
    case StorageType::Q2_K:
        return readKGroup<StorageType::Q2_K>(block, inBlock, integers);
    case StorageType::Q3_K:
        return readKGroup<StorageType::Q3_K>(block, inBlock, integers);
    case StorageType::Q4_K:
        return readKGroup<StorageType::Q4_K>(block, inBlock, integers);
    case StorageType::Q5_K:
        return readKGroup<StorageType::Q5_K>(block, inBlock, integers);
    case StorageType::Q6_K:
        return readKGroup<StorageType::Q6_K>(block, inBlock, integers);
    case StorageType::Q8_K:
        return readKGroup<StorageType::Q8_K>(block, inBlock, integers);
    case StorageType::IQ4_XS:
        return readKGroup<StorageType::IQ4_XS>(block, inBlock, integers);
    default:
        TORCH_CHECK(false, "readGroup: no block format ", storageName(type));
    }
}

void decodeRow(StorageType type, const std::byte* row, float* out, std::int64_t cols)
{
    switch (type) {
    case StorageType::F32:
        std::memcpy(out, row, static_cast<std::size_t>(cols) * sizeof(float));
        return;
    case StorageType::F16:
        for (std::int64_t i = 0; i < cols; ++i)
            out[i] = loadHalf(row + 2 * i);
        return;
    case StorageType::BF16:
        for (std::int64_t i = 0; i < cols; ++i)
            out[i] = loadBFloat16(row + 2 * i);
        return;
    default:
        TORCH_CHECK(isQuantized(type), "decodeRow: no weight type ", storageName(type));
        return decodeGroups(type, row, out, cols);
    }
}

} // namespace kvscope
