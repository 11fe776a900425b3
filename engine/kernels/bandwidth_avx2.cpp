#include "engine/kernels/bandwidth_avx2.h"

#include <immintrin.h>

namespace kvscope::avx2 {

std::uint64_t sumWords(const std::uint64_t* words, std::int64_t count)
{
    __m256i sums[4] = {_mm256_setzero_si256(), _mm256_setzero_si256(), _mm256_setzero_si256(),
                       _mm256_setzero_si256()};
    std::int64_t i = 0;
    for (; i + 16 <= count; i += 16) {
        const auto* at = reinterpret_cast<const __m256i*>(words + i);
#pragma GCC unroll 8
        for (int lane = 0; lane < 4; ++lane)
            sums[lane] = _mm256_add_epi64(sums[lane], _mm256_loadu_si256(at + lane));
    }
    const __m256i sum =
        _mm256_add_epi64(_mm256_add_epi64(sums[0], sums[1]), _mm256_add_epi64(sums[2], sums[3]));
    std::uint64_t lanes[4];
    _mm256_storeu_si256(reinterpret_cast<__m256i*>(lanes), sum);
    std::uint64_t total = lanes[0] + lanes[1] + lanes[2] + lanes[3];
    for (; i < count; ++i)
        total += words[i];
    return total;
}

} // namespace kvscope::avx2
