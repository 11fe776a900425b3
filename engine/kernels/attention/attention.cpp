#include "engine/kernels/attention/attention.h"

#include "engine/cache/scaled_rows.h"
#include "engine/kernels/attention/attention_blocks.h"
#include "engine/kernels/attention/attention_cpu.h"
#include "engine/kernels/attention/attention_flash.h"
#include "engine/kernels/attention/attention_integers.h"
#include "engine/kernels/cpu_features.h"
#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/kernels/cuda/decode_attention_launch.h"

namespace kvscope {

namespace {

void checkSegment(const at::Tensor& q, const KVSegment& segment, std::int64_t numKvHeads)
{
    const auto row = rowElements(segment.keys.scalar_type(), q.size(3));
    for (const auto* tensor : {&segment.keys, &segment.values}) {
        TORCH_CHECK(tensor->dim() == 4 && tensor->size(0) == q.size(0) &&
                        tensor->size(1) == numKvHeads && tensor->size(2) == segment.length() &&
                        tensor->size(3) == row,
                    "attention: keys and values must be [B, Hkv, S, D] = [", q.size(0), ", ",
                    numKvHeads, ", ", segment.length(), ", ", row, "], not ", tensor->sizes());
        TORCH_CHECK(tensor->stride(3) == 1 || tensor->size(3) == 1,
                    "attention: the last dimension of keys and values must be contiguous");
        TORCH_CHECK(tensor->device() == q.device() &&
                        tensor->scalar_type() == segment.keys.scalar_type(),
                    "attention: keys and values must have one dtype and the queries' device");
    }
}

/// What the fast paths rely on; attentionReference() leaves most of it to ATen.
void checkCall(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
               const AttentionSettings& settings)
{
    TORCH_CHECK(q.dim() == 4 && q.is_contiguous(),
                "attention: queries must be contiguous [B, T, H, D], not ", q.sizes());
    TORCH_CHECK(view.numSegments > 0, "attention: there are no keys to attend to");
    const auto numKvHeads = view.segments[0].keys.size(1);
    TORCH_CHECK(numKvHeads > 0 && q.size(2) % numKvHeads == 0, "attention: ", q.size(2),
                " query heads cannot share ", numKvHeads, " key/value heads");
    auto position = view.firstPosition();
    for (std::size_t i = 0; i < view.numSegments; ++i) {
        checkSegment(q, view.segments[i], numKvHeads);
        TORCH_CHECK(view.segments[i].firstPosition == position, "attention: segment ", i,
                    " starts at position ", view.segments[i].firstPosition, ", not ", position);
        position += view.segments[i].length();
    }
    const auto lastQuery = firstQueryPosition + q.size(1) - 1;
    TORCH_CHECK(settings.window >= 0, "attention: the window is negative");
    TORCH_CHECK(
        firstQueryPosition >= view.firstPosition() &&
            (settings.window == 0 || lastQuery - settings.window < position - 1 || q.size(1) == 0),
        "attention: a query sees no key (queries ", firstQueryPosition, " to ", lastQuery,
        ", keys ", view.firstPosition(), " to ", position - 1, ", window ", settings.window, ")");
    if (settings.sinks.defined()) {
        TORCH_CHECK(settings.sinks.dim() == 1 && settings.sinks.size(0) == q.size(2) &&
                        settings.sinks.is_contiguous() &&
                        settings.sinks.scalar_type() == at::kFloat &&
                        settings.sinks.device() == q.device(),
                    "attention: sinks must be float32 [", q.size(2), "] on the queries' device");
    }
}

/// Whether every row begins where pairs of numbers, or the scales of int8 and fp8, can be read at
/// once.
bool isEvenlyLaidOut(const at::Tensor& tensor)
{
    const std::int64_t elements = hasScales(tensor.scalar_type()) ? kScaleBytes : 2;
    const auto bytes = static_cast<std::uintptr_t>(elements * tensor.element_size());
    return tensor.stride(0) % elements == 0 && tensor.stride(1) % elements == 0 &&
           tensor.stride(2) % elements == 0 &&
           reinterpret_cast<std::uintptr_t>(tensor.const_data_ptr()) % bytes == 0;
}

/// The limits of engine/kernels/cuda/decode_attention_launch.h.
bool fitsDecodeKernel(const at::Tensor& q, const KVView& view, const AttentionSettings& settings)
{
    const auto group = q.size(2) / view.segments[0].keys.size(1);
    if (settings.softCap > 0.0 || !q.is_cuda() || q.size(1) != 1 || group > kDecodeMaxGroup ||
        q.size(3) > kDecodeMaxHeadDim || q.size(3) % 2 != 0)
        return false;
    for (std::size_t i = 0; i < view.numSegments; ++i) {
        const auto& segment = view.segments[i];
        if ((hasScales(segment.keys.scalar_type()) && q.size(3) % kScaleBytes != 0) ||
            segment.keys.scalar_type() != view.segments[0].keys.scalar_type() ||
            !isEvenlyLaidOut(segment.keys) || !isEvenlyLaidOut(segment.values))
            return false;
    }
    return true;
}

} // namespace

const AttentionSimd& attentionSimd(InstructionSet instructions)
{
#ifdef KVSCOPE_X86
    if (instructions == InstructionSet::Avx512)
        return kAttentionAvx512;
    if (instructions == InstructionSet::Avx2)
        return kAttentionAvx2;
#endif
    TORCH_CHECK(instructions == InstructionSet::Portable,
                "attention: instruction set not compiled in");
    return kAttentionPlain;
}

const PrefillSimd* integerPrefill()
{
#ifdef KVSCOPE_X86
    if (hasVnni())
        return &kIntegerPrefillAvx512;
    if (hasAvxVnni())
        return &kIntegerPrefillAvx2;
#endif
    return nullptr;
}

const AttentionSimd& attentionSimd()
{
    static const AttentionSimd best = [] {
        AttentionSimd simd = attentionSimd(bestInstructionSet());
        simd.roundedPrefill = integerPrefill();
        return simd;
    }();
    return best;
}

at::Tensor attention(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                     const AttentionSettings& settings)
{
    checkCall(q, view, firstQueryPosition, settings);
    if (q.numel() == 0)
        return q.clone();
    if (q.is_cpu())
        return attentionOnCpu(q, view, firstQueryPosition, settings, attentionSimd());
    if (const auto* kernels = cudaKernels();
        kernels != nullptr && fitsDecodeKernel(q, view, settings))
        return kernels->decodeAttention(q, view, firstQueryPosition, settings);
    if (q.is_cuda() && fitsFlashAttention(q, view, firstQueryPosition, settings))
        return attentionThroughFlash(q, view, firstQueryPosition, settings, flashAttentionOnCuda);
    return attentionInBlocks(q, view, firstQueryPosition, settings);
}

} // namespace kvscope
