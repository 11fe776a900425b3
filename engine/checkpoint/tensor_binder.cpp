#include "engine/checkpoint/tensor_binder.h"

#include "engine/checkpoint/error_text.h"

#include <filesystem>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kNamesShown = 3;

/// GGUF does not tell a vector from a matrix of one row.
bool isRow(const TensorInfo& tensor, const TensorBinder::Shape& vector)
{
    return tensor.shape.size() == 2 && tensor.shape[0] == 1 && vector.size() == 1 &&
           tensor.shape[1] == vector[0];
}

std::string fileName(const TensorFile& file)
{
    return std::filesystem::path(file.path()).filename().string();
}

/// "a, b, c and 7 more"
std::string listed(const std::vector<std::string>& names, std::int64_t count)
{
    std::string text;
    for (std::size_t i = 0; i < names.size(); ++i)
        text += (i == 0 ? "" : ", ") + printable(names[i]);
    const auto rest = count - static_cast<std::int64_t>(names.size());
    return rest > 0 ? text + " and " + std::to_string(rest) + " more" : text;
}

} // namespace

TensorBinder::TensorBinder(const std::vector<std::shared_ptr<const TensorFile>>& files,
                           std::string configFile)
    : m_files(files)
    , m_configFile(std::move(configFile))
{
    for (std::size_t i = 1; i < files.size(); ++i)
        for (const auto& [name, tensor] : files[i]->tensors())
            for (std::size_t j = 0; j < i; ++j)
                if (files[j]->find(name) != nullptr)
                    failIn(fileName(*files[i]),
                           printable(name) + " is also in " + fileName(*files[j]));
}

MatrixSource TensorBinder::matrix(const std::string& name, std::int64_t rows, std::int64_t cols)
{
    return {.tensor = bind(name, {rows, cols}, Use::Matrix),
            .rows = rows,
            .cols = cols,
            .rowStride = cols};
}

VectorSource TensorBinder::vector(const std::string& name, std::int64_t size)
{
    return {.tensor = bind(name, {size}, Use::Vector), .size = size};
}

MatrixSource TensorBinder::stack(const std::string& name, std::int64_t count, std::int64_t rows,
                                 std::int64_t cols)
{
    return {.tensor = bind(name, {count, rows, cols}, Use::Matrix),
            .rows = count * rows,
            .cols = cols,
            .rowStride = cols};
}

VectorSource TensorBinder::vectorStack(const std::string& name, std::int64_t count,
                                       std::int64_t size)
{
    return {.tensor = bind(name, {count, size}, Use::Vector), .size = count * size};
}

MatrixSource TensorBinder::mxfp4Stack(const std::string& name, std::int64_t count,
                                      std::int64_t rows, std::int64_t cols)
{
    const std::int64_t numBlocks = cols / 32;
    return {.tensor = bind(name + "_blocks", {count, rows, numBlocks, 16}, Use::Bytes),
            .rows = count * rows,
            .cols = cols,
            .rowStride = cols,
            .exponents = bind(name + "_scales", {count, rows, numBlocks}, Use::Bytes)};
}

std::string_view TensorBinder::expectedStorage(const TensorInfo& tensor, Use use)
{
    switch (use) {
    case Use::Vector:
        if (!isWeightType(tensor.type) || isQuantized(tensor.type))
            return "a vector of F32, F16 or BF16";
        break;
    case Use::Matrix:
        if (!isWeightType(tensor.type))
            return "a matrix of F32, F16, BF16 or a block format";
        break;
    case Use::Bytes:
        if (tensor.type != StorageType::U8)
            return "U8";
        break;
    }
    return {};
}

bool TensorBinder::has(std::string_view name) const
{
    for (const auto& file : m_files)
        if (file->find(name) != nullptr)
            return true;
    return false;
}

void TensorBinder::ignoreEndingWith(std::string_view suffix)
{
    for (const auto& file : m_files)
        for (const auto& [name, tensor] : file->tensors())
            if (name.ends_with(suffix))
                ignore(name);
}

void TensorBinder::ignoreStartingWith(std::string_view prefix)
{
    for (const auto& file : m_files)
        for (const auto& [name, tensor] : file->tensors())
            if (name.starts_with(prefix))
                ignore(name);
}

const TensorInfo* TensorBinder::bind(const std::string& name, const Shape& shape, Use use)
{
    for (const auto& file : m_files) {
        const TensorInfo* tensor = file->find(name);
        if (tensor == nullptr)
            continue;
        m_used.insert(name);
        if (tensor->shape != shape && !(use == Use::Vector && isRow(*tensor, shape)))
            failIn(fileName(*file), name + " is " + shapeText(tensor->shape) + ", " + m_configFile +
                                        " asks for " + shapeText(shape) +
                                        ". The two are probably from different runs.");
        if (const std::string_view expected = expectedStorage(*tensor, use); !expected.empty())
            failIn(fileName(*file), name + " is stored as " +
                                        std::string(storageName(tensor->type)) + ", " +
                                        std::string(expected) + " was expected");
        return tensor;
    }
    if (m_missing.size() < kNamesShown)
        m_missing.push_back(name);
    ++m_numMissing;
    return nullptr;
}

void TensorBinder::finish(const std::string& model) const
{
    const std::string where = m_files.size() == 1
                                  ? fileName(*m_files.front())
                                  : std::to_string(m_files.size()) + " weight files";
    if (m_numMissing > 0)
        failIn(where, listed(m_missing, m_numMissing) + (m_numMissing == 1 ? " is" : " are") +
                          " missing, which " + m_configFile + " asks for as " + model);
    std::vector<std::string> unexpected;
    std::int64_t count = 0;
    for (const auto& file : m_files)
        for (const auto& [name, tensor] : file->tensors())
            if (!m_used.contains(name) && ++count <= static_cast<std::int64_t>(kNamesShown))
                unexpected.push_back(name);
    if (count > 0)
        failIn(where, listed(unexpected, count) + (count == 1 ? " is" : " are") + " no part of " +
                          model + " as " + m_configFile + " describes it");
}

} // namespace kvscope
