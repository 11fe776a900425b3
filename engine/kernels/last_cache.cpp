#include "engine/kernels/last_cache.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <fstream>
#include <optional>
#include <string>

namespace kvscope {
namespace {

constexpr std::uint64_t kUnknown = std::uint64_t{32} << 20;
constexpr int kMostCaches = 16; // that are looked at: two kinds, a few levels

template <typename Value>
std::optional<Value> firstIn(const std::filesystem::path& path)
{
    std::ifstream file(path);
    Value value{};
    if (!(file >> value))
        return std::nullopt;
    return value;
}

/// Processors in a map such as "00000001,f0000000"; 0 where it is none.
int processorsIn(const std::filesystem::path& path)
{
    int count = 0;
    for (const char digit : firstIn<std::string>(path).value_or("")) {
        if (digit == ',')
            continue;
        const auto letter = static_cast<unsigned char>(digit);
        if (std::isxdigit(letter) == 0)
            return 0;
        const int value =
            std::isdigit(letter) != 0 ? letter - '0' : std::tolower(letter) - 'a' + 10;
        count += std::popcount(static_cast<unsigned>(value));
    }
    return count;
}

/// "16384K" or "32M"; 0 where it is neither.
std::uint64_t sizeIn(const std::filesystem::path& path)
{
    std::ifstream file(path);
    std::uint64_t count = 0;
    char unit = 0;
    if (!(file >> count >> unit) || (unit != 'K' && unit != 'M'))
        return 0;
    return count << (unit == 'K' ? 10 : 20);
}

} // namespace

std::uint64_t lastCacheBytes(int numThreads, const std::filesystem::path& cpu)
{
    int last = 0;
    std::uint64_t bytes = 0;
    int sharing = 0;
    for (int i = 0; i < kMostCaches; ++i) {
        const std::filesystem::path cache = cpu / "cache" / ("index" + std::to_string(i));
        const int level = firstIn<int>(cache / "level").value_or(0);
        if (level < last || firstIn<std::string>(cache / "type") == "Instruction")
            continue;
        last = level;
        bytes = sizeIn(cache / "size");
        sharing = processorsIn(cache / "shared_cpu_map");
    }
    if (bytes == 0 || sharing == 0)
        return kUnknown;
    const int perCore = std::max(1, processorsIn(cpu / "topology" / "thread_siblings"));
    const int cores = std::max(1, sharing / perCore);
    const int caches = std::max(1, (numThreads + cores - 1) / cores);
    return bytes * static_cast<std::uint64_t>(caches);
}

} // namespace kvscope
