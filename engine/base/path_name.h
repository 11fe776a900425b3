#pragma once

#include <filesystem>
#include <string>

namespace kvscope {

/// The last part of a path, of a folder that is written with a slash at its end too: what goes to
/// others names no folder of this machine.
inline std::string lastName(const std::filesystem::path& path)
{
    return (path.has_filename() ? path : path.parent_path()).filename().string();
}

} // namespace kvscope
