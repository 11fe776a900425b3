// The CUDA kernels' sources, compiled for the CPU.
#include "engine/kernels/cuda/decode_attention.cu"
#include "engine/kernels/cuda/elementwise.cu"
#include "engine/kernels/cuda/step_launch.cpp"
#include "engine/kernels/cuda/step_layer.cu"
#include "engine/kernels/cuda/step_product.cu"
#include "engine/kernels/cuda/top_logits.cu"
#include "engine/kernels/cuda/weight_product.cu"
