#include "engine/kernels/attention/attention_cpu.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cmath>

namespace kvscope {

namespace {

KVType storageOf(const at::Tensor& tensor)
{
    switch (tensor.scalar_type()) {
    case at::kFloat:
        return KVType::Float32;
    case at::kBFloat16:
        return KVType::BFloat16;
    case at::kHalf:
        return KVType::Float16;
    case at::kChar:
        return KVType::Int8;
    case at::kFloat8_e4m3fn:
        return KVType::Fp8;
    default:
        TORCH_CHECK(false,
                    "attention: keys and values must be float32, bfloat16, float16, int8 or fp8, "
                    "not ",
                    tensor.scalar_type());
    }
}

KVPiece pieceOf(const KVSegment& segment)
{
    const auto& keys = segment.keys;
    const auto& values = segment.values;
    KVPiece piece;
    piece.keys = static_cast<const std::byte*>(keys.const_data_ptr());
    piece.values = static_cast<const std::byte*>(values.const_data_ptr());
    piece.keyStrides = {keys.stride(0), keys.stride(1), keys.stride(2)};
    piece.valueStrides = {values.stride(0), values.stride(1), values.stride(2)};
    piece.type = storageOf(keys);
    piece.firstPosition = segment.firstPosition;
    piece.length = segment.length();
    return piece;
}

KVRows rowsAt(const std::byte* data, KVType type, const std::array<std::int64_t, 3>& strides,
              std::int64_t batch, std::int64_t head)
{
    // One step along a row of stride `offset` elements.
    const KVRows origin{data, batch * strides[0] + head * strides[1], type};
    return {origin.from(1).data, strides[2], type};
}

} // namespace

KVRows KVPiece::keyRows(std::int64_t batch, std::int64_t head) const
{
    return rowsAt(keys, type, keyStrides, batch, head);
}

KVRows KVPiece::valueRows(std::int64_t batch, std::int64_t head) const
{
    return rowsAt(values, type, valueStrides, batch, head);
}

std::int64_t CpuAttention::visibleBegin(std::int64_t row) const
{
    const auto first = pieces[0].firstPosition;
    return window > 0 ? std::max(first, position(row) - window + 1) : first;
}

bool CpuAttention::fillVisible(std::int64_t firstRow, std::int64_t rows, std::int64_t begin,
                               std::int64_t end, VisibleKeys* visible) const
{
    const bool allSeeBegin = window == 0 || begin > position(firstRow + rows - 1) - window;
    const bool allSeeEnd = end - 1 <= position(firstRow);
    if (allSeeBegin && allSeeEnd)
        return false;
    for (std::int64_t i = 0; i < rows; ++i) {
        const auto at = position(firstRow + i);
        const auto lo = window > 0 ? std::clamp(at - window + 1, begin, end) : begin;
        const auto hi = std::clamp(at + 1, lo, end);
        visible[i] = {static_cast<std::int32_t>(lo - begin), static_cast<std::int32_t>(hi - begin)};
    }
    return true;
}

void CpuAttention::finishRow(std::int64_t batchIndex, std::int64_t kvHead, std::int64_t row,
                             float max, float sum, const float* acc) const
{
    if (sinks != nullptr)
        sum += std::exp(sinks[kvHead * group() + row % group()] - max);
    const float factor = 1.0F / sum;
    float* to = out + rowOffset(batchIndex, kvHead, row);
    for (std::int64_t d = 0; d < headDim; ++d)
        to[d] = acc[d] * factor;
}

CpuAttention cpuAttention(const float* q, float* out, at::IntArrayRef shape, const KVView& view,
                          std::int64_t firstQueryPosition, const AttentionSettings& settings)
{
    CpuAttention call;
    call.q = q;
    call.out = out;
    call.sinks = settings.sinks.defined() ? settings.sinks.const_data_ptr<float>() : nullptr;
    call.batch = shape[0];
    call.numTokens = shape[1];
    call.numHeads = shape[2];
    call.headDim = shape[3];
    call.numKvHeads = view.segments[0].keys.size(1);
    call.scale = static_cast<float>(settings.scale);
    call.softCap = static_cast<float>(settings.softCap);
    call.window = settings.window;
    call.isExact = settings.isExact;
    call.isStreamed = settings.isStreamed;
    call.firstQueryPosition = firstQueryPosition;
    call.numPieces = view.numSegments;
    for (std::size_t i = 0; i < view.numSegments; ++i)
        call.pieces[i] = pieceOf(view.segments[i]);
    return call;
}

at::Tensor attentionOnCpu(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                          const AttentionSettings& settings, const AttentionSimd& simd,
                          std::int64_t numParts)
{
    TORCH_CHECK(q.scalar_type() == at::kFloat,
                "attention: queries on the CPU must be float32, not ", q.scalar_type());
    auto out = at::empty(q.sizes(), q.options());
    CpuAttention call = cpuAttention(q.const_data_ptr<float>(), out.mutable_data_ptr<float>(),
                                     q.sizes(), view, firstQueryPosition, settings);
    call.numParts = numParts;
    if (call.numRows() <= DecodeBlock::kMaxRows)
        attendDecode(call, simd);
    else
        attendPrefill(call, simd);
    return out;
}

} // namespace kvscope
