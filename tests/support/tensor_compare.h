#pragma once

#include <ATen/core/Tensor.h>

#include <QString>

namespace kvscope {

/// Compares two tensors of one shape element by element, in float64.
/// \returns an empty text where |got - want| <= atol + rtol * |want| everywhere; otherwise one line
/// with
///          the element furthest outside its bound, its index and both values, or what differs in
///          shape. An element that is not a number only matches one that is not a number;
///          infinities only match themselves.
/// \code
///   const QString difference = compareTensors(got, want, 2e-4, 1e-4);
///   QVERIFY2(difference.isEmpty(), qPrintable(difference));
/// \endcode
QString compareTensors(const at::Tensor& got, const at::Tensor& want, double atol, double rtol);

} // namespace kvscope
