#include "engine/kernels/linear.h"

#include "engine/kernels/block_formats.h"
#include "engine/kernels/cuda_backend.h"
#include "engine/kernels/linear_paths.h"
#include "engine/kernels/linear_portable.h"

#include <ATen/ops/empty.h>
#include <ATen/ops/mm.h>

#include <algorithm>

#ifdef KVSCOPE_AVX2
#include "engine/kernels/linear_avx2.h"
#endif

namespace kvscope {

namespace {

// Up to this many rows of x, reading the weight where it lies is the faster way: beside panels the
// two ways meet between 13 and 28 rows, by format (linear_speed, Zen 2, [1536, 576] and
// [1536, 1536], one thread or two), beside the library between 32 and 64.
constexpr std::int64_t kMostFewRows = 18;
constexpr std::int64_t kMostFewRowsBesideLibrary = 32;
// The same where bfloat16 products run on AMX; an estimate from its measured speed, expanding
// included.
constexpr std::int64_t kMostFewRowsBFloat16 = 12;

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

#ifdef KVSCOPE_AVX2
FormatKernels avx2Kernels(StorageType type)
{
    switch (type) {
    case StorageType::F32:
        return avx2::kF32;
    case StorageType::F16:
        return avx2::kF16;
    case StorageType::BF16:
        return avx2::kBF16;
    case StorageType::Q8_0:
        return avx2::kQ80;
    case StorageType::Q4_0:
        return avx2::kQ40;
    case StorageType::Q4_1:
        return avx2::kQ41;
    case StorageType::Q5_0:
        return avx2::kQ50;
    case StorageType::Q5_1:
        return avx2::kQ51;
    case StorageType::IQ4_NL:
        return avx2::kIq4Nl;
    case StorageType::MXFP4:
        return avx2::kMxfp4;
    case StorageType::Q2_K:
        return avx2::kQ2K;
    case StorageType::Q3_K:
        return avx2::kQ3K;
    case StorageType::Q4_K:
        return avx2::kQ4K;
    case StorageType::Q5_K:
        return avx2::kQ5K;
    case StorageType::Q6_K:
        return avx2::kQ6K;
    case StorageType::Q8_K:
        return avx2::kQ8K;
    case StorageType::IQ4_XS:
        return avx2::kIq4Xs;
    default:
        TORCH_CHECK(false, "linear: no weight type ", storageName(type));
    }
}
#endif

bool isBFloat16Product(const WeightMatrix& weight, Precision precision)
{
    return precision == Precision::Fast && weight.type != StorageType::F32 && hasBFloat16Products();
}

/// A few rows read blocks where they lie; many are worth expanding them for.
at::Tensor linearOnCuda(const at::Tensor& x, const WeightMatrix& weight)
{
    constexpr std::int64_t kMostRowsInPlace = 16; // an estimate, not measured on a GPU
    const CudaKernels* kernels = cudaKernels();
    if (kernels != nullptr && isQuantized(weight.type) && x.size(0) <= kMostRowsInPlace)
        return kernels->weightProduct(x, weight);
    return linearTensorOps(x, weight);
}

bool isFewRows(const at::Tensor& x, const WeightMatrix& weight, Precision precision)
{
    if (isBFloat16Product(weight, precision))
        return x.size(0) <= kMostFewRowsBFloat16;
    return x.size(0) <= (usesPanelProducts() ? kMostFewRows : kMostFewRowsBesideLibrary);
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

bool usesPanelProducts()
{
    static const bool areFaster = hasPanelProducts() && !hasWideMatrixLibrary();
    return areFaster;
}

FormatKernels formatKernels(StorageType type, InstructionSet instructions)
{
#ifdef KVSCOPE_AVX2
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
        return linearOnCuda(x, weight);
    if (isFewRows(x, weight, precision))
        return linearFewRows(x, weight, precision, bestInstructionSet());
    if (isBFloat16Product(weight, precision))
        return linearBFloat16(x, weight);
    return usesPanelProducts() ? linearPanels(x, weight) : linearManyRows(x, weight);
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
    return at::mm(x.to(at::kFloat), expand(weight).t()).to(x.scalar_type());
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
