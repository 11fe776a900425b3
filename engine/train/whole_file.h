#pragma once

#include <filesystem>
#include <string>
#include <string_view>

namespace kvscope {

/// The bytes of a file of text, which may be empty.
/// \throws EngineError naming the file that cannot be read
std::string readWholeFile(const std::filesystem::path& file);

/// Writes a small file under a temporary name beside it and renames it: a file of that name is
/// whole or as it was. Folders on the way are made.
/// \throws EngineError naming the file and the reason
void writeWholeFile(const std::filesystem::path& file, std::string_view bytes);

} // namespace kvscope
