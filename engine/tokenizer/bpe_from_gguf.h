#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/tokenizer/bpe_tokenizer.h"

namespace kvscope {

/// The byte-level BPE tokenizer of a GGUF vocabulary. User-defined tokens are found in every text,
/// control tokens where they are parsed. \throws TokenizerError for a pre-tokenizer that is not
/// known
BpeParts bpePartsFrom(const BpeVocabulary& vocabulary);

} // namespace kvscope
