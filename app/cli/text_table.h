#pragma once

#include <ostream>
#include <string>
#include <vector>

namespace kvscope {

/// Columns as wide as their widest cell, aligned right, two spaces apart: what a terminal shows of
/// numbers. Cells hold ASCII.
class TextTable
{
public:
    explicit TextTable(std::vector<std::string> headings);

    /// \pre as many cells as headings
    void addRow(std::vector<std::string> cells);
    /// Every line starts with two spaces.
    void print(std::ostream& out) const;

private:
    std::vector<std::vector<std::string>> m_rows; ///< the headings first
};

} // namespace kvscope
