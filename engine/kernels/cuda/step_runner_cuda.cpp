// Compiled into libkvscope_cuda.so alone.

#include "engine/kernels/cuda/step_runner_cuda.h"

#include "engine/kernels/cuda/step_kernels.h"

#include <c10/cuda/CUDAException.h>
#include <c10/cuda/CUDAGuard.h>
#include <c10/cuda/CUDAStream.h>

namespace kvscope {

namespace {

class CudaStepRunner : public StepRunner
{
public:
    explicit CudaStepRunner(c10::Device device)
        : m_device(device)
    {
        const c10::cuda::CUDAGuard guard(m_device);
        C10_CUDA_CHECK(cudaDeviceGetAttribute(&m_multiprocessors, cudaDevAttrMultiProcessorCount,
                                              m_device.index()));
        // Apart from PyTorch's: the default stream cannot be captured.
        C10_CUDA_CHECK(cudaStreamCreateWithFlags(&m_capturing, cudaStreamNonBlocking));
    }
    ~CudaStepRunner() override
    {
        const c10::cuda::CUDAGuard guard(m_device);
        forgetGraph();
        C10_CUDA_CHECK_WARN(cudaStreamDestroy(m_capturing));
    }

    void run(std::span<const StepLaunch> launches, bool areNew) override
    {
        const c10::cuda::CUDAGuard guard(m_device);
        const cudaStream_t stream = c10::cuda::getCurrentCUDAStream(m_device.index()).stream();
        if (areNew) {
            // Run one by one: a kernel is loaded when it is first launched, which must not happen
            // while one captures.
            forgetGraph();
            m_canBeGraph = true;
        } else if (m_graph == nullptr && m_canBeGraph) {
            m_canBeGraph = capture(launches);
        }
        C10_CUDA_CHECK(m_graph != nullptr ? cudaGraphLaunch(m_graph, stream)
                                          : launchStep(launches.data(), launches.size(), stream));
    }

    int multiprocessors() const override { return m_multiprocessors; }

private:
    /// \returns false where there is no graph to be had; the launches may still run one by one
    bool capture(std::span<const StepLaunch> launches)
    {
        // Other threads may go on allocating meanwhile.
        C10_CUDA_CHECK(cudaStreamBeginCapture(m_capturing, cudaStreamCaptureModeThreadLocal));
        const cudaError_t queued = launchStep(launches.data(), launches.size(), m_capturing);
        cudaGraph_t recorded = nullptr;
        const cudaError_t ended = cudaStreamEndCapture(m_capturing, &recorded);
        const cudaError_t made = queued != cudaSuccess ? queued
                                 : ended != cudaSuccess
                                     ? ended
                                     : cudaGraphInstantiate(&m_graph, recorded, 0);
        if (recorded != nullptr)
            C10_CUDA_CHECK_WARN(cudaGraphDestroy(recorded));
        if (made == cudaSuccess)
            return true;
        m_graph = nullptr;
        static_cast<void>(cudaGetLastError()); // what is forgiven here is not to be found later
        TORCH_WARN("decode steps run without a CUDA graph: ", cudaGetErrorString(made));
        return false;
    }

    /// A graph that still runs is freed once it has.
    void forgetGraph()
    {
        if (m_graph != nullptr)
            C10_CUDA_CHECK_WARN(cudaGraphExecDestroy(m_graph));
        m_graph = nullptr;
    }

    c10::Device m_device;
    int m_multiprocessors = 1;
    cudaStream_t m_capturing = nullptr;
    cudaGraphExec_t m_graph = nullptr;
    bool m_canBeGraph = false; ///< the launches at hand
};

} // namespace

std::unique_ptr<StepRunner> makeCudaStepRunner(c10::Device device)
{
    return std::make_unique<CudaStepRunner>(device);
}

} // namespace kvscope
