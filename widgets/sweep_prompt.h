#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// A stretch of a text in bytes: [begin, end).
struct TextRange
{
    std::size_t begin = 0;
    std::size_t end = 0;

    bool isEmpty() const { return begin >= end; }
    bool operator==(const TextRange&) const = default;
};

/// A trial's prompt as the model was given it.
struct ShownPrompt
{
    std::string text;                       ///< UTF-8, template included
    std::vector<TextRange> statements;      ///< what is asked for; empty for a control
    TextRange question;                     ///< empty: not known
    std::vector<std::string> controlTokens; ///< texts that the template writes: "<|im_start|>"
    /// Byte at which each token begins, rising; empty: counts of tokens are estimated from
    /// `tokens` by length, and say so.
    std::vector<std::size_t> tokenStarts;
    std::int64_t tokens = 0; ///< of the whole prompt
};

/// A piece of an excerpt, in the prompt's order.
struct PromptPiece
{
    enum class Kind {
        Text,
        Statement, ///< one of the prompt's statements
        Question,
        Elided, ///< left out: `range` and `tokens` say how much
    };

    Kind kind = Kind::Text;
    TextRange range;
    std::int64_t tokens = 0; ///< of what is left out
    bool isExact = true;     ///< else estimated
};

/// How many bytes an excerpt keeps.
struct ExcerptRoom
{
    std::size_t head = 150;   ///< at the prompt's start
    std::size_t around = 130; ///< on each side of a statement
    std::size_t tail = 260;   ///< at the end, or from the question on where it is known
    std::size_t least = 80;   ///< less than this is not left out
};

/// The prompt with the middle of its filler left out. Cuts are made between words and never inside
/// a character. Ranges that are not in the text are cut to it or left out.
std::vector<PromptPiece> excerptOf(const ShownPrompt& prompt, const ExcerptRoom& room = {});
/// All of it, with statements and question told apart.
std::vector<PromptPiece> wholeOf(const ShownPrompt& prompt);

} // namespace kvscope
