#pragma once

#include "engine/cache/kv_view.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>

#include <QList>

#include <vector>

namespace kvscope {

/// Keys [B, Hkv, T, D] in which every element of position p is p.
inline at::Tensor positionKeys(std::int64_t first, std::int64_t length, std::int64_t batch = 1,
                               std::int64_t heads = 1, std::int64_t headDim = 1)
{
    return at::arange(first, first + length, at::kFloat)
        .view({1, 1, length, 1})
        .expand({batch, heads, length, headDim})
        .clone(at::MemoryFormat::Contiguous); // owned by this tensor alone
}

/// A view's segments one after the other: [B, Hkv, S, D]; undefined where there are none.
inline at::Tensor joined(const KVView& view, at::Tensor KVSegment::*part)
{
    std::vector<at::Tensor> parts;
    for (std::size_t i = 0; i < view.numSegments; ++i)
        parts.push_back(view.segments[i].*part);
    return parts.empty() ? at::Tensor() : at::cat(parts, 2);
}
inline at::Tensor joinedKeys(const KVView& view)
{
    return joined(view, &KVSegment::keys);
}
inline at::Tensor joinedValues(const KVView& view)
{
    return joined(view, &KVSegment::values);
}

/// Whether the positions of a view follow each other across its segments.
inline bool isConsecutive(const KVView& view)
{
    for (std::size_t i = 1; i < view.numSegments; ++i)
        if (view.segments[i].firstPosition !=
            view.segments[i - 1].firstPosition + view.segments[i - 1].length())
            return false;
    return true;
}

/// The first element of every position of batch 0, head 0.
inline QList<double> positionsIn(const at::Tensor& keys)
{
    QList<double> result;
    for (std::int64_t i = 0; keys.defined() && i < keys.size(2); ++i)
        result << keys.select(0, 0)
                      .select(0, 0)
                      .select(0, i)
                      .select(0, 0)
                      .to(at::kDouble)
                      .item()
                      .toDouble();
    return result;
}

/// Stages and commits one chunk.
template <typename Buffer>
void append(Buffer& buffer, const at::Tensor& keys, const at::Tensor& values)
{
    buffer.stage(keys, values);
    buffer.commit();
}

} // namespace kvscope
