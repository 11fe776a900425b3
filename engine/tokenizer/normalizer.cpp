#include "engine/tokenizer/normalizer.h"

#include "engine/base/errors.h"
#include "engine/tokenizer/byte_alphabet.h"

namespace kvscope {
namespace {

// U+FDFA alone becomes eleven times its bytes in NFKC; a hostile file repeats replacements.
constexpr std::size_t kMaxGrowth = 64;
constexpr std::size_t kFreeBytes = 1024;

void requireSize(std::size_t size, std::size_t limit)
{
    if (size > limit)
        throw TokenizerError("The tokenizer's normalizer makes the text more than " +
                             std::to_string(kMaxGrowth) +
                             " times as long; its file is probably damaged.");
}

std::string replaced(std::string_view text, const Normalizer::Replace& replace, std::size_t limit)
{
    std::vector<TextRange> matches;
    replace.pattern.findAll(text, matches);
    requireSize(text.size() + matches.size() * replace.by.size(), limit + text.size());
    std::string result;
    result.reserve(text.size());
    std::size_t at = 0;
    for (const TextRange& match : matches) {
        result.append(text.substr(at, match.begin - at)).append(replace.by);
        at = match.end;
    }
    result.append(text.substr(at));
    return result;
}

std::string_view stripped(std::string_view text, const Normalizer::Strip& strip)
{
    while (strip.left && !text.empty()) {
        const CodePoint first = codePointAt(text, 0);
        if (!isWhiteSpace(first.value))
            break;
        text.remove_prefix(first.length);
    }
    while (strip.right && !text.empty()) {
        std::size_t last = text.size() - 1;
        while (last > 0 && (static_cast<unsigned char>(text[last]) & 0xC0U) == 0x80U)
            --last;
        if (!isWhiteSpace(codePointAt(text, last).value))
            break;
        text = text.substr(0, last);
    }
    return text;
}

/// Carries one step out on the text it is given.
struct StepRunner
{
    std::string text;
    std::size_t limit; ///< bytes

    void operator()(NormalForm form) { text = normalized(text, form); }
    void operator()(Normalizer::Lowercase) { text = lowerCased(text); }
    void operator()(Normalizer::RemoveMarks) { text = withoutMarks(text); }
    void operator()(Normalizer::SpellBytes)
    {
        std::string spelled;
        appendInAlphabet(spelled, text);
        text = std::move(spelled);
    }
    void operator()(const Normalizer::Replace& step) { text = replaced(text, step, limit); }
    void operator()(const Normalizer::Prepend& step)
    {
        if (!text.empty())
            text.insert(0, step.text);
    }
    void operator()(const Normalizer::Strip& step) { text = std::string(stripped(text, step)); }
};

} // namespace

std::string Normalizer::apply(std::string_view text) const
{
    StepRunner runner{std::string(text), kFreeBytes + kMaxGrowth * text.size()};
    for (const Step& step : m_steps) {
        std::visit(runner, step);
        requireSize(runner.text.size(), runner.limit);
    }
    return std::move(runner.text);
}

} // namespace kvscope
