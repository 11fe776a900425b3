#include "engine/kernels/cuda/cuda_backend.h"

#include "engine/base/errors.h"

#include <ATen/detail/CUDAHooksInterface.h>

#include <atomic>
#include <dlfcn.h>
#include <filesystem>
#include <mutex>
#include <string>

namespace kvscope {

namespace {

std::atomic<const CudaKernels*> loadedKernels{nullptr};

#ifdef KVSCOPE_CUDA_MODULE

constexpr const char* kModuleName = "libkvscope_cuda.so";

/// Beside the program, in lib/ next to its folder, or where the build put it.
std::filesystem::path findModule()
{
    std::error_code ignored;
    const auto folder = std::filesystem::read_symlink("/proc/self/exe", ignored).parent_path();
    for (const auto& candidate :
         {folder / kModuleName, folder.parent_path() / "lib" / kModuleName}) {
        if (std::filesystem::exists(candidate, ignored))
            return candidate;
    }
    return KVSCOPE_CUDA_MODULE;
}

/// Never closed: the dispatcher keeps pointers into it.
void* openLibrary(const std::string& path, const char* what)
{
    void* handle = dlopen(path.c_str(), RTLD_LAZY | RTLD_GLOBAL);
    if (handle == nullptr) {
        const char* reason = dlerror();
        throw ArgumentError(std::string(what) +
                                " could not be loaded, so only the CPU can be used.",
                            reason != nullptr ? reason : "");
    }
    return handle;
}

const CudaKernels* loadKernels()
{
    if (dlopen("libcuda.so.1", RTLD_LAZY) == nullptr)
        throw ArgumentError(
            "No NVIDIA driver was found on this machine (libcuda.so.1), so only the CPU "
            "can be used.");
    openLibrary("libtorch_cuda.so", "LibTorch's CUDA library (libtorch_cuda.so)");
    void* module = openLibrary(findModule(), "kvscope's CUDA library (libkvscope_cuda.so)");
    using Entry = const CudaKernels* (*)();
    const auto entry = reinterpret_cast<Entry>(dlsym(module, "kvscopeCudaKernels"));
    const auto* kernels = entry != nullptr ? entry() : nullptr;
    if (kernels == nullptr ||
        kernels->interface != CudaInterface{.kernelsSize = sizeof(CudaKernels)})
        throw ArgumentError("kvscope's CUDA library is from another version; build kvscope again.");
    if (kernels->deviceCount() == 0)
        throw ArgumentError("No usable NVIDIA GPU was found, or its driver is too old for CUDA 13 "
                            "(it must be 580 or later), so only the CPU can be used.");
    if (!at::detail::getCUDAHooks().hasCUDA())
        throw ArgumentError(
            "CUDA must be chosen when the program starts: LibTorch has already settled on "
            "the CPU. Start again with the CUDA device.");
    return kernels;
}

#else

const CudaKernels* loadKernels()
{
    throw ArgumentError(
        "This build has no CUDA kernels; build kvscope where a CUDA 13 compiler (nvcc) is "
        "installed, or use the CPU.");
}

#endif

} // namespace

void ensureCudaBackend()
{
    static std::mutex mutex;
    const std::lock_guard lock(mutex);
    if (loadedKernels == nullptr)
        loadedKernels = loadKernels();
}

const CudaKernels* cudaKernels()
{
    return loadedKernels;
}

bool hasCudaBuild()
{
#ifdef KVSCOPE_CUDA_MODULE
    return true;
#else
    return false;
#endif
}

} // namespace kvscope
