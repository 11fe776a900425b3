#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <filesystem>
#include <memory>

namespace kvscope {

class CheckLog;

/// Maps a safetensors file and checks everything its format promises: a header of at most
/// 100,000,000 bytes that begins with '{' and is UTF-8 JSON without repeated keys, spans that agree
/// with shape and type, follow each other without holes or overlap, and end with the file. Values
/// are not looked at. Source: the safetensors README, "Format". \throws CheckpointError naming the
/// file, the tensor, what was expected and what was found
std::shared_ptr<const TensorFile> readSafetensors(const std::filesystem::path& path);
/// \param log  gets each check made of the file
std::shared_ptr<const TensorFile> readSafetensors(const std::filesystem::path& path, CheckLog& log);

} // namespace kvscope
