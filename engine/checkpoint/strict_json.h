#pragma once

#include <filesystem>
#include <nlohmann/json.hpp>
#include <string>
#include <string_view>

namespace kvscope {

/// Parses JSON from a file nobody vouches for: UTF-8, no key twice in an object, at most 32 levels
/// deep. \param file  named in errors \throws CheckpointError
nlohmann::json parseStrictJson(std::string_view text, const std::string& file);

/// Reads and parses a whole file of at most 32 MiB that must hold an object.
/// \throws CheckpointError
nlohmann::json readJsonObject(const std::filesystem::path& path);

} // namespace kvscope
