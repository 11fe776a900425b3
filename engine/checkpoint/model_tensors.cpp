#include "engine/checkpoint/model_tensors.h"

#include <utility>

namespace kvscope {

MatrixSource MatrixSource::rowsFrom(std::int64_t first, std::int64_t count, std::int64_t step) const
{
    MatrixSource part = *this;
    part.offset += first * rowStride;
    part.rows = count;
    part.rowStride *= step;
    return part;
}

MatrixSource MatrixSource::transposed() const
{
    MatrixSource turned = *this;
    std::swap(turned.rows, turned.cols);
    std::swap(turned.rowStride, turned.colStride);
    return turned;
}

VectorSource VectorSource::from(std::int64_t first, std::int64_t count, std::int64_t step) const
{
    return {tensor, offset + first * stride, count, stride * step};
}

} // namespace kvscope
