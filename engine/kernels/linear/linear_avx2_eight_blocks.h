#pragma once

#include "engine/kernels/linear/linear_avx2_formats.h"

// Formats of 32 weights as the products take them; for linear_avx2_blocks.cpp and
// linear_avx512_blocks.cpp alone.

namespace kvscope::avx2 {
namespace {

// Eight blocks of 32 in a row, taken as the product takes one of 256.
template <typename Format>
struct EightBlocks
{
    using Small = Format;
    static constexpr std::int64_t kBytes = kGroups * Format::kBytes;
    static constexpr bool kHasOffset = Format::kHasOffset;
    static constexpr bool kIsSigned = Format::kIsSigned;
    static constexpr int kZero = Format::kZero;
    static constexpr bool kHalves = false;
    static constexpr bool kMayEndEarly = true;
    KVSCOPE_UNPACK void readFactors(const std::byte* block, float* scales, float* offsets)
    {
        const __m128i first = firstBytes(block);
        const __m128i second = firstBytes(block + 4 * Format::kBytes);
        _mm256_storeu_ps(scales, Format::scales(first, second));
        if constexpr (kHasOffset)
            _mm256_storeu_ps(offsets, Format::offsets(first, second));
    }
    KVSCOPE_UNPACK __m256i bytes(const std::byte* block, int group)
    {
        return Format::bytes(block + group * Format::kBytes);
    }

private:
    // Four bytes of each of four blocks.
    KVSCOPE_UNPACK __m128i firstBytes(const std::byte* block)
    {
        __m128i bytes = _mm_cvtsi32_si128(loadInt(block));
        bytes = _mm_insert_epi32(bytes, loadInt(block + Format::kBytes), 1);
        bytes = _mm_insert_epi32(bytes, loadInt(block + 2 * Format::kBytes), 2);
        return _mm_insert_epi32(bytes, loadInt(block + 3 * Format::kBytes), 3);
    }
};

} // namespace
} // namespace kvscope::avx2
