// The CUDA kernels' sources, compiled for the CPU.
#include "engine/kernels/decode_attention.cu"
#include "engine/kernels/elementwise.cu"
#include "engine/kernels/step_launch.cpp"
#include "engine/kernels/step_layer.cu"
#include "engine/kernels/step_product.cu"
#include "engine/kernels/top_logits.cu"
#include "engine/kernels/weight_product.cu"
