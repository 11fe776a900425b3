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
    if (const CudaKernels* kernels = cudaKernels())
        return kernels->freeBytes(index);
    for (const CudaDevice& found : readCudaDevices())
        if (found.index == index)
            return found.freeBytes;
    return std::nullopt;
}

} // namespace kvscope
