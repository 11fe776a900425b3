#include "engine/kernels/device_memory.h"

#include "engine/base/cuda_devices.h"
#include "engine/base/memory_reading.h"
#include "engine/kernels/cuda/cuda_backend.h"

#include <algorithm>

namespace kvscope {

std::optional<std::uint64_t> readFreeMemory(c10::Device device)
{
    if (device.is_cpu())
        return readFreeHostMemory();
    const int index = std::max<int>(0, device.index());
    const CudaKernels* kernels = cudaKernels();
    for (const CudaDevice& found : readCudaDevices())
        if (found.index == index && found.freeBytes)
            return *found.freeBytes + (kernels != nullptr ? kernels->keptBytes(index) : 0);
    return std::nullopt;
}

} // namespace kvscope
