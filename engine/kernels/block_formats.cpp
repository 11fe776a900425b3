#include "engine/kernels/block_formats.h"

#include "engine/kernels/block_bytes.h"
#include "engine/kernels/block_tables.h"

#include <c10/util/Exception.h>

namespace kvscope {

namespace {

float loadBFloat16(const std::byte* at)
{
    return std::bit_cast<float>(static_cast<std::uint32_t>(loadU16(at)) << 16);
}

// Half of 2^(e - 127), an E8M0 scale; the smallest two are subnormal.
float loadHalvedExponent(const std::byte* at)
{
    const auto exponent = std::to_integer<std::uint32_t>(*at);
    const std::uint32_t bits = exponent < 2 ? 0x00200000U << exponent : (exponent - 1) << 23;
    return std::bit_cast<float>(bits);
}

void subtract(int zero, std::int8_t* integers)
{
    for (std::int64_t i = 0; i < kGroup; ++i)
        integers[i] = static_cast<std::int8_t>(integers[i] - zero);
}

// Bit i of the four bytes is the fifth bit of element i.
void addFifthBits(const std::byte* bits, std::int8_t* integers)
{
    for (std::int64_t i = 0; i < kGroup; ++i)
        if ((byteAt(bits + i / 8) >> (i % 8) & 1) != 0)
            integers[i] = static_cast<std::int8_t>(integers[i] + 16);
}

GroupFactors readBlock(StorageType type, const std::byte* block, std::int8_t* integers)
{
    switch (type) {
    case StorageType::Q8_0:
        std::memcpy(integers, block + 2, kGroup);
        return uniform(loadHalf(block));
    case StorageType::Q4_0:
        readNibbles(block + 2, integers);
        subtract(8, integers);
        return uniform(loadHalf(block));
    case StorageType::Q4_1:
        readNibbles(block + 4, integers);
        return uniform(loadHalf(block), loadHalf(block + 2));
    case StorageType::Q5_0:
        readNibbles(block + 6, integers);
        addFifthBits(block + 2, integers);
        subtract(16, integers);
        return uniform(loadHalf(block));
    case StorageType::Q5_1:
        readNibbles(block + 8, integers);
        addFifthBits(block + 4, integers);
        return uniform(loadHalf(block), loadHalf(block + 2));
    case StorageType::IQ4_NL:
        readNibbles(block + 2, integers);
        lookUp(kNonLinear4, integers);
        return uniform(loadHalf(block));
    case StorageType::MXFP4:
        readNibbles(block + 1, integers);
        lookUp(kTwiceFloat4, integers);
        return uniform(loadHalvedExponent(block));
    default:
        TORCH_CHECK(false, "readGroup: no block format ", storageName(type));
    }
}

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

bool hasOffsets(StorageType type)
{
    return type == StorageType::Q4_1 || type == StorageType::Q5_1 || type == StorageType::Q2_K ||
           type == StorageType::Q4_K || type == StorageType::Q5_K;
}

GroupFactors readGroup(StorageType type, const std::byte* row, std::int64_t group,
                       std::int8_t* integers)
{
    const std::int64_t perBlock = blockElements(type) / kGroup;
    if (perBlock <= 1)
        return readBlock(type, row + group * blockBytes(type), integers);
    return readKGroup(type, row + group / perBlock * blockBytes(type), group % perBlock, integers);
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
