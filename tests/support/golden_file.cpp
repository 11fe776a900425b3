#include "tests/support/golden_file.h"

#include "engine/checkpoint/safetensors.h"
#include "tests/support/golden_json.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/empty.h>

#include <cstring>
#include <filesystem>
#include <stdexcept>

namespace kvscope {
namespace {

at::ScalarType scalarType(const TensorInfo& info)
{
    switch (info.type) {
    case StorageType::F64:
        return at::kDouble;
    case StorageType::F32:
        return at::kFloat;
    case StorageType::F16:
        return at::kHalf;
    case StorageType::BF16:
        return at::kBFloat16;
    case StorageType::I64:
        return at::kLong;
    case StorageType::I32:
        return at::kInt;
    case StorageType::I16:
        return at::kShort;
    case StorageType::I8:
        return at::kChar;
    case StorageType::U8:
        return at::kByte;
    case StorageType::Bool:
        return at::kBool;
    default:
        throw std::runtime_error(info.name + " has a block format, golden tensors are plain");
    }
}

/// safetensors promises no alignment, so the bytes are copied.
at::Tensor copyOf(const TensorInfo& info)
{
    auto tensor = at::empty(info.shape, scalarType(info));
    std::memcpy(tensor.mutable_data_ptr(), info.data.data(), info.data.size());
    return tensor;
}

std::string indexPathOf(const std::string& path)
{
    const std::filesystem::path file(path);
    const auto stem = file.stem().string();
    return (file.parent_path() / (stem == "golden" ? "index.json" : stem + ".index.json")).string();
}

} // namespace

GoldenFile::GoldenFile(const std::string& path)
    : m_path(path)
{
    const auto file =
        readSafetensors(goldenPath(path)); // outlives the loop, which would not keep it alive
    for (const auto& [name, info] : file->tensors())
        m_tensors.emplace(name, copyOf(info));
    if (const auto index = indexPathOf(path); std::filesystem::exists(goldenPath(index)))
        readIndex(index);
}

void GoldenFile::readIndex(const std::string& indexPath)
{
    const auto index = readGoldenJson(indexPath);
    m_facts = index.value("facts", nlohmann::json::object());
    for (const auto& entry : index.at("tensors")) {
        const auto& tolerance = entry.at("tolerance");
        if (tolerance.is_object())
            m_tolerances[entry.at("name").get<std::string>()] = {tolerance.value("atol", 0.0),
                                                                 tolerance.value("rtol", 0.0)};
    }
}

const at::Tensor& GoldenFile::tensor(const std::string& name) const
{
    const auto found = m_tensors.find(name);
    if (found == m_tensors.end())
        throw std::out_of_range(m_path + " has no tensor " + name);
    return found->second;
}

QString GoldenFile::difference(const std::string& name, const at::Tensor& got) const
{
    const auto found = m_tolerances.find(name);
    if (found == m_tolerances.end())
        throw std::out_of_range("the index of " + m_path + " states no tolerance for " + name);
    const QString text = compareTensors(got, tensor(name), found->second.atol, found->second.rtol);
    return text.isEmpty() ? text : QString::fromStdString(name) + ": " + text;
}

} // namespace kvscope
