#include "engine/cache/scaled_rows.h"
#include "engine/kernels/attention/attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/tanh.h>

#include <array>
#include <limits>

namespace kvscope {

namespace {

/// All segments' keys (or values) in time order, each key/value head repeated for its query heads:
/// [B, H, S, D] in `dtype`.
at::Tensor joined(const KVView& view, at::Tensor KVSegment::*part, std::int64_t numHeads,
                  at::ScalarType dtype)
{
    std::vector<at::Tensor> pieces;
    for (std::size_t i = 0; i < view.numSegments; ++i)
        pieces.push_back(cachedNumbers(view.segments[i].*part, dtype));
    const auto all = at::cat(pieces, 2);
    const auto group = numHeads / all.size(1);
    return all.unsqueeze(2)
        .expand({all.size(0), all.size(1), group, all.size(2), all.size(3)})
        .reshape({all.size(0), numHeads, all.size(2), all.size(3)});
}

} // namespace

at::Tensor attentionReference(const at::Tensor& q, const KVView& view,
                              std::int64_t firstQueryPosition, const AttentionSettings& settings)
{
    // float64 queries are computed in float64, which tests use to measure rounding.
    const auto dtype = q.scalar_type() == at::kDouble ? at::kDouble : at::kFloat;
    const auto numHeads = q.size(2);
    const auto keys = joined(view, &KVSegment::keys, numHeads, dtype);
    const auto values = joined(view, &KVSegment::values, numHeads, dtype);

    auto scores = at::matmul(q.to(dtype).transpose(1, 2), keys.transpose(2, 3)) * settings.scale;
    if (settings.softCap > 0.0)
        scores = at::tanh(scores / settings.softCap) * settings.softCap;
    const auto longs = at::TensorOptions(q.device()).dtype(at::kLong);
    const auto queryPositions = at::arange(q.size(1), longs).unsqueeze(1) + firstQueryPosition;
    const auto keyPositions = at::arange(keys.size(2), longs).unsqueeze(0) + view.firstPosition();
    const auto distance = queryPositions - keyPositions; // [T, S]
    auto hidden = distance < 0;
    if (settings.window > 0)
        hidden = hidden | (distance >= settings.window);
    scores = scores.masked_fill(hidden, -std::numeric_limits<double>::infinity());

    if (settings.sinks.defined()) {
        const auto column = settings.sinks.to(dtype).view({1, numHeads, 1, 1});
        const std::array parts{scores, column.expand({q.size(0), numHeads, q.size(1), 1})};
        scores = at::cat(parts, 3);
    }
    // The sink's column has no value: it only takes probability away.
    const auto weights = at::softmax(scores, -1).narrow(3, 0, keys.size(2));
    return at::matmul(weights, values).transpose(1, 2).contiguous().to(q.scalar_type());
}

} // namespace kvscope
