#pragma once

#include "engine/cache/scaled_rows.h"
#include "engine/kernels/attention/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/full.h>
#include <ATen/ops/randn.h>

#include <QByteArray>

#include <cmath>
#include <limits>
#include <random>

// Requests for the tests of attention().

namespace kvscope {

/// One request, with everything random about it drawn from `random`.
struct Case
{
    at::Tensor q;
    KVView view;
    std::int64_t firstQueryPosition = 0;
    AttentionSettings settings;
};

struct CaseShape
{
    std::int64_t batch = 1;
    std::int64_t numTokens = 1;
    std::int64_t numKeys = 1;
    std::int64_t numKvHeads = 1;
    std::int64_t group = 1;
    std::int64_t headDim = 16;
    std::int64_t window = 0;
    bool hasSinks = false;
    double softCap = 0.0;
    at::ScalarType dtype = at::kFloat;
    int numSegments = 1;
};

inline QByteArray describe(const CaseShape& shape)
{
    return QByteArray("B ") + QByteArray::number(qint64(shape.batch)) + ", T " +
           QByteArray::number(qint64(shape.numTokens)) + ", S " +
           QByteArray::number(qint64(shape.numKeys)) + ", Hkv " +
           QByteArray::number(qint64(shape.numKvHeads)) + ", G " +
           QByteArray::number(qint64(shape.group)) + ", D " +
           QByteArray::number(qint64(shape.headDim)) + ", window " +
           QByteArray::number(qint64(shape.window)) + (shape.hasSinks ? ", sinks" : "") + ", cap " +
           QByteArray::number(shape.softCap) + ", " + c10::toString(shape.dtype) + ", segments " +
           QByteArray::number(shape.numSegments);
}

/// Keys or values of `length` positions inside a larger buffer of NaN, so that strides differ from
/// sizes and a read outside shows.
inline at::Tensor stridedRows(const CaseShape& shape, std::int64_t length, std::int64_t slack)
{
    if (hasScales(shape.dtype)) {
        // Outside the rows every scale is some 3e38.
        auto buffer =
            at::full({shape.batch, shape.numKvHeads, length + slack, shape.headDim + kScaleBytes},
                     0x7f, at::TensorOptions(at::kChar))
                .view(shape.dtype);
        auto rows = buffer.narrow(2, slack / 2, length);
        rows.copy_(quantizedRows(at::randn({shape.batch, shape.numKvHeads, length, shape.headDim}),
                                 shape.dtype));
        return rows;
    }
    const auto missing = std::numeric_limits<double>::quiet_NaN();
    auto buffer = at::full({shape.batch, shape.numKvHeads, length + slack, shape.headDim}, missing,
                           at::TensorOptions().dtype(shape.dtype));
    auto rows = buffer.narrow(2, slack / 2, length);
    rows.copy_(at::randn(rows.sizes()));
    return rows;
}

inline Case makeCase(const CaseShape& shape, std::mt19937& random)
{
    const auto draw = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    Case result;
    const auto firstKey = draw(0, 1) * draw(1, 100'000);
    std::int64_t done = 0;
    for (int i = 0; i < shape.numSegments; ++i) {
        const auto left = shape.numKeys - done;
        const auto length = i + 1 == shape.numSegments ? left : draw(0, left);
        const auto slack = draw(0, 5);
        result.view.add({stridedRows(shape, length, slack), stridedRows(shape, length, slack),
                         firstKey + done});
        done += length;
    }
    result.firstQueryPosition = firstKey + shape.numKeys - shape.numTokens;
    result.q =
        at::randn({shape.batch, shape.numTokens, shape.numKvHeads * shape.group, shape.headDim});
    result.settings.scale = 1.0 / std::sqrt(static_cast<double>(shape.headDim));
    result.settings.window = shape.window;
    result.settings.softCap = shape.softCap;
    if (shape.hasSinks)
        result.settings.sinks = at::randn({shape.numKvHeads * shape.group}) * 4;
    return result;
}

} // namespace kvscope
