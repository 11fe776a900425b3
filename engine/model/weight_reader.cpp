#include "engine/model/weight_reader.h"

#include "engine/base/errors.h"

#include <ATen/ops/as_strided.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/from_blob.h>

#include <algorithm>
#include <string>

namespace kvscope {
namespace {

at::ScalarType scalarType(StorageType type)
{
    switch (type) {
    case StorageType::F32:
        return at::kFloat;
    case StorageType::F16:
        return at::kHalf;
    case StorageType::BF16:
        return at::kBFloat16;
    default:
        throw CheckpointError("a tensor stored as " + std::string(storageName(type)) +
                              " cannot be used as a weight");
    }
}

StorageType storageType(at::ScalarType type)
{
    return type == at::kFloat  ? StorageType::F32
           : type == at::kHalf ? StorageType::F16
                               : StorageType::BF16;
}

/// A tensor over a file's bytes; copied where they are not aligned for their type.
at::Tensor mapped(std::span<const std::byte> bytes, at::ScalarType type)
{
    auto* data = const_cast<std::byte*>(bytes.data());
    const auto elementBytes = static_cast<std::int64_t>(c10::elementSize(type));
    const auto count = static_cast<std::int64_t>(bytes.size()) / elementBytes;
    if (reinterpret_cast<std::uintptr_t>(data) % static_cast<std::uintptr_t>(elementBytes) == 0)
        return at::from_blob(data, {count}, at::TensorOptions(type));
    return at::from_blob(data, {static_cast<std::int64_t>(bytes.size())},
                         at::TensorOptions(at::kByte))
        .clone()
        .view(type);
}

/// The bytes from a source's first element to its last.
std::span<const std::byte> bytesOf(const MatrixSource& source)
{
    const std::int64_t perBlock = blockElements(source.tensor->type);
    const std::int64_t blockSize = blockBytes(source.tensor->type);
    const std::int64_t lastRow = (source.rows - 1) * source.rowStride;
    const std::int64_t elements = lastRow + (source.cols - 1) * source.colStride + 1;
    return source.tensor->data.subspan(
        static_cast<std::size_t>(source.offset / perBlock * blockSize),
        static_cast<std::size_t>((elements + perBlock - 1) / perBlock * blockSize));
}

/// Hugging Face's MXFP4 elements 2i and 2i + 1 share byte i; GGUF's i and i + 16 do. One block is
/// an exponent byte and 16 bytes.
void repackMxfp4Block(const std::byte* from, std::byte exponent, std::byte* to)
{
    *to++ = exponent;
    const auto nibble = [from](int element) {
        const auto both = std::to_integer<unsigned>(from[element / 2]);
        return element % 2 == 0 ? both & 0x0fU : both >> 4U;
    };
    for (int i = 0; i < 16; ++i)
        to[i] = static_cast<std::byte>(nibble(i) | nibble(i + 16) << 4U);
}

} // namespace

WeightReader::WeightReader(std::uint64_t totalBytes, at::Device device, ComputeType type,
                           const DecoderOptions& options)
    : m_device(device)
    , m_type(type)
    , m_options(options)
    , m_totalBytes(totalBytes)
{
}

WeightMatrix WeightReader::matrix(const MatrixSource& source)
{
    if (!source)
        return {};
    if (source.exponents != nullptr)
        return mxfp4Matrix(source);
    readThrough(bytesOf(source));
    return isQuantized(source.tensor->type) ? blockMatrix(source) : plainMatrix(source);
}

WeightMatrix WeightReader::blockMatrix(const MatrixSource& source)
{
    const StorageType type = source.tensor->type;
    TORCH_CHECK(source.colStride == 1, "a matrix of blocks cannot be read across its rows");
    const std::int64_t perBlock = blockElements(type);
    const std::int64_t rowBytes = source.cols / perBlock * blockBytes(type);
    const std::int64_t stride = source.rowStride / perBlock * blockBytes(type);
    const at::Tensor bytes = mapped(bytesOf(source), at::kByte);
    return {type, source.rows, source.cols,
            placed(at::as_strided(bytes, {source.rows, rowBytes}, {stride, 1}))};
}

WeightMatrix WeightReader::plainMatrix(const MatrixSource& source)
{
    const at::Tensor elements = mapped(bytesOf(source), scalarType(source.tensor->type));
    const at::Tensor matrix =
        at::as_strided(elements, {source.rows, source.cols}, {source.rowStride, source.colStride});
    const at::Tensor data = placed(matrix.to(computedType(matrix.scalar_type())));
    return {storageType(data.scalar_type()), source.rows, source.cols, data};
}

WeightMatrix WeightReader::mxfp4Matrix(const MatrixSource& source)
{
    constexpr std::int64_t kBlock = 32;
    constexpr std::int64_t kBytes = 17;
    TORCH_CHECK(source.cols % kBlock == 0, "a row of MXFP4 is whole blocks of 32");
    readThrough(source.tensor->data.subspan(
        static_cast<std::size_t>(source.offset / 2),
        static_cast<std::size_t>(((source.rows - 1) * source.rowStride + source.cols) / 2)));
    const std::int64_t numBlocks = source.cols / kBlock;
    const at::Tensor data = at::empty({source.rows, numBlocks * kBytes}, at::kByte);
    auto* to = static_cast<std::byte*>(data.mutable_data_ptr());
    for (std::int64_t row = 0; row < source.rows; ++row) {
        const std::int64_t first = (source.offset + row * source.rowStride) / kBlock;
        for (std::int64_t block = first; block < first + numBlocks; ++block, to += kBytes)
            repackMxfp4Block(source.tensor->data.data() + block * (kBlock / 2),
                             source.exponents->data[static_cast<std::size_t>(block)], to);
    }
    return {StorageType::MXFP4, source.rows, source.cols, placed(data)};
}

at::Tensor WeightReader::vector(const VectorSource& source)
{
    if (!source)
        return {};
    const at::Tensor elements = mapped(source.tensor->data, scalarType(source.tensor->type));
    readThrough(source.tensor->data.first(source.tensor->data.size() *
                                          static_cast<std::size_t>(source.size) /
                                          static_cast<std::size_t>(elements.numel())));
    return placed(
        at::as_strided(elements, {source.size}, {source.stride}, source.offset).to(at::kFloat));
}

LinearWeights WeightReader::linear(const LinearTensors& tensors)
{
    return {matrix(tensors.weight), vector(tensors.bias)};
}

FeedForwardWeights WeightReader::feedForward(const FeedForwardTensors& tensors)
{
    return {linear(tensors.gate), linear(tensors.up), linear(tensors.down)};
}

std::vector<FeedForwardWeights>
WeightReader::feedForwards(const std::vector<FeedForwardTensors>& tensors)
{
    std::vector<FeedForwardWeights> all;
    all.reserve(tensors.size());
    for (const FeedForwardTensors& one : tensors)
        all.push_back(feedForward(one));
    return all;
}

at::ScalarType WeightReader::computedType(at::ScalarType stored) const
{
    switch (m_type) {
    case ComputeType::BFloat16:
        return at::kBFloat16;
    case ComputeType::Float16:
        return at::kHalf;
    case ComputeType::Float32:
        return m_device.is_cpu() ? stored : at::kFloat;
    case ComputeType::Auto:
        break;
    }
    return m_device.is_cpu() ? stored : at::kBFloat16;
}

at::Tensor WeightReader::placed(const at::Tensor& tensor) const
{
    return tensor.to(m_device).contiguous();
}

/// Touches every page, looking at the stop token and telling progress every few MiB.
void WeightReader::readThrough(std::span<const std::byte> bytes)
{
    constexpr std::size_t kPage = 4096;
    constexpr std::size_t kReport = std::size_t{8} << 20;
    unsigned sum = 0;
    for (std::size_t at = 0; at < bytes.size(); at += kReport) {
        const std::size_t end = std::min(at + kReport, bytes.size());
        for (std::size_t page = at; page < end; page += kPage)
            sum += std::to_integer<unsigned>(static_cast<const volatile std::byte&>(bytes[page]));
        if (m_options.stop.stop_requested())
            throw Stopped{};
        m_doneBytes += end - at;
        if (m_options.progress) // interleaved matrices are read through twice
            m_options.progress(std::min(m_doneBytes, m_totalBytes), m_totalBytes);
    }
    static_cast<void>(sum);
}

} // namespace kvscope
