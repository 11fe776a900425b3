// The tensor side of the CUDA decode kernel and the module's entry; compiled into
// libkvscope_cuda.so alone.

#include "engine/kernels/cuda_backend.h"
#include "engine/kernels/cuda_tensors.h"
#include "engine/kernels/decode_attention.h"
#include "engine/kernels/elementwise_cuda.h"
#include "engine/kernels/weight_product_cuda.h"

#include <ATen/core/Tensor.h>
#include <ATen/ops/empty.h>
#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAFunctions.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

#include <algorithm>
#include <cstddef>

namespace kvscope {

namespace {

CudaNumber cacheNumberOf(const at::Tensor& rows)
{
    return rows.scalar_type() == at::kChar ? CudaNumber::Int8 : cudaNumberOf(rows);
}

DecodePiece pieceOf(const KVSegment& segment)
{
    DecodePiece piece{};
    piece.keys = segment.keys.const_data_ptr();
    piece.values = segment.values.const_data_ptr();
    for (int i = 0; i < 3; ++i) {
        piece.keyStrides[i] = segment.keys.stride(i);
        piece.valueStrides[i] = segment.values.stride(i);
    }
    piece.firstPosition = segment.firstPosition;
    piece.length = segment.length();
    return piece;
}

at::Tensor decodeAttention(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                           const AttentionSettings& settings)
{
    TORCH_CHECK(
        q.is_cuda() && q.is_contiguous() && q.size(1) == 1 && q.size(3) % 2 == 0 &&
            q.size(3) <= kDecodeMaxHeadDim,
        "decode attention: queries must be contiguous CUDA [B, 1, H, D], D even and at most ",
        kDecodeMaxHeadDim, ", not ", q.sizes());
    const c10::cuda::CUDAGuard guard(q.device());
    DecodeAttentionLaunch launch{};
    launch.batch = static_cast<int>(q.size(0));
    launch.numKvHeads = static_cast<int>(view.segments[0].keys.size(1));
    launch.group = static_cast<int>(q.size(2) / launch.numKvHeads);
    launch.headDim = static_cast<int>(q.size(3));
    TORCH_CHECK(launch.group <= kDecodeMaxGroup, "decode attention: more than ", kDecodeMaxGroup,
                " query heads per key/value head");
    launch.scale = static_cast<float>(settings.scale);
    launch.sinks = settings.sinks.defined() ? settings.sinks.const_data_ptr<float>() : nullptr;
    launch.keyType = cacheNumberOf(view.segments[0].keys);
    launch.numPieces = static_cast<int>(view.numSegments);
    for (std::size_t i = 0; i < view.numSegments; ++i)
        launch.pieces[i] = pieceOf(view.segments[i]);
    launch.end = std::min(firstQueryPosition + 1, view.firstPosition() + view.length());
    launch.begin = settings.window > 0
                       ? std::max(view.firstPosition(), firstQueryPosition - settings.window + 1)
                       : view.firstPosition();
    int multiprocessors = 1;
    C10_CUDA_CHECK(
        cudaDeviceGetAttribute(&multiprocessors, cudaDevAttrMultiProcessorCount, q.get_device()));
    planSplits(launch, multiprocessors);

    const auto out = at::empty(q.sizes(), q.options());
    const auto scratch = q.options().dtype(at::kFloat);
    const auto values = at::empty({q.size(0), q.size(2), launch.numSplits, q.size(3)}, scratch);
    const auto states = at::empty({q.size(0), q.size(2), launch.numSplits, 2}, scratch);
    launch.queryType = cudaNumberOf(q);
    launch.q = q.const_data_ptr();
    launch.out = out.mutable_data_ptr();
    launch.partialValues = values.mutable_data_ptr<float>();
    launch.partialStates = states.mutable_data_ptr<float>();
    C10_CUDA_CHECK(launchDecodeAttention(launch, c10::cuda::getCurrentCUDAStream().stream()));
    return out;
}

int deviceCount()
{
    return c10::cuda::device_count();
}

constexpr CudaKernels kKernels{sizeof(CudaKernels), deviceCount,   decodeAttention,
                               weightProductOnCuda, rmsNormOnCuda, rotateOnCuda,
                               gatedOnCuda};

} // namespace

} // namespace kvscope

/// What ensureCudaBackend() looks up.
extern "C" [[gnu::visibility("default")]] const kvscope::CudaKernels* kvscopeCudaKernels()
{
    return &kvscope::kKernels;
}
