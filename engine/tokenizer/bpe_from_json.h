#pragma once

#include "engine/tokenizer/bpe_tokenizer.h"

#include <filesystem>

namespace kvscope {

/// The tokenizer of a tokenizer.json, which must be BPE: byte-level, or on characters with or
/// without a fallback to bytes. The post-processor is the checkpoint's affair (beginTokenOf).
/// \throws TokenizerError naming the part that is damaged or not known here, CheckpointError for a
/// file that cannot be read
BpeParts bpePartsFromJson(const std::filesystem::path& file);

} // namespace kvscope
