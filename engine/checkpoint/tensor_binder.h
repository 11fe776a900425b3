#pragma once

#include "engine/checkpoint/check_log.h"
#include "engine/checkpoint/model_tensors.h"
#include "engine/checkpoint/tensor_file.h"

#include <cstdint>
#include <memory>
#include <set>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvscope {

/// Finds a family's tensors by name and shape, and notes what is missing and what nobody asked for.
///
/// Matrices may be stored as isWeightType() says, vectors as F32, F16 or BF16.
class TensorBinder
{
public:
    using Shape = std::vector<std::int64_t>;

    /// \param configFile  named where a tensor disagrees with the configuration
    /// \param log  gets what was found wrong of each tensor; outlives the binder
    /// \throws CheckpointError if two files hold a tensor of the same name
    TensorBinder(const std::vector<std::shared_ptr<const TensorFile>>& files,
                 std::string configFile, CheckLog& log);

    /// The tensor as a whole, or none where it is missing, has another shape, or a type that cannot
    /// be computed with: finish() throws then, once all tensors were looked at.
    MatrixSource matrix(const std::string& name, std::int64_t rows, std::int64_t cols);
    VectorSource vector(const std::string& name, std::int64_t size);
    /// A tensor [count, rows, cols] as one matrix of count * rows rows, so that each of a stack is
    /// its rowsFrom().
    MatrixSource stack(const std::string& name, std::int64_t count, std::int64_t rows,
                       std::int64_t cols);
    /// A tensor [count, size] as one vector.
    VectorSource vectorStack(const std::string& name, std::int64_t count, std::int64_t size);
    /// Hugging Face's MXFP4, as stack(): NAME_blocks [count, rows, cols / 32, 16] and NAME_scales
    /// [count, rows, cols / 32], both bytes.
    MatrixSource mxfp4Stack(const std::string& name, std::int64_t count, std::int64_t rows,
                            std::int64_t cols);
    bool has(std::string_view name) const;
    /// A tensor that may be there and is not read: HF's rotary_emb.inv_freq buffers.
    void ignore(std::string_view name) { m_used.emplace(name); }
    void ignoreEndingWith(std::string_view suffix);
    void ignoreStartingWith(std::string_view prefix);

    /// \param model  what was asked for: "a llama model of 30 layers"
    /// \throws CheckpointError naming the first tensor that disagrees, or the missing ones, or
    /// those that are no part of the model
    void finish(const std::string& model) const;

private:
    enum class Use { Matrix, Vector, Bytes };
    const TensorInfo* bind(const std::string& name, const Shape& shape, Use use);
    /// What a tensor should have been stored as; empty where it is right.
    static std::string_view expectedStorage(const TensorInfo& tensor, Use use);
    void checkFits(const TensorInfo& tensor, const TensorFile& file, const Shape& shape,
                   Use use) const;
    std::string where() const;
    void checkNoneMissing(const std::string& model) const;
    void checkNoneLeftOver(const std::string& model) const;

    /// A tensor and the file that holds it, which is named where something is wrong with it.
    struct Place
    {
        const TensorInfo* tensor = nullptr;
        const TensorFile* file = nullptr;
    };

    std::vector<std::shared_ptr<const TensorFile>> m_files;
    std::unordered_map<std::string_view, Place> m_places; ///< of all files; a model has 100,000
    std::string m_configFile;
    CheckLog& m_log;
    std::set<std::string, std::less<>> m_used;
    std::vector<std::string> m_missing; ///< the first hundred names
    std::int64_t m_numMissing = 0;
    std::int64_t m_numRight = 0;
    std::int64_t m_numWrong = 0;
};

} // namespace kvscope
