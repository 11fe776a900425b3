#pragma once

#include <cstdint>
#include <optional>
#include <string>

namespace kvscope {

/// What the kernel says this process holds, in bytes (Linux: /proc/self/status).
struct ProcessMemory
{
    std::uint64_t resident = 0;     ///< VmRSS: everything below
    std::uint64_t anonymous = 0;    ///< RssAnon: allocations
    std::uint64_t fileBacked = 0;   ///< RssFile: mapped files, weights read in place among them
    std::uint64_t peakResident = 0; ///< VmHWM: the highest `resident` so far
};

/// Reads /proc/self/status; zeros where it cannot be read. Takes some 20 microseconds.
ProcessMemory readProcessMemory();

/// Lets VmHWM start anew from what is resident now (/proc/self/clear_refs, 5), so that a piece of
/// work has a peak of its own. \returns whether the kernel did
/// Source: Linux Documentation/filesystems/proc.rst.
bool resetPeakMemory();

/// Host memory that can be had without swapping, in bytes (MemAvailable, or what is left of this
/// process's cgroup limit where that is less). Nothing where it cannot be read.
std::optional<std::uint64_t> readFreeHostMemory();

/// What a cgroup may still allocate: its limit less what it uses, not counting files in the page
/// cache, which the kernel gives back when asked (mapped weights among them). \param statText
/// memory.stat, "key value" lines
std::uint64_t freeInControlGroup(std::uint64_t limit, std::uint64_t used,
                                 const std::string& statText);

} // namespace kvscope
