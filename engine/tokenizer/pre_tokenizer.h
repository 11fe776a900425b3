#pragma once

#include "engine/tokenizer/text_pattern.h"

#include <string>
#include <string_view>
#include <variant>
#include <vector>

namespace kvscope {

/// A text and the stretches of it within which BPE may merge, in order and none empty.
struct Stretches
{
    std::string text;
    std::vector<TextRange> ranges;
    bool isAtFront = true; ///< the first stretch begins where what was encoded begins
};

/// How text is cut into stretches: a chain of steps, each cutting what the one before left.
/// Source: Hugging Face tokenizers, src/pre_tokenizers and NormalizedString::split. GGUF's schemes
/// and tiktoken's are the same with other patterns.
class PreTokenizer
{
public:
    /// What becomes of the matches of a pattern.
    enum class Behavior {
        Isolated,           ///< stretches of their own
        Removed,            ///< left out
        MergedWithPrevious, ///< the end of the stretch before
        MergedWithNext,     ///< the front of the stretch behind
        Contiguous,         ///< neighbouring matches are one stretch
    };
    enum class PrependScheme { First, Always, Never };

    struct Split
    {
        TextPattern pattern;
        Behavior behavior = Behavior::Isolated;
        bool isInverted = false; ///< what lies between matches is matched instead
    };
    /// Puts a space in front of each stretch that has none.
    struct PrefixSpace
    {
    };
    /// Spells bytes in GPT-2's alphabet.
    struct SpellBytes
    {
    };
    /// Puts `symbol` in place of spaces, and in front of stretches that do not begin with it.
    struct Metaspace
    {
        std::string symbol;
        PrependScheme scheme = PrependScheme::Always;
    };
    using Step = std::variant<Split, PrefixSpace, SpellBytes, Metaspace>;

    PreTokenizer() = default;
    explicit PreTokenizer(std::vector<Step> steps)
        : m_steps(std::move(steps))
    {
    }

    /// Whether the stretches are bytes spelled in GPT-2's alphabet.
    bool spellsBytes() const;
    /// Cuts `text`. Linear in its length for every pattern in use; a pattern that is not is
    /// stopped. \param text  well-formed UTF-8 \param isAtFront  whether it is the beginning of
    /// what is encoded \throws TokenizerError where a pattern takes too many steps
    Stretches split(std::string text, bool isAtFront) const;

private:
    std::vector<Step> m_steps;
};

} // namespace kvscope
