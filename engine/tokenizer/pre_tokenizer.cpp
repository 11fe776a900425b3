#include "engine/tokenizer/pre_tokenizer.h"

#include "engine/base/errors.h"

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <utf8proc.h>

namespace kvscope {
namespace {

enum class CharacterClass : std::uint8_t { Letter, Number, Space, Other };

/// Unicode's White_Space property, which is what \s means to the regex engines of the references.
bool isWhiteSpace(std::int32_t codePoint)
{
    return (codePoint >= 0x09 && codePoint <= 0x0D) || codePoint == 0x20 || codePoint == 0x85 ||
           codePoint == 0xA0 || codePoint == 0x1680 ||
           (codePoint >= 0x2000 && codePoint <= 0x200A) || codePoint == 0x2028 ||
           codePoint == 0x2029 || codePoint == 0x202F || codePoint == 0x205F || codePoint == 0x3000;
}

CharacterClass classOf(std::int32_t codePoint)
{
    if (isWhiteSpace(codePoint))
        return CharacterClass::Space;
    switch (utf8proc_category(codePoint)) {
    case UTF8PROC_CATEGORY_LU:
    case UTF8PROC_CATEGORY_LL:
    case UTF8PROC_CATEGORY_LT:
    case UTF8PROC_CATEGORY_LM:
    case UTF8PROC_CATEGORY_LO:
        return CharacterClass::Letter;
    case UTF8PROC_CATEGORY_ND:
    case UTF8PROC_CATEGORY_NL:
    case UTF8PROC_CATEGORY_NO:
        return CharacterClass::Number;
    default:
        return CharacterClass::Other;
    }
}

/// One character of the text: its class and the bytes it spans.
struct Character
{
    CharacterClass kind;
    std::size_t length;
};

Character characterAt(std::string_view text, std::size_t at)
{
    std::int32_t codePoint = 0;
    const auto length =
        utf8proc_iterate(reinterpret_cast<const utf8proc_uint8_t*>(text.data() + at),
                         static_cast<utf8proc_ssize_t>(text.size() - at), &codePoint);
    // Never taken for the well-formed text that is asked for; keeps the scan finite all the same.
    if (length <= 0)
        return {CharacterClass::Other, 1};
    return {classOf(codePoint), static_cast<std::size_t>(length)};
}

/// Bytes of the contraction ('s, 't, 're, 've, 'm, 'll, 'd) at the front of `text`, or 0.
std::size_t contractionLength(std::string_view text)
{
    for (const std::string_view ending : {"'s", "'t", "'re", "'ve", "'m", "'ll", "'d"}) {
        if (text.starts_with(ending))
            return ending.size();
    }
    return 0;
}

/// Cuts one stretch by the GPT-2 pattern, whose look-ahead sees no further than the stretch.
class Gpt2Scanner
{
public:
    Gpt2Scanner(std::string_view stretch, std::vector<std::string_view>& words)
        : m_text(stretch)
        , m_words(words)
    {
    }

    void run()
    {
        while (m_at < m_text.size()) {
            const std::size_t length = nextLength();
            m_words.push_back(m_text.substr(m_at, length));
            m_at += length;
        }
    }

private:
    std::size_t nextLength() const
    {
        if (const std::size_t contraction = contractionLength(m_text.substr(m_at)); contraction > 0)
            return contraction;
        const Character first = characterAt(m_text, m_at);
        if (first.kind != CharacterClass::Space)
            return runLength(m_at, first.kind);
        // " ?": one U+0020 joins the run of letters, numbers or others after it.
        const std::size_t next = m_at + first.length;
        if (m_text[m_at] == ' ' && next < m_text.size()) {
            const CharacterClass kind = characterAt(m_text, next).kind;
            if (kind != CharacterClass::Space)
                return first.length + runLength(next, kind);
        }
        return spaceLength();
    }

    std::size_t runLength(std::size_t from, CharacterClass kind) const
    {
        std::size_t at = from;
        while (at < m_text.size()) {
            const Character character = characterAt(m_text, at);
            if (character.kind != kind)
                break;
            at += character.length;
        }
        return at - from;
    }

    /// `\s+(?!\S)|\s+`: the whole run at the end; before anything else all but its last character,
    /// unless there is only that one.
    std::size_t spaceLength() const
    {
        std::size_t at = m_at;
        std::size_t last = m_at;
        while (at < m_text.size()) {
            const Character character = characterAt(m_text, at);
            if (character.kind != CharacterClass::Space)
                return (last > m_at ? last : at) - m_at;
            last = at;
            at += character.length;
        }
        return at - m_at;
    }

    std::string_view m_text;
    std::vector<std::string_view>& m_words;
    std::size_t m_at = 0;
};

void splitAtNumbers(std::string_view text, std::vector<std::string_view>& words)
{
    std::size_t begin = 0;
    for (std::size_t at = 0; at < text.size();) {
        const Character character = characterAt(text, at);
        if (character.kind == CharacterClass::Number) {
            Gpt2Scanner(text.substr(begin, at - begin), words).run();
            words.push_back(text.substr(at, character.length));
            begin = at + character.length;
        }
        at += character.length;
    }
    Gpt2Scanner(text.substr(begin), words).run();
}

} // namespace

PreTokenizer preTokenizerNamed(std::string_view name)
{
    constexpr std::array<std::string_view, 4> kGpt2 = {"gpt-2", "phi-2", "mpt", "olmo"};
    constexpr std::array<std::string_view, 5> kSingleDigits = {"smollm", "starcoder", "refact",
                                                               "command-r", "codeshell"};
    if (std::ranges::find(kGpt2, name) != kGpt2.end())
        return PreTokenizer::Gpt2;
    if (std::ranges::find(kSingleDigits, name) != kSingleDigits.end())
        return PreTokenizer::Gpt2SingleDigits;
    throw TokenizerError("The vocabulary asks for the pre-tokenizer '" + std::string(name) +
                         "', which is not known here (gpt-2 and smollm are); its text cannot be "
                         "split the way the model was trained.");
}

std::vector<std::string_view> splitForBpe(std::string_view text, PreTokenizer scheme)
{
    std::vector<std::string_view> words;
    words.reserve(text.size() / 4 + 1);
    switch (scheme) {
    case PreTokenizer::Gpt2:
        Gpt2Scanner(text, words).run();
        break;
    case PreTokenizer::Gpt2SingleDigits:
        splitAtNumbers(text, words);
        break;
    }
    return words;
}

} // namespace kvscope
