#pragma once

#include "engine/checkpoint/config_object.h"

#include <filesystem>

namespace kvscope {

/// Reads a YAML configuration of at most 1 MiB: the scalars of its `model:` section, or of the
/// whole document where it has none. Unquoted scalars become whole numbers, numbers, booleans or
/// null. \throws CheckpointError for text that is not UTF-8 or not YAML, has a key twice, or is no
/// mapping
ConfigObject readYamlConfig(const std::filesystem::path& path);

} // namespace kvscope
