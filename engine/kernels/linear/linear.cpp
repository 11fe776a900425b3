#include "engine/kernels/linear/linear.h"

#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"
#include "engine/kernels/linear/linear_portable.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#ifdef KVSCOPE_X86
#include "engine/kernels/linear/linear_avx2.h"
#include "engine/kernels/linear/linear_avx512.h"
#endif

namespace kvscope {

namespace {

// PanelKernels::mostFewRows beside the library, where the two ways meet between 32 and 64 rows.
constexpr std::int64_t kMostFewRowsBesideLibrary = 32;

at::ScalarType tensorType(StorageType type)
{
    switch (type) {
    case StorageType::F32:
        return at::kFloat;
    case StorageType::F16:
        return at::kHalf;
    case StorageType::BF16:
        return at::kBFloat16;
    default:
        return at::kByte;
    }
}

#ifdef KVSCOPE_X86
/// A set's loops.
struct KernelsByType
{
    const FormatKernels &f32, &f16, &bf16;
    const FormatKernels &q80, &q40, &q41, &q50, &q51, &iq4Nl, &mxfp4;
    const FormatKernels &q2K, &q3K, &q4K, &q5K, &q6K, &q8K, &iq4Xs;

    const FormatKernels& of(StorageType type) const
    {
        switch (type) {
        case StorageType::F32:
            return f32;
        case StorageType::F16:
            return f16;
        case StorageType::BF16:
            return bf16;
        case StorageType::Q8_0:
            return q80;
        case StorageType::Q4_0:
            return q40;
        case StorageType::Q4_1:
            return q41;
        case StorageType::Q5_0:
            return q50;
        case StorageType::Q5_1:
            return q51;
        case StorageType::IQ4_NL:
            return iq4Nl;
        case StorageType::MXFP4:
            return mxfp4;
        case StorageType::Q2_K:
            return q2K;
        case StorageType::Q3_K:
            return q3K;
        case StorageType::Q4_K:
            return q4K;
        case StorageType::Q5_K:
            return q5K;
        case StorageType::Q6_K:
            return q6K;
        case StorageType::Q8_K:
            return q8K;
        case StorageType::IQ4_XS:
            return iq4Xs;
        default:
            TORCH_CHECK(false, "linear: no weight type ", storageName(type));
        }
    }
};

FormatKernels avx2Kernels(StorageType type)
{
    using namespace avx2;
    return KernelsByType{kF32,   kF16, kBF16, kQ80, kQ40, kQ41, kQ50, kQ51,  kIq4Nl,
                         kMxfp4, kQ2K, kQ3K,  kQ4K, kQ5K, kQ6K, kQ8K, kIq4Xs}
        .of(type);
}

FormatKernels avx512Kernels(StorageType type)
{
    using namespace avx512;
    if (isQuantized(type) && !hasVnni())
        return avx2Kernels(type);
    FormatKernels kernels =
        KernelsByType{kF32,   kF16, kBF16, kQ80, kQ40, kQ41, kQ50, kQ51,  kIq4Nl,
                      kMxfp4, kQ2K, kQ3K,  kQ4K, kQ5K, kQ6K, kQ8K, kIq4Xs}
            .of(type);
    if (kernels.decode == nullptr)
        kernels.decode = avx2Kernels(type).decode;
    return kernels;
}
#endif

/// A few rows read blocks where they lie; many are worth expanding them for.
at::Tensor linearOnCuda(const at::Tensor& x, const WeightMatrix& weight, at::ScalarType result)
{
    constexpr std::int64_t kMostRowsInPlace = 16; // an estimate, not measured on a GPU
    const CudaKernels* kernels = cudaKernels();
    if (kernels != nullptr && isQuantized(weight.type) && x.size(0) <= kMostRowsInPlace)
        return kernels->weightProduct(x, weight).to(result);
    return linearTensorOps(x, weight, result);
}

bool isFewRows(const at::Tensor& x, const WeightMatrix& weight, Precision precision)
{
    const PanelKernels* kernels = kernelsForManyRows(weight.type, precision);
    return x.size(0) <= (kernels != nullptr ? kernels->mostFewRows : kMostFewRowsBesideLibrary);
}

void checkProduct(const at::Tensor& x, const WeightMatrix& weight)
{
    checkWeight(weight);
    TORCH_CHECK(x.dim() == 2 && x.size(1) == weight.cols && x.is_contiguous(), "linear: x is ",
                x.sizes(), ", a contiguous [N, ", weight.cols, "] is needed");
    TORCH_CHECK(x.device() == weight.data.device(), "linear: x is on ", x.device(),
                ", the weight on ", weight.data.device());
    TORCH_CHECK(!x.device().is_cpu() || x.scalar_type() == at::kFloat, "linear: x is ",
                x.scalar_type(), ", the CPU takes float32");
}

} // namespace

const PanelKernels* kernelsForManyRows(StorageType type, Precision precision)
{
    // Tiles and integers round, and are for no float32 weight, which is asked for as such.
    if (precision == Precision::Fast && type != StorageType::F32) {
        if (const PanelKernels* tiles = tileKernels(type))
            return tiles;
        if (const PanelKernels* integers = integerKernels())
            return integers;
    }
    return panelKernels(bestInstructionSet());
}

FormatKernels formatKernels(StorageType type, InstructionSet instructions)
{
#ifdef KVSCOPE_X86
    if (instructions == InstructionSet::Avx512)
        return avx512Kernels(type);
    if (instructions == InstructionSet::Avx2)
        return avx2Kernels(type);
#endif
    TORCH_CHECK(instructions == InstructionSet::Portable,
                "linear: instruction set not compiled in");
    return portable::formatKernels(type);
}

void checkWeight(const WeightMatrix& weight)
{
    TORCH_CHECK(isWeightType(weight.type), "linear: no weight type ", storageName(weight.type));
    TORCH_CHECK(weight.rows >= 0 && weight.cols > 0 &&
                    weight.cols % blockElements(weight.type) == 0,
                "linear: a ", storageName(weight.type), " weight cannot be [", weight.rows, ", ",
                weight.cols, "]");
    const std::int64_t width =
        isQuantized(weight.type) ? bytesPerRow(weight.type, weight.cols) : weight.cols;
    const at::Tensor& data = weight.data;
    TORCH_CHECK(
        data.defined() && data.scalar_type() == tensorType(weight.type) && data.dim() == 2 &&
            data.size(0) == weight.rows && data.size(1) == width && data.is_contiguous(),
        "linear: a ", storageName(weight.type), " weight [", weight.rows, ", ", weight.cols,
        "] needs contiguous ", tensorType(weight.type), " data [", weight.rows, ", ", width, "]");
}

at::Tensor linear(const at::Tensor& x, const WeightMatrix& weight, Precision precision)
{
    checkProduct(x, weight);
    if (!x.device().is_cpu())
        return linearOnCuda(x, weight, x.scalar_type());
    if (isFewRows(x, weight, precision))
        return linearFewRows(x, weight, precision, bestInstructionSet());
    if (const PanelKernels* kernels = kernelsForManyRows(weight.type, precision))
        return linearPanels(x, weight, *kernels);
    return linearManyRows(x, weight);
}

at::Tensor linearFloat32(const at::Tensor& x, const WeightMatrix& weight, Precision precision)
{
    if (x.device().is_cpu())
        return linear(x, weight, precision);
    checkProduct(x, weight);
    return linearOnCuda(x, weight, at::kFloat);
}

std::vector<at::Tensor> linear(const at::Tensor& x, std::span<const WeightMatrix* const> weights,
                               Precision precision)
{
    const auto isFew = [&](const WeightMatrix* weight) {
        checkProduct(x, *weight);
        return x.device().is_cpu() && isFewRows(x, *weight, precision);
    };
    if (std::all_of(weights.begin(), weights.end(), isFew))
        return linearFewRows(x, weights, precision, bestInstructionSet());
    std::vector<at::Tensor> results;
    for (const WeightMatrix* weight : weights)
        results.push_back(linear(x, *weight, precision));
    return results;
}

at::Tensor linearReference(const at::Tensor& x, const WeightMatrix& weight)
{
    return linearFloat32Reference(x, weight).to(x.scalar_type());
}

at::Tensor linearFloat32Reference(const at::Tensor& x, const WeightMatrix& weight)
{
    return at::mm(x.to(at::kFloat), expand(weight).t());
}

at::Tensor lookUpRows(const WeightMatrix& weight, const at::Tensor& ids)
{
    checkWeight(weight);
    TORCH_CHECK(ids.dim() == 1 && ids.scalar_type() == at::kLong && ids.is_contiguous() &&
                    ids.device() == weight.data.device(),
                "lookUpRows: ids must be contiguous int64 [N] on the weight's device");
    const std::int64_t count = ids.size(0);
    if (!ids.device().is_cpu())
        return expandTensorOps({weight.type, count, weight.cols, weight.data.index_select(0, ids)},
                               at::kFloat);
    const at::Tensor out = at::empty({count, weight.cols}, weight.data.options().dtype(at::kFloat));
    const auto decode = formatKernels(weight.type, bestInstructionSet()).decode;
    const std::int64_t rowBytes = bytesPerRow(weight.type, weight.cols);
    const auto* bytes = static_cast<const std::byte*>(weight.data.const_data_ptr());
    const auto* id = ids.const_data_ptr<std::int64_t>();
    for (std::int64_t n = 0; n < count; ++n) {
        TORCH_CHECK(id[n] >= 0 && id[n] < weight.rows, "lookUpRows: id ", id[n], " of ",
                    weight.rows);
        decode(bytes + id[n] * rowBytes, out.mutable_data_ptr<float>() + n * weight.cols,
               weight.cols);
    }
    return out;
}

} // namespace kvscope
