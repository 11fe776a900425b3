#include "engine/kernels/linear/linear_paths.h"

#include <ATen/ops/mm.h>

namespace kvscope {

at::Tensor linearTensorOps(const at::Tensor& x, const WeightMatrix& weight)
{
    return at::mm(x, expandTensorOps(weight, x.scalar_type()).t());
}

} // namespace kvscope
