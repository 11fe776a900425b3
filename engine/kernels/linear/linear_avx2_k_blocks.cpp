#include "engine/kernels/linear/linear_avx2.h"
#include "engine/kernels/linear/linear_avx2_expand.h"
#include "engine/kernels/linear/linear_avx2_k_formats.h"
#include "engine/kernels/linear/linear_avx2_product.h"

namespace kvscope::avx2 {

namespace {

template <typename Format>
void decode(const std::byte* block, float* out, std::int64_t cols)
{
    constexpr int kScales = Format::kHalves ? 2 * kGroups : kGroups;
    constexpr int kPerGroup = kScales / kGroups;
    float scales[kScales];
    float offsets[kScales] = {};
    for (std::int64_t col = 0; col < cols; col += kBlockSize, block += Format::kBytes) {
        Format::readFactors(block, scales, offsets);
#pragma GCC unroll 8
        for (int g = 0; g < kGroups; ++g) {
            const int first = g * kPerGroup;
            const int second = first + kPerGroup - 1;
            const float* const groupScales[2] = {scales + first, scales + second};
            const float* const groupOffsets[2] = {offsets + first, offsets + second};
            storeGroup<Format>(Format::bytes(block, g), groupScales, groupOffsets,
                               out + col + g * kGroupSize);
        }
    }
}

template <typename Format>
constexpr FormatKernels kernelsOf()
{
    return {decode<Format>, multiply<Format>, quantizeRowEvenOdd};
}

} // namespace

constinit const FormatKernels kQ2K = kernelsOf<FormatQ2K>();
constinit const FormatKernels kQ3K = kernelsOf<FormatQ3K>();
constinit const FormatKernels kQ4K = kernelsOf<FormatQ4K>();
constinit const FormatKernels kQ5K = kernelsOf<FormatQ5K>();
constinit const FormatKernels kQ6K = kernelsOf<FormatQ6K>();
constinit const FormatKernels kQ8K = kernelsOf<FormatQ8K>();
constinit const FormatKernels kIq4Xs = kernelsOf<FormatIq4Xs>();

} // namespace kvscope::avx2
