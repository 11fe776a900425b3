#pragma once

#include "engine/model/decoder_weights.h"

#include <ATen/core/Tensor.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvscope {

/// Turns a checkpoint's sources into weights on a device, counting bytes for progress.
class WeightReader
{
public:
    /// \param totalBytes  of the checkpoint, for progress
    WeightReader(std::uint64_t totalBytes, at::Device device, ComputeType type,
                 const DecoderOptions& options);

    // What a source does not have is without rows, or undefined. All throw Stopped.

    /// Used where it lies where possible; strided, transposed and MXFP4 sources are copied.
    WeightMatrix matrix(const MatrixSource& source);
    /// Gains, biases and sinks: small, always float32.
    at::Tensor vector(const VectorSource& source);
    LinearWeights linear(const LinearTensors& tensors);
    FeedForwardWeights feedForward(const FeedForwardTensors& tensors);
    std::vector<FeedForwardWeights> feedForwards(const std::vector<FeedForwardTensors>& tensors);

private:
    WeightMatrix blockMatrix(const MatrixSource& source);
    WeightMatrix plainMatrix(const MatrixSource& source);
    WeightMatrix mxfp4Matrix(const MatrixSource& source);
    at::ScalarType computedType(at::ScalarType stored) const;
    at::Tensor placed(const at::Tensor& tensor) const;
    void readThrough(std::span<const std::byte> bytes);

    at::Device m_device;
    ComputeType m_type;
    const DecoderOptions& m_options;
    std::uint64_t m_totalBytes;
    std::uint64_t m_doneBytes = 0;
};

} // namespace kvscope
