#pragma once

#include <filesystem>
#include <string>

namespace kvscope {

/// What kind of model file the first bytes speak for.
enum class FileKind { Gguf, Safetensors, Foreign };

/// Looks at a file's first bytes; its name only decides where they say nothing.
/// \throws CheckpointError if it cannot be read
FileKind detectFileKind(const std::filesystem::path& path);

/// Throws CheckpointError saying what a foreign file is (a pickle, a Git LFS pointer, a web page,
/// ...), that it is not opened, and what to do instead.
[[noreturn]] void refuseForeignFile(const std::filesystem::path& path);

} // namespace kvscope
