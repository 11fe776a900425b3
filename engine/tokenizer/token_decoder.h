#pragma once

#include "engine/tokenizer/text_pattern.h"

#include <string>
#include <variant>
#include <vector>

namespace kvscope {

/// How tokens become text again, step by step. Source: Hugging Face tokenizers, src/decoders. Bytes
/// that form no character are kept as they are.
class TokenDecoder
{
public:
    /// Tokens spelled in GPT-2's alphabet become their bytes.
    struct SpelledBytes
    {
    };
    /// "<0x0A>" becomes that byte.
    struct NamedBytes
    {
    };
    /// All tokens become one, for the steps behind.
    struct Fuse
    {
    };
    struct Replace
    {
        TextPattern pattern;
        std::string by;
    };
    /// Takes up to `left` and `right` times `content` away at the ends of each token.
    struct Strip
    {
        std::string content;
        std::size_t left = 0;
        std::size_t right = 0;
    };
    /// `symbol` becomes a space; in the very first token nothing.
    struct Metaspace
    {
        std::string symbol;
        bool dropsFirst = true;
    };
    using Step = std::variant<SpelledBytes, NamedBytes, Fuse, Replace, Strip, Metaspace>;

    /// Without steps tokens are joined by spaces, as the library does.
    TokenDecoder() = default;
    explicit TokenDecoder(std::vector<Step> steps)
        : m_steps(std::move(steps))
    {
    }
    /// Of byte-level BPE.
    static TokenDecoder ofSpelledBytes();

    /// The text of tokens that follow each other from the beginning on.
    std::string decode(std::vector<std::string> tokens) const;
    /// What one token stands for in the middle of a text.
    std::string piece(std::string token) const;

private:
    std::vector<Step> m_steps;
};

} // namespace kvscope
