#include "engine/checkpoint/tensor_binder.h"

#include "engine/base/units.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <filesystem>
#include <utility>

namespace kvscope {
namespace {

constexpr std::size_t kNamesShown = 3;  // in a sentence
constexpr std::size_t kNamesKept = 100; // in the list of checks

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
    const std::size_t shown = std::min(names.size(), kNamesShown);
    std::string text;
    for (std::size_t i = 0; i < shown; ++i)
        text += (i == 0 ? "" : ", ") + printable(names[i]);
    const auto rest = count - static_cast<std::int64_t>(shown);
    return rest > 0 ? text + " and " + std::to_string(rest) + " more" : text;
}

CheckEntry aboutTensors(std::string what)
{
    return {.section = CheckSection::Tensors, .what = std::move(what)};
}

/// Where a tensor lies, for the list of checks.
CheckEntry aboutTensor(const TensorInfo& tensor, const TensorFile& file, std::string what)
{
    CheckEntry entry = aboutTensors(printable(tensor.name) + std::move(what));
    entry.file = fileName(file);
    entry.bytes = {tensor.fileOffset, tensor.fileOffset + tensor.data.size()};
    return entry;
}

} // namespace

TensorBinder::TensorBinder(const std::vector<std::shared_ptr<const TensorFile>>& files,
                           std::string configFile, CheckLog& log)
    : m_files(files)
    , m_configFile(std::move(configFile))
    , m_log(log)
{
    const auto index = [&](CheckEntry& entry) {
        for (const auto& file : files)
            for (const auto& [name, tensor] : file->tensors()) {
                const auto [other, isNew] = m_places.try_emplace(name, Place{&tensor, file.get()});
                if (isNew)
                    continue;
                entry = aboutTensor(tensor, *file, " is in one file alone");
                failIn(fileName(*file),
                       printable(name) + " is also in " + fileName(*other->second.file));
            }
        entry.found = where();
    };
    CheckEntry alone = aboutTensors("no tensor is in two files");
    if (files.size() > 1)
        log.run(std::move(alone), index);
    else
        index(alone); // which is true of one file
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
    constexpr std::int64_t kBlock = 32;
    if (cols % kBlock != 0)
        failIn(m_configFile, "asks for rows of " + std::to_string(cols) + " numbers of " +
                                 printable(name) + "_blocks, which is MXFP4 and has them in " +
                                 "blocks of 32");
    const std::int64_t numBlocks = cols / kBlock;
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
    return m_places.contains(name);
}

void TensorBinder::ignoreEndingWith(std::string_view suffix)
{
    for (const auto& [name, place] : m_places)
        if (name.ends_with(suffix))
            ignore(name);
}

void TensorBinder::ignoreStartingWith(std::string_view prefix)
{
    for (const auto& [name, place] : m_places)
        if (name.starts_with(prefix))
            ignore(name);
}

void TensorBinder::checkFits(const TensorInfo& tensor, const TensorFile& file, const Shape& shape,
                             Use use) const
{
    if (tensor.shape != shape && !(use == Use::Vector && isRow(tensor, shape)))
        failIn(fileName(file), tensor.name + " is " + shapeText(tensor.shape) + ", " +
                                   m_configFile + " asks for " + shapeText(shape) +
                                   ". The two are probably from different runs.");
    if (const std::string_view expected = expectedStorage(tensor, use); !expected.empty())
        failIn(fileName(file), tensor.name + " is stored as " +
                                   std::string(storageName(tensor.type)) + ", " +
                                   std::string(expected) + " was expected");
}

const TensorInfo* TensorBinder::bind(const std::string& name, const Shape& shape, Use use)
{
    const auto found = m_places.find(name);
    if (found == m_places.end()) {
        if (m_missing.size() < kNamesKept)
            m_missing.push_back(name);
        ++m_numMissing;
        return nullptr;
    }
    const auto [tensor, file] = found->second;
    m_used.insert(name);
    try {
        checkFits(*tensor, *file, shape, use);
    } catch (const CheckpointError& error) {
        // The others are looked at all the same: one wrong shape seldom comes alone.
        m_log.addFailure(aboutTensor(*tensor, *file, " has the shape and type asked for"), error);
        ++m_numWrong;
        return nullptr;
    }
    ++m_numRight;
    return tensor;
}

std::string TensorBinder::where() const
{
    return m_files.size() == 1 ? fileName(*m_files.front())
                               : std::to_string(m_files.size()) + " weight files";
}

void TensorBinder::checkNoneMissing(const std::string& model) const
{
    if (m_numMissing == 0)
        return;
    for (const std::string& name : m_missing)
        m_log.add({.section = CheckSection::Tensors,
                   .result = CheckResult::Failed,
                   .what = printable(name) + " is there",
                   .found = "it is missing"});
    failIn(where(), listed(m_missing, m_numMissing) + (m_numMissing == 1 ? " is" : " are") +
                        " missing, which " + m_configFile + " asks for as " + model);
}

void TensorBinder::checkNoneLeftOver(const std::string& model) const
{
    std::vector<std::string> names;
    std::int64_t count = 0;
    for (const auto& file : m_files)
        for (const auto& [name, tensor] : file->tensors()) {
            if (m_used.contains(name) || ++count > static_cast<std::int64_t>(kNamesKept))
                continue;
            names.push_back(name);
            CheckEntry entry = aboutTensor(tensor, *file, " is part of the model");
            entry.result = CheckResult::Failed;
            entry.found = "it is not";
            m_log.add(std::move(entry));
        }
    if (count > 0)
        failIn(where(), listed(names, count) + (count == 1 ? " is" : " are") + " no part of " +
                            model + " as " + m_configFile + " describes it");
}

void TensorBinder::finish(const std::string& model) const
{
    CheckLog& log = m_log;
    const bool noneMissing = log.attempt(aboutTensors("no tensor is missing"),
                                         [&](CheckEntry&) { checkNoneMissing(model); });
    const bool noneLeftOver = log.attempt(aboutTensors("no tensor is left over"),
                                          [&](CheckEntry&) { checkNoneLeftOver(model); });
    if (m_numWrong > 0 || !noneMissing || !noneLeftOver)
        log.throwFirstFailure();
    log.add({.section = CheckSection::Tensors,
             .what = "every tensor has the shape and type that " + m_configFile + " asks for",
             .found = formatCount(m_numRight) + " tensors of " + model});
}

} // namespace kvscope
