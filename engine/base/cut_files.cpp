#include "engine/base/cut_files.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"

#include <algorithm>
#include <array>
#include <atomic>
#include <csignal>
#include <cstdint>
#include <mutex>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace kvscope {
namespace {

/// What the handler reads; 0 to 0: free.
struct Mapping
{
    std::atomic<std::uintptr_t> begin{0};
    std::atomic<std::uintptr_t> end{0};
    std::atomic<bool> isCut{false};
};

// More than a model has files. Beyond, a file is not watched.
constexpr std::size_t kMostMappings = 1024;

std::array<Mapping, kMostMappings> mappings;
std::atomic<int> numCut{0};
std::uintptr_t pageBytes = 0;

std::mutex mutex; ///< of what follows, and of taking mappings
std::array<std::string, kMostMappings> names;

/// Puts zeros in place of the rest of a mapping.
bool replaceFrom(std::uintptr_t at, Mapping& mapping)
{
    const std::uintptr_t begin = mapping.begin.load();
    const std::uintptr_t end = mapping.end.load();
    if (at < begin || at >= end)
        return false;
    const std::uintptr_t page = at / pageBytes * pageBytes;
    void* const zeros = ::mmap(reinterpret_cast<void*>(page), end - page, PROT_READ,
                               MAP_PRIVATE | MAP_ANONYMOUS | MAP_FIXED, -1, 0);
    if (zeros == MAP_FAILED)
        return false;
    if (!mapping.isCut.exchange(true))
        ++numCut;
    return true;
}

extern "C" void onBusError(int /*signal*/, siginfo_t* info, void* /*context*/)
{
    const auto at = reinterpret_cast<std::uintptr_t>(info->si_addr);
    for (Mapping& mapping : mappings)
        if (replaceFrom(at, mapping))
            return;
    std::signal(SIGBUS, SIG_DFL); // not ours: it comes again, and ends the process
}

void installHandler()
{
    pageBytes = static_cast<std::uintptr_t>(::sysconf(_SC_PAGESIZE));
    struct sigaction action = {};
    action.sa_sigaction = onBusError;
    action.sa_flags = SA_SIGINFO;
    sigemptyset(&action.sa_mask);
    ::sigaction(SIGBUS, &action, nullptr);
}

} // namespace

std::size_t watchMapping(std::span<const std::byte> bytes, const std::filesystem::path& path)
{
    static std::once_flag once;
    std::call_once(once, installHandler);
    const std::lock_guard lock(mutex);
    const auto found = std::find_if(mappings.begin(), mappings.end(),
                                    [](const Mapping& mapping) { return mapping.end == 0; });
    const auto number = static_cast<std::size_t>(found - mappings.begin());
    if (number == kMostMappings)
        return number;
    names[number] = path.string();
    const auto begin = reinterpret_cast<std::uintptr_t>(bytes.data());
    found->begin = begin;
    found->end = begin + bytes.size();
    return number;
}

void unwatchMapping(std::size_t number)
{
    if (number == kMostMappings)
        return;
    const std::lock_guard lock(mutex);
    mappings[number].begin = mappings[number].end = 0;
    if (mappings[number].isCut.exchange(false))
        --numCut;
}

void requireWholeFiles()
{
    if (numCut == 0)
        return;
    const std::lock_guard lock(mutex);
    for (std::size_t i = 0; i < kMostMappings; ++i)
        if (mappings[i].isCut)
            throw CheckpointError(oneLine(names[i]) +
                                  ": became shorter while it was in use; load it again");
}

} // namespace kvscope
