#include "app/cli/text_table.h"

#include <algorithm>
#include <cassert>
#include <iomanip>

namespace kvscope {

TextTable::TextTable(std::vector<std::string> headings)
    : m_rows{std::move(headings)}
{
}

void TextTable::addRow(std::vector<std::string> cells)
{
    assert(cells.size() == m_rows.front().size());
    m_rows.push_back(std::move(cells));
}

void TextTable::print(std::ostream& out) const
{
    std::vector<std::size_t> widths(m_rows.front().size(), 0);
    for (const auto& row : m_rows)
        for (std::size_t i = 0; i < row.size(); ++i)
            widths[i] = std::max(widths[i], row[i].size());
    for (const auto& row : m_rows) {
        for (std::size_t i = 0; i < row.size(); ++i)
            out << "  " << std::setw(static_cast<int>(widths[i])) << row[i];
        out << '\n';
    }
}

} // namespace kvscope
