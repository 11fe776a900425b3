#pragma once

#include "engine/checkpoint/gguf_file.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kvscope {

/// All files of the GGUF model that `path` belongs to, in order: the parts where it is named as
/// llama.cpp's gguf-split names them (NAME-00002-of-00003.gguf), whichever of them it is; otherwise
/// `path` alone.
/// \throws CheckpointError naming a part that is not beside it
std::vector<std::filesystem::path> ggufParts(const std::filesystem::path& path);

/// Compares the heads of a model's files with each other and with their number: split.count,
/// split.no (from 0), split.tensors.count, the architecture and name where several state them, and
/// that no tensor is in two of them.
/// \param names  the files' names, for errors; as many as contents
/// \throws CheckpointError
void checkGgufParts(const std::vector<std::string>& names,
                    const std::vector<GgufContent>& contents);

} // namespace kvscope
