#pragma once

#include <cstddef>
#include <vector>

namespace kvscope {

/// Numbers that begin with a cache line, so that no load of 64 bytes takes two.
template <typename Number>
class CacheLines
{
public:
    CacheLines() = default;
    explicit CacheLines(std::size_t count) { reserve(count); }

    /// Room for `count` at least; what was there may be lost.
    void reserve(std::size_t count)
    {
        const std::size_t lines = (count + kPerLine - 1) / kPerLine;
        if (lines > m_lines.size())
            m_lines.resize(lines);
    }
    Number* data() { return m_lines.empty() ? nullptr : m_lines.front().numbers; }
    const Number* data() const { return m_lines.empty() ? nullptr : m_lines.front().numbers; }

private:
    static constexpr std::size_t kPerLine = 64 / sizeof(Number);
    struct alignas(64) Line
    {
        Number numbers[kPerLine];
    };
    std::vector<Line> m_lines;
};

} // namespace kvscope
