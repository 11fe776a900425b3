#pragma once

#include "engine/kernels/cpu_features.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/elementwise/elementwise_kernels.h"

namespace kvscope {

/// The loops for an instruction set, which must be available here; apart so that tests compare
/// both.
const ElementwiseKernels& elementwiseKernels(InstructionSet instructions);

/// The best loop for an activation; null where there is none of our own.
GatedRow gatedRow(Activation activation);

/// Plain C++ for any processor.
const ElementwiseKernels& portableElementwiseKernels();

} // namespace kvscope
