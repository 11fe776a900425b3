#pragma once

#include <filesystem>

namespace kvscope {

/// Where the program's texts, facts and demo model lie: $KVSCOPE_RESOURCES, or the folder known
/// when building.
std::filesystem::path resourceFolder();

} // namespace kvscope
