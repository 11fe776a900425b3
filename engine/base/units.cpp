#include "engine/base/units.h"

#include <array>
#include <cmath>
#include <cstdio>

namespace kvscope {
namespace {

std::string printed(const char* format, double value, const char* unit)
{
    std::array<char, 48> text{};
    std::snprintf(text.data(), text.size(), format, value, unit);
    return text.data();
}

std::string scaled(double value, double base, const std::array<const char*, 5>& units)
{
    std::size_t unit = 0;
    // 999.5 would round to "1000" with three digits, so the next unit starts there.
    while (unit + 1 < units.size() && value >= (unit == 0 ? base : 999.5)) {
        value /= base;
        ++unit;
    }
    if (unit == 0)
        return printed("%.0f %s", value, units[0]);
    const char* format = value >= 99.95 ? "%.0f %s" : value >= 9.995 ? "%.1f %s" : "%.2f %s";
    return printed(format, value, units[unit]);
}

} // namespace

std::string formatBytes(std::uint64_t bytes)
{
    return scaled(static_cast<double>(bytes), 1024.0, {"B", "KiB", "MiB", "GiB", "TiB"});
}

std::string formatFileSize(std::uint64_t bytes)
{
    return scaled(static_cast<double>(bytes), 1000.0, {"B", "kB", "MB", "GB", "TB"});
}

std::string formatCount(std::int64_t count)
{
    std::string digits = std::to_string(count);
    const std::size_t first = count < 0 ? 1 : 0;
    for (std::size_t end = digits.size(); end > first + 3;) {
        end -= 3;
        digits.insert(end, ",");
    }
    return digits;
}

std::string formatSeconds(double seconds)
{
    if (seconds < 0.9995)
        return printed("%.1f %s", seconds * 1e3, "ms");
    if (seconds < 59.95)
        return printed(seconds < 9.995 ? "%.2f %s" : "%.1f %s", seconds, "s");
    const auto whole = static_cast<std::int64_t>(std::llround(seconds));
    if (whole < 3600)
        return std::to_string(whole / 60) + " min " + std::to_string(whole % 60) + " s";
    return std::to_string(whole / 3600) + " h " + std::to_string(whole % 3600 / 60) + " min";
}

} // namespace kvscope
