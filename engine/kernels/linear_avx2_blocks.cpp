#include "engine/kernels/linear_avx2.h"
#include "engine/kernels/linear_avx2_expand.h"
#include "engine/kernels/linear_avx2_nibbles.h"
#include "engine/kernels/linear_avx2_product.h"

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

template <typename Format>
void decode(const std::byte* block, float* out, std::int64_t cols)
{
    for (std::int64_t col = 0; col < cols; col += kGroupSize, block += Format::kBytes) {
        const float scale = Format::scale(block);
        const float offset = Format::offset(block);
        const float* const scales[2] = {&scale, &scale};
        const float* const offsets[2] = {&offset, &offset};
        storeGroup<Format>(Format::bytes(block), scales, offsets, out + col);
    }
}

template <typename Format>
constexpr FormatKernels kernelsOf()
{
    return {decode<Format>, multiply<EightBlocks<Format>>, quantizeRowEvenOdd};
}

} // namespace

constinit const FormatKernels kQ80 = kernelsOf<FormatQ80>();
constinit const FormatKernels kQ40{decode<FormatQ40>, multiplyNibbles<NibblesQ40>,
                                   quantizeRowNibbles};
constinit const FormatKernels kQ41{decode<FormatQ41>, multiplyNibbles<NibblesQ41>,
                                   quantizeRowNibbles};
constinit const FormatKernels kQ50 = kernelsOf<FormatQ50>();
constinit const FormatKernels kQ51 = kernelsOf<FormatQ51>();
constinit const FormatKernels kIq4Nl = kernelsOf<FormatIq4Nl>();
constinit const FormatKernels kMxfp4 = kernelsOf<FormatMxfp4>();

} // namespace kvscope::avx2
