#include "engine/kernels/linear/linear_paths.h"

#include <ATen/ops/mm.h>

namespace kvscope {

at::Tensor linearTensorOps(const at::Tensor& x, const WeightMatrix& weight, at::ScalarType result)
{
    const at::Tensor transposed = expandTensorOps(weight, x.scalar_type()).t();
    return result == x.scalar_type() ? at::mm(x, transposed) : at::mm(x, transposed, result);
}

} // namespace kvscope
