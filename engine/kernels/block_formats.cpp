#include "engine/kernels/block_formats.h"

#include <c10/util/Exception.h>
#include <c10/util/Half.h>

#include <bit>
#include <cstring>

namespace kvscope {

namespace {

constexpr std::int64_t kBlock = 32; // elements of every block format here

std::uint16_t loadU16(const std::byte* at)
{
    std::uint16_t bits = 0;
    std::memcpy(&bits, at, sizeof(bits)); // weights may lie at any alignment
    return bits;
}

float loadHalf(const std::byte* at)
{
    return c10::detail::fp16_ieee_to_fp32_value(loadU16(at));
}

float loadBFloat16(const std::byte* at)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(loadU16(at)) << 16);
}

// Element i of a 4-bit block is the low nibble of byte i, element i + 16 the high one.
void readNibbles(const std::byte* pairs, int zero, std::int8_t* integers)
{
    for (std::int64_t i = 0; i < kBlock / 2; ++i) {
        const int pair = std::to_integer<int>(pairs[i]);
        integers[i] = static_cast<std::int8_t>((pair & 15) - zero);
        integers[i + kBlock / 2] = static_cast<std::int8_t>((pair >> 4) - zero);
    }
}

void decodeBlocks(StorageType type, const std::byte* row, float* out, std::int64_t cols)
{
    const std::int64_t bytes = blockBytes(type);
    std::int8_t integers[kBlock];
    for (std::int64_t first = 0; first < cols; first += kBlock, row += bytes) {
        const auto [scale, offset] = readBlock(type, row, integers);
        for (std::int64_t i = 0; i < kBlock; ++i) {
            // The product is exact in float32 (8 by 11 bits), so fusing it with the sum changes
            // nothing.
            const float product = static_cast<float>(integers[i]) * scale;
            out[first + i] = type == StorageType::Q4_1 ? product + offset : product;
        }
    }
}

} // namespace

bool isWeightType(StorageType type)
{
    switch (type) {
    case StorageType::F32:
    case StorageType::F16:
    case StorageType::BF16:
    case StorageType::Q8_0:
    case StorageType::Q4_0:
    case StorageType::Q4_1:
        return true;
    default:
        return false;
    }
}

std::int64_t bytesPerRow(StorageType type, std::int64_t cols)
{
    return cols / blockElements(type) * blockBytes(type);
}

BlockFactors readBlock(StorageType type, const std::byte* block, std::int8_t* integers)
{
    switch (type) {
    case StorageType::Q8_0:
        std::memcpy(integers, block + 2, kBlock);
        return {loadHalf(block), 0};
    case StorageType::Q4_0:
        readNibbles(block + 2, 8, integers);
        return {loadHalf(block), 0};
    case StorageType::Q4_1:
        readNibbles(block + 4, 0, integers);
        return {loadHalf(block), loadHalf(block + 2)};
    default:
        TORCH_CHECK(false, "readBlock: no block format ", storageName(type));
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
    case StorageType::Q8_0:
    case StorageType::Q4_0:
    case StorageType::Q4_1:
        return decodeBlocks(type, row, out, cols);
    default:
        TORCH_CHECK(false, "decodeRow: no weight type ", storageName(type));
    }
}

} // namespace kvscope
