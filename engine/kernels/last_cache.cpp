#include "engine/kernels/last_cache.h"

#include <algorithm>
#include <bit>
#include <cctype>
#include <fstream>
#include <sstream>

namespace kvscope {
namespace {

constexpr std::uint64_t kUnknown = std::uint64_t{32} << 20;
constexpr int kMostCaches = 8; // that are looked at: of both kinds, up to three levels

std::string firstWord(const std::string& path)
{
    std::ifstream file(path);
    std::string word;
    file >> word;
    return word;
}

int bitsOf(const std::string& hexadecimal)
{
    int count = 0;
    for (const char digit : hexadecimal) {
        if (digit == ',')
            continue;
        if (std::isxdigit(static_cast<unsigned char>(digit)) == 0)
            return 0;
        const int value = std::isdigit(static_cast<unsigned char>(digit)) != 0
                              ? digit - '0'
                              : std::tolower(static_cast<unsigned char>(digit)) - 'a' + 10;
        count += std::popcount(static_cast<unsigned>(value));
    }
    return count;
}

} // namespace

std::uint64_t lastCacheBytes(const std::string& size, const std::string& sharedMap, int numThreads)
{
    std::istringstream text(size);
    std::uint64_t count = 0;
    char unit = 0;
    const int sharing = bitsOf(sharedMap);
    if (!(text >> count >> unit) || (unit != 'K' && unit != 'M') || sharing == 0)
        return 0;
    const int caches = std::max(1, (numThreads + sharing - 1) / sharing);
    return (count << (unit == 'K' ? 10 : 20)) * static_cast<std::uint64_t>(caches);
}

std::uint64_t lastCacheBytes(int numThreads)
{
    std::uint64_t bytes = 0;
    for (int i = 0; i < kMostCaches; ++i) {
        const std::string cache =
            "/sys/devices/system/cpu/cpu0/cache/index" + std::to_string(i) + "/";
        bytes = std::max(bytes, lastCacheBytes(firstWord(cache + "size"),
                                               firstWord(cache + "shared_cpu_map"), numThreads));
    }
    return bytes > 0 ? bytes : kUnknown;
}

} // namespace kvscope
