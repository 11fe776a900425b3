#pragma once

#include <filesystem>
#include <string_view>

namespace kvscope {

/// Writes a small file under a temporary name beside it and renames it: a file of that name is
/// whole or as it was. Folders on the way are made.
/// \throws EngineError naming the file and the reason
void writeWholeFile(const std::filesystem::path& file, std::string_view bytes);

} // namespace kvscope
