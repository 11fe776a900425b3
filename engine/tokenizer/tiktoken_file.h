#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/tokenizer/bpe_tokenizer.h"

#include <filesystem>

namespace kvscope {

/// The tokenizer of a tiktoken file, such as Llama 3's `tokenizer.model`: on each line a token in
/// base64 and its rank, which is its id and the order of merging. The file says neither how text is
/// split nor what the special tokens are: the first follows from the number of ranks, the second is
/// in `source.addedTokens` or, for Llama 3's 128,000 ranks, known.
/// \throws TokenizerError naming the line that makes no sense
BpeParts bpePartsFromTiktoken(const std::filesystem::path& file,
                              const std::vector<AddedToken>& addedTokens);

} // namespace kvscope
