#pragma once

#include "engine/tokenizer/text_pattern.h"
#include "engine/tokenizer/unicode_text.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvscope {

/// What happens to plain text before it is cut into stretches, step by step.
/// Source: Hugging Face tokenizers, src/normalizers.
class Normalizer
{
public:
    struct Lowercase
    {
    };
    struct RemoveMarks
    {
    };
    /// Bytes spelled in GPT-2's alphabet.
    struct SpellBytes
    {
    };
    struct Replace
    {
        TextPattern pattern;
        std::string by;
    };
    /// Puts a text in front of any that is not empty.
    struct Prepend
    {
        std::string text;
    };
    /// Takes white space away at the ends.
    struct Strip
    {
        bool left = true;
        bool right = true;
    };
    using Step =
        std::variant<NormalForm, Lowercase, RemoveMarks, SpellBytes, Replace, Prepend, Strip>;

    Normalizer() = default;
    explicit Normalizer(std::vector<Step> steps)
        : m_steps(std::move(steps))
    {
    }

    bool isIdentity() const { return m_steps.empty(); }
    /// \param text  well-formed UTF-8
    /// \throws TokenizerError where the result would be more than 64 times as long (and a kibibyte)
    std::string apply(std::string_view text) const;

private:
    std::vector<Step> m_steps;
};

} // namespace kvscope
