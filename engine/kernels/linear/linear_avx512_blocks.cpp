#include "engine/kernels/linear/linear_avx2.h"
#include "engine/kernels/linear/linear_avx2_eight_blocks.h"
#include "engine/kernels/linear/linear_avx2_k_formats.h"
#include "engine/kernels/linear/linear_avx512.h"
#include "engine/kernels/linear/linear_avx512_nibbles.h"
#include "engine/kernels/linear/linear_avx512_product.h"

namespace kvscope::avx512 {

namespace {

template <typename Format>
constexpr FormatKernels kernelsOf()
{
    return {nullptr, multiply<Format>, avx2::quantizeRowPairs};
}

template <typename Format>
constexpr FormatKernels nibbleKernelsOf()
{
    return {nullptr, multiplyNibbles<Format>, avx2::quantizeRowNibbleFours};
}

} // namespace

constinit const FormatKernels kQ80 = kernelsOf<avx2::EightBlocks<avx2::FormatQ80>>();
constinit const FormatKernels kQ40 = nibbleKernelsOf<avx2::NibblesQ40>();
constinit const FormatKernels kQ41 = nibbleKernelsOf<avx2::NibblesQ41>();
constinit const FormatKernels kQ50 = kernelsOf<avx2::EightBlocks<avx2::FormatQ50>>();
constinit const FormatKernels kQ51 = kernelsOf<avx2::EightBlocks<avx2::FormatQ51>>();
constinit const FormatKernels kIq4Nl = kernelsOf<avx2::EightBlocks<avx2::FormatIq4Nl>>();
constinit const FormatKernels kMxfp4 = kernelsOf<avx2::EightBlocks<avx2::FormatMxfp4>>();
constinit const FormatKernels kQ2K = kernelsOf<avx2::FormatQ2K>();
constinit const FormatKernels kQ3K = kernelsOf<avx2::FormatQ3K>();
constinit const FormatKernels kQ4K = kernelsOf<avx2::FormatQ4K>();
constinit const FormatKernels kQ5K = kernelsOf<avx2::FormatQ5K>();
constinit const FormatKernels kQ6K = kernelsOf<avx2::FormatQ6K>();
constinit const FormatKernels kQ8K = kernelsOf<avx2::FormatQ8K>();
constinit const FormatKernels kIq4Xs = kernelsOf<avx2::FormatIq4Xs>();

} // namespace kvscope::avx512
