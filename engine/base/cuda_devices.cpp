#include "engine/base/cuda_devices.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <dlfcn.h>

namespace kvscope {
namespace {

/// A shared library that may not be there. Never closed: drivers do not like to be unloaded.
class Library
{
public:
    explicit Library(const char* name)
        : m_handle(dlopen(name, RTLD_LAZY | RTLD_LOCAL))
    {
    }
    /// Finds a function; false, and null, where it is missing.
    template <typename Function>
    bool find(const char* name, Function*& function) const
    {
        void* found = m_handle == nullptr ? nullptr : dlsym(m_handle, name);
        function = reinterpret_cast<Function*>(found);
        return found != nullptr;
    }

private:
    void* m_handle;
};

constexpr int kSuccess = 0; // CUDA_SUCCESS and NVML_SUCCESS

/// What is used of the driver API. Types from cuda.h: CUresult, CUdevice and int are int.
struct Driver
{
    int (*init)(unsigned) = nullptr;
    int (*count)(int*) = nullptr;
    int (*name)(char*, int, int) = nullptr;
    int (*totalMemory)(std::size_t*, int) = nullptr;
    int (*busId)(char*, int, int) = nullptr;

    bool load()
    {
        const Library library("libcuda.so.1");
        return library.find("cuInit", init) && library.find("cuDeviceGetCount", count) &&
               library.find("cuDeviceGetName", name) &&
               library.find("cuDeviceTotalMem_v2", totalMemory) &&
               library.find("cuDeviceGetPCIBusId", busId) && init(0) == kSuccess;
    }
};

/// What is used of NVML, which knows free memory without a context. Types from nvml.h.
struct Nvml
{
    struct Memory
    {
        unsigned long long total, free, used;
    };
    int (*init)() = nullptr;
    int (*byBusId)(const char*, void**) = nullptr;
    int (*memory)(void*, Memory*) = nullptr;

    bool load()
    {
        const Library library("libnvidia-ml.so.1");
        return library.find("nvmlInit_v2", init) &&
               library.find("nvmlDeviceGetHandleByPciBusId_v2", byBusId) &&
               library.find("nvmlDeviceGetMemoryInfo", memory) && init() == kSuccess;
    }

    std::optional<std::uint64_t> freeBytes(const char* busId, std::uint64_t totalBytes) const
    {
        void* device = nullptr;
        Memory reading{};
        if (byBusId(busId, &device) != kSuccess || memory(device, &reading) != kSuccess)
            return std::nullopt;
        // Of a GPU that is split (MIG), NVML tells of the whole and the driver of our part.
        return std::min<std::uint64_t>(reading.free, totalBytes);
    }
};

} // namespace

std::vector<CudaDevice> readCudaDevices()
{
    Driver driver;
    int count = 0;
    if (!driver.load() || driver.count(&count) != kSuccess)
        return {};
    Nvml nvml;
    const bool hasNvml = nvml.load();
    std::vector<CudaDevice> devices;
    for (int index = 0; index < count; ++index) {
        std::array<char, 128> name{};
        std::array<char, 32> busId{};
        std::size_t totalBytes = 0;
        // A CUdevice is its ordinal; cuDeviceGet says so and does nothing else.
        if (driver.name(name.data(), static_cast<int>(name.size()) - 1, index) != kSuccess ||
            driver.totalMemory(&totalBytes, index) != kSuccess)
            continue;
        CudaDevice device{index, name.data(), totalBytes, std::nullopt};
        if (hasNvml &&
            driver.busId(busId.data(), static_cast<int>(busId.size()) - 1, index) == kSuccess)
            device.freeBytes = nvml.freeBytes(busId.data(), totalBytes);
        devices.push_back(std::move(device));
    }
    return devices;
}

} // namespace kvscope
