#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// An NVIDIA GPU as its driver describes it.
struct CudaDevice
{
    int index = 0;    ///< in CUDA's order, so "cuda:0" is index 0; honours CUDA_VISIBLE_DEVICES
    std::string name; ///< "NVIDIA A100-SXM4-80GB"
    std::uint64_t totalBytes = 0;
    std::optional<std::uint64_t> freeBytes; ///< nothing where NVML does not say
};

/// The GPUs of this machine; none where there is no driver. Asks the driver (libcuda) and NVML
/// through dlopen: no CUDA context is made, no memory of a GPU taken, and LibTorch is not touched.
/// The first call takes some 0.1 s where there is a driver. Any thread but the GUI's.
std::vector<CudaDevice> readCudaDevices();

} // namespace kvscope
