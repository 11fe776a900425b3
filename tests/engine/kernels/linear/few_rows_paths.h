#pragma once

#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"
#include "tests/support/avx512_on_avx2/kernels.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstdint>
#include <functional>
#include <map>
#include <string>
#include <utility>
#include <vector>

// Every set of loops for few rows that runs here, for the tests of linear(): those of the
// processor, and AVX-512's compiled for AVX2.

namespace kvscope {

struct FewRowsPath
{
    std::string name;
    std::function<at::Tensor(const at::Tensor& x, const WeightMatrix& weight)> multiply;
};

/// AVX-512's loops as they run on AVX2, by type, without `decode` for block formats; none where
/// there is no AVX2.
inline std::map<StorageType, FormatKernels> avx512OnAvx2()
{
    std::map<StorageType, FormatKernels> loops;
#ifdef KVSCOPE_AVX512_ON_AVX2
    if (bestInstructionSet() == InstructionSet::Portable)
        return loops;
    using namespace avx512_on_avx2;
    loops = {
        {StorageType::F32, kF32},     {StorageType::F16, kF16},     {StorageType::BF16, kBF16},
        {StorageType::Q8_0, kQ80},    {StorageType::Q4_0, kQ40},    {StorageType::Q4_1, kQ41},
        {StorageType::Q5_0, kQ50},    {StorageType::Q5_1, kQ51},    {StorageType::IQ4_NL, kIq4Nl},
        {StorageType::MXFP4, kMxfp4}, {StorageType::Q2_K, kQ2K},    {StorageType::Q3_K, kQ3K},
        {StorageType::Q4_K, kQ4K},    {StorageType::Q5_K, kQ5K},    {StorageType::Q6_K, kQ6K},
        {StorageType::Q8_K, kQ8K},    {StorageType::IQ4_XS, kIq4Xs}};
#endif
    return loops;
}

/// What linearFewRows() computes with Precision::Fast, by the loops given.
inline at::Tensor multipliedBy(const FormatKernels& loops, const at::Tensor& x,
                               const WeightMatrix& weight)
{
    const std::int64_t cols = weight.cols;
    const at::Tensor y = at::empty({x.size(0), weight.rows});
    std::vector<std::int16_t> quantized(static_cast<std::size_t>(x.numel()));
    std::vector<float> scaleAndSum(static_cast<std::size_t>(x.numel() / 32 * 2));
    RowProduct product;
    product.weight = static_cast<const std::byte*>(weight.data.const_data_ptr());
    product.rowBytes = bytesPerRow(weight.type, cols);
    product.cols = cols;
    product.x = x.const_data_ptr<float>();
    product.numInputs = x.size(0);
    product.y = y.mutable_data_ptr<float>();
    product.yStride = weight.rows;
    if (loops.quantize != nullptr) {
        for (std::int64_t n = 0; n < x.size(0); ++n)
            loops.quantize(product.x + n * cols, cols, quantized.data() + n * cols,
                           scaleAndSum.data() + n * cols / 32 * 2);
        product.quantized = quantized.data();
        product.scaleAndSum = scaleAndSum.data();
    }
    loops.multiply(product, 0, weight.rows);
    return y;
}

/// For weights of one type, with Precision::Fast.
inline std::vector<FewRowsPath> fewRowsPaths(StorageType type)
{
    std::vector<FewRowsPath> paths;
    for (const auto instructions : availableInstructionSets())
        paths.push_back({"set " + std::to_string(static_cast<int>(instructions)),
                         [instructions](const at::Tensor& x, const WeightMatrix& weight) {
                             return linearFewRows(x, weight, Precision::Fast, instructions);
                         }});
    static const std::map<StorageType, FormatKernels> wide = avx512OnAvx2();
    if (const auto found = wide.find(type); found != wide.end())
        paths.push_back({"AVX-512 on AVX2",
                         [&loops = found->second](const at::Tensor& x, const WeightMatrix& weight) {
                             return multipliedBy(loops, x, weight);
                         }});
    return paths;
}

} // namespace kvscope
