#pragma once

#include <string_view>
#include <vector>

namespace kvscope {

/// How text is cut into the stretches within which BPE may merge.
enum class PreTokenizer {
    /// OpenAI GPT-2 encoder.py: `'s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+|
    /// ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+`
    Gpt2,
    /// Every \p{N} character on its own first, then the GPT-2 pattern on each stretch between them.
    Gpt2SingleDigits,
};

/// The scheme that GGUF's `tokenizer.ggml.pre` names: "gpt-2" and those that share its pattern,
/// "smollm" and those that share its. Source: llama.cpp src/llama-vocab.cpp, whose "default" is
/// another pattern. \throws TokenizerError for any other name.
PreTokenizer preTokenizerNamed(std::string_view name);

/// `text` cut into consecutive, non-empty stretches that together are all of it. One pass, so time
/// is linear whatever the text. \param text  well-formed UTF-8; the stretches point into it
std::vector<std::string_view> splitForBpe(std::string_view text, PreTokenizer scheme);

} // namespace kvscope
