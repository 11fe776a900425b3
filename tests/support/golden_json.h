#pragma once

#include <nlohmann/json.hpp>
#include <string>

namespace kvscope {

/// The whole path of a file below tests/golden; a whole path is given back as it is.
std::string goldenPath(const std::string& relativePath);

/// A JSON file below tests/golden.
/// \throws std::exception, naming the file where it cannot be opened
nlohmann::json readGoldenJson(const std::string& relativePath);

} // namespace kvscope
