#pragma once

#include <cstddef>
#include <filesystem>
#include <span>

namespace kvscope {

// A mapped file that somebody makes shorter would end the process (SIGBUS) when what is gone is
// read. Instead it reads as 0 from then on, and the file is remembered. Any thread.

/// Until unwatchMapping(); the first call installs the handler.
/// \returns a number for it
std::size_t watchMapping(std::span<const std::byte> bytes, const std::filesystem::path& path);
/// To be called before the memory is unmapped.
void unwatchMapping(std::size_t number);

/// To be called when something was computed from mapped files; costs one load.
/// \throws CheckpointError naming a file, still mapped, that was found to be shorter
void requireWholeFiles();

} // namespace kvscope
