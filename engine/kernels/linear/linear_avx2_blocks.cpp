#include "engine/kernels/linear/linear_avx2.h"
#include "engine/kernels/linear/linear_avx2_eight_blocks.h"
#include "engine/kernels/linear/linear_avx2_expand.h"
#include "engine/kernels/linear/linear_avx2_nibbles.h"
#include "engine/kernels/linear/linear_avx2_product.h"

namespace kvscope::avx2 {

namespace {

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
