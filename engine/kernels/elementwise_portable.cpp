#include "engine/kernels/elementwise_paths.h"

#include <cmath>

namespace kvscope {

namespace {

void rmsNormRow(const float* x, const float* gain, float epsilon, float* out, std::int64_t width)
{
    double sum = 0;
    for (std::int64_t i = 0; i < width; ++i)
        sum += double{x[i]} * double{x[i]};
    const float inverse =
        1.0F / std::sqrt(static_cast<float>(sum / static_cast<double>(width)) + epsilon);
    for (std::int64_t i = 0; i < width; ++i)
        out[i] = x[i] * inverse * gain[i];
}

void rotatePair(float& first, float& second, float cos, float sin)
{
    const float a = first;
    const float b = second;
    first = a * cos - b * sin;
    second = a * sin + b * cos;
}

void rotateAdjacent(float* head, const float* cos, const float* sin, std::int64_t numPairs)
{
    for (std::int64_t i = 0; i < numPairs; ++i)
        rotatePair(head[2 * i], head[2 * i + 1], cos[i], sin[i]);
}

void rotateHalf(float* head, const float* cos, const float* sin, std::int64_t numPairs)
{
    for (std::int64_t i = 0; i < numPairs; ++i)
        rotatePair(head[i], head[i + numPairs], cos[i], sin[i]);
}

void swiGluRow(const float* gate, const float* up, float* out, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

} // namespace

const ElementwiseKernels& portableElementwiseKernels()
{
    static const ElementwiseKernels kernels{rmsNormRow, rotateAdjacent, rotateHalf, swiGluRow};
    return kernels;
}

} // namespace kvscope
