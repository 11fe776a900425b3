#include "engine/kernels/elementwise/elementwise_paths.h"

#include <algorithm>
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

void gatedSilu(const float* gate, const float* up, float* out, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i)
        out[i] = gate[i] / (1.0F + std::exp(-gate[i])) * up[i];
}

void gatedGeluTanh(const float* gate, const float* up, float* out, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const float x = gate[i];
        const float inner = kGeluTanhFactor * (x + kGeluTanhCubic * x * x * x);
        out[i] = 0.5F * x * (1.0F + std::tanh(inner)) * up[i];
    }
}

void gatedClampedSilu(const float* gate, const float* up, float* out, std::int64_t count)
{
    for (std::int64_t i = 0; i < count; ++i) {
        const float g = std::min(gate[i], kGateLimit);
        const float u = std::clamp(up[i], -kGateLimit, kGateLimit);
        out[i] = g / (1.0F + std::exp(-kGateAlpha * g)) * (u + 1.0F);
    }
}

} // namespace

const ElementwiseKernels& portableElementwiseKernels()
{
    static const ElementwiseKernels kernels{rmsNormRow, rotateAdjacent, rotateHalf,
                                            gatedSilu,  gatedGeluTanh,  gatedClampedSilu};
    return kernels;
}

} // namespace kvscope
