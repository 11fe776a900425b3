#include "engine/kernels/attention.h"

namespace kvscope {

at::Tensor attention(const at::Tensor& q, const KVView& view, std::int64_t firstQueryPosition,
                     const AttentionSettings& settings)
{
    return attentionReference(q, view, firstQueryPosition, settings);
}

} // namespace kvscope
