#pragma once

#include <ATen/core/Tensor.h>

#include <QString>

#include <map>
#include <nlohmann/json.hpp>
#include <string>

namespace kvscope {

/// Golden tensors under tests/golden with their index: names, tolerances, facts.
///
/// The index of `golden.safetensors` is `index.json` beside it, that of `NAME.safetensors`
/// `NAME.index.json`; a file without one (a model's weights) has tensors only.
class GoldenFile
{
public:
    /// Reads every tensor into memory of its own.
    /// \param path  below tests/golden, such as "gptosslite/tiny_a/golden.safetensors"
    /// \throws std::exception naming the file
    explicit GoldenFile(const std::string& path);

    /// \throws std::out_of_range naming the file and the tensor
    const at::Tensor& tensor(const std::string& name) const;
    bool contains(const std::string& name) const { return m_tensors.contains(name); }
    const std::map<std::string, at::Tensor>& tensors() const { return m_tensors; }
    /// `facts` of the index: scalars, settings and remarks.
    const nlohmann::json& facts() const { return m_facts; }

    /// compareTensors() with the tensor of that name, within its tolerance in the index.
    /// \throws std::out_of_range where the index states none
    QString difference(const std::string& name, const at::Tensor& got) const;

private:
    struct Tolerance
    {
        double atol = 0.0;
        double rtol = 0.0;
    };

    void readIndex(const std::string& indexPath);

    std::string m_path;
    std::map<std::string, at::Tensor> m_tensors;
    std::map<std::string, Tolerance> m_tolerances;
    nlohmann::json m_facts = nlohmann::json::object();
};

} // namespace kvscope
