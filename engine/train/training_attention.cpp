#include "engine/train/training_attention.h"

#include <ATen/TensorOperators.h>
#include <ATen/ops/arange.h>
#include <ATen/ops/cat.h>
#include <ATen/ops/full.h>
#include <ATen/ops/matmul.h>
#include <ATen/ops/pad.h>
#include <ATen/ops/scaled_dot_product_attention.h>
#include <ATen/ops/softmax.h>
#include <ATen/ops/zeros.h>

#include <cmath>
#include <limits>

namespace kvscope {
namespace {

/// Key/value heads repeated, so that each query head has its own.
at::Tensor repeatedHeads(const at::Tensor& x, std::int64_t numHeads)
{
    const std::int64_t group = numHeads / x.size(1);
    return group == 1 ? x : x.repeat_interleave(group, 1);
}

} // namespace

at::Tensor causalAttentionWithSinks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                    const at::Tensor& sinks)
{
    // The sink becomes a key in front: one more dimension, in which every query holds its head's
    // sink and only that key is not zero.
    const std::int64_t batch = q.size(0), heads = q.size(1), length = q.size(2), dim = q.size(3);
    const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
    const at::Tensor sinkPart = sinks.view({1, heads, 1, 1}).expand({batch, heads, length, 1});
    const at::Tensor queries = at::cat({q, sinkPart}, 3);
    at::Tensor sinkKey = at::zeros({batch, heads, 1, dim + 1}, q.options());
    sinkKey.select(3, dim).fill_(1.0 / scale);
    const at::Tensor keys = at::cat({sinkKey, at::pad(repeatedHeads(k, heads), {0, 1})}, 2);
    const at::Tensor values = at::pad(repeatedHeads(v, heads), {0, 1, 1, 0}); // a row, a column
    // Query i sees the sink and keys 0 to i: with the sink's key in front, i + 1 of them. Causal
    // masks count from the start, so the queries get a row in front too.
    const at::Tensor out = at::scaled_dot_product_attention(at::pad(queries, {0, 0, 1, 0}), keys,
                                                            values, std::nullopt, 0.0, true, scale);
    return out.slice(2, 1).slice(3, 0, dim);
}

at::Tensor windowedAttentionWithSinks(const at::Tensor& q, const at::Tensor& k, const at::Tensor& v,
                                      const at::Tensor& sinks, std::int64_t window)
{
    const std::int64_t batch = q.size(0), heads = q.size(1), length = q.size(2), dim = q.size(3);
    if (length <= window)
        return causalAttentionWithSinks(q, k, v, sinks);
    const std::int64_t blocks = (length + window - 1) / window;
    const std::int64_t padding = blocks * window - length;
    // A block of queries sees its own keys and those of the block before.
    const auto inBlocks = [&](const at::Tensor& x) {
        const at::Tensor padded = at::pad(repeatedHeads(x, heads), {0, 0, window, padding});
        const at::Tensor split = padded.view({batch, heads, blocks + 1, window, dim});
        return at::cat({split.slice(2, 0, blocks), split.slice(2, 1)}, 3); // [B, H, n, 2W, D]
    };
    const at::Tensor queries =
        at::pad(q, {0, 0, 0, padding}).view({batch, heads, blocks, window, dim});
    const double scale = 1.0 / std::sqrt(static_cast<double>(dim));
    at::Tensor scores = at::matmul(queries, inBlocks(k).transpose(-2, -1)) * scale;
    const at::Tensor row = at::arange(window, q.options()).view({window, 1});
    const at::Tensor column = at::arange(2 * window, q.options()).view({1, 2 * window});
    const at::Tensor isHidden =
        column.le(row).logical_or(column.gt(row + static_cast<double>(window)));
    at::Tensor isHiddenByBlock = isHidden.expand({blocks, window, 2 * window}).clone();
    isHiddenByBlock.select(0, 0).slice(1, 0, window).fill_(true); // nothing lies before the text
    scores = scores.masked_fill(isHiddenByBlock, -std::numeric_limits<float>::infinity());
    const at::Tensor sinkScores =
        sinks.view({1, heads, 1, 1, 1}).expand({batch, heads, blocks, window, 1});
    const at::Tensor weights =
        at::softmax(at::cat({scores, sinkScores}, 4), -1).slice(4, 0, 2 * window);
    return at::matmul(weights, inBlocks(v))
        .view({batch, heads, blocks * window, dim})
        .slice(2, 0, length);
}

} // namespace kvscope
