#pragma once

#include "engine/tokenizer/pre_tokenizer.h"

#include <string_view>

namespace kvscope {

/// Patterns that many vocabularies share, as their own files have them.
/// Source: OpenAI GPT-2 encoder.py.
inline constexpr std::string_view kGpt2Pattern =
    R"('s|'t|'re|'ve|'m|'ll|'d| ?\p{L}+| ?\p{N}+| ?[^\s\p{L}\p{N}]+|\s+(?!\S)|\s+)";
/// Source: Llama 3 tokenizer.py, pat_str.
inline constexpr std::string_view kLlama3Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Source: Qwen2 tokenizer.json.
inline constexpr std::string_view kQwen2Pattern =
    R"((?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}| ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+)";
/// Source: tiktoken openai_public.py, o200k_base.
inline constexpr std::string_view kO200kPattern =
    R"([^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]*[\p{Ll}\p{Lm}\p{Lo}\p{M}]+(?i:'s|'t|'re|'ve|'m|'ll|'d)?|[^\r\n\p{L}\p{N}]?[\p{Lu}\p{Lt}\p{Lm}\p{Lo}\p{M}]+[\p{Ll}\p{Lm}\p{Lo}\p{M}]*(?i:'s|'t|'re|'ve|'m|'ll|'d)?|\p{N}{1,3}| ?[^\s\p{L}\p{N}]+[\r\n/]*|\s*[\r\n]+|\s+(?!\S)|\s+)";

/// Byte-level pre-tokenization by one pattern: its matches are stretches, spelled in GPT-2's
/// alphabet.
PreTokenizer byteLevelPreTokenizer(std::string_view pattern);

/// The scheme that GGUF's `tokenizer.ggml.pre` names.
struct GgufPreTokenizer
{
    PreTokenizer preTokenizer;
    bool ignoresMerges = false; ///< see BpeRules
};

/// Source: llama.cpp src/llama-vocab.cpp, for which names share which pattern; the patterns are
/// those of the models' own files where llama.cpp quotes them and rewrites them for its engine.
/// \throws TokenizerError for a name that is not known, listing those that are
GgufPreTokenizer ggufPreTokenizer(std::string_view name);

} // namespace kvscope
