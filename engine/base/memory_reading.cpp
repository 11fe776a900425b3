#include "engine/base/memory_reading.h"

#include <algorithm>
#include <fstream>
#include <limits>
#include <optional>
#include <sstream>
#include <string>

namespace kvscope {
namespace {

/// The number, in bytes, behind `key` in a file of "Key:   123 kB" lines.
std::optional<std::uint64_t> kibibyteField(const std::string& text, const std::string& key)
{
    const auto at = text.find(key + ":");
    if (at == std::string::npos)
        return std::nullopt;
    std::istringstream rest(text.substr(at + key.size() + 1, 64));
    std::uint64_t value = 0;
    if (!(rest >> value))
        return std::nullopt;
    return value * 1024;
}

std::string fileText(const char* path)
{
    std::ifstream file(path);
    std::ostringstream text;
    text << file.rdbuf();
    return text.str();
}

std::optional<std::uint64_t> numberIn(const char* path)
{
    std::ifstream file(path);
    std::uint64_t value = 0;
    if (!(file >> value)) // "max", or no such file
        return std::nullopt;
    return value;
}

std::uint64_t freeInOwnControlGroup()
{
    const auto limit = numberIn("/sys/fs/cgroup/memory.max");
    const auto used = numberIn("/sys/fs/cgroup/memory.current");
    if (!limit || !used)
        return std::numeric_limits<std::uint64_t>::max();
    return freeInControlGroup(*limit, *used, fileText("/sys/fs/cgroup/memory.stat"));
}

} // namespace

ProcessMemory readProcessMemory()
{
    const std::string text = fileText("/proc/self/status");
    ProcessMemory memory;
    memory.resident = kibibyteField(text, "VmRSS").value_or(0);
    memory.anonymous = kibibyteField(text, "RssAnon").value_or(0);
    memory.fileBacked = kibibyteField(text, "RssFile").value_or(0);
    memory.peakResident = kibibyteField(text, "VmHWM").value_or(0);
    return memory;
}

bool resetPeakMemory()
{
    std::ofstream file("/proc/self/clear_refs");
    return static_cast<bool>(file << '5' << std::flush);
}

std::uint64_t freeInControlGroup(std::uint64_t limit, std::uint64_t used,
                                 const std::string& statText)
{
    std::istringstream lines(statText);
    std::uint64_t reclaimable = 0;
    std::string key;
    for (std::uint64_t value = 0; lines >> key >> value;)
        if (key == "active_file" || key == "inactive_file")
            reclaimable += value;
    const std::uint64_t held = used - std::min(used, reclaimable);
    return limit > held ? limit - held : 0;
}

std::optional<std::uint64_t> readFreeHostMemory()
{
    const auto available = kibibyteField(fileText("/proc/meminfo"), "MemAvailable");
    if (!available)
        return std::nullopt;
    return std::min(*available, freeInOwnControlGroup());
}

} // namespace kvscope
