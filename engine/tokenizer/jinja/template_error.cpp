#include "engine/tokenizer/jinja/template_error.h"

#include "engine/base/utf8.h"

#include <algorithm>
#include <utility>

namespace kvscope::jinja {
namespace {

constexpr std::size_t kLongestWords = 300;

/// What a template says may hold anything; a message is one line of text.
std::string clean(const std::string& words)
{
    std::string text = words;
    if (text.size() > kLongestWords)
        text = text.substr(0, kLongestWords) + "...";
    text = toValidUtf8(text);
    std::ranges::replace_if(
        text, [](unsigned char c) { return c < 0x20 || c == 0x7F; }, ' ');
    return text;
}

std::string sentence(TemplateError::Reason reason, int line, const std::string& words)
{
    const std::string where = line > 0 ? " (line " + std::to_string(line) + ")" : "";
    if (reason == TemplateError::Reason::Raised)
        return "The chat template" + where + " refuses this conversation: " + words;
    return "The chat template" + where + " cannot be rendered: " + words;
}

} // namespace

TemplateError::TemplateError(Reason reason, const std::string& words, int line)
    : TemplateError(reason, line, clean(words))
{
}

TemplateError::TemplateError(Reason reason, int line, std::string cleanWords)
    : TokenizerError(sentence(reason, line, cleanWords))
    , m_reason(reason)
    , m_line(line)
    , m_words(std::move(cleanWords))
{
}

void fail(const std::string& words)
{
    throw TemplateError(TemplateError::Reason::Failure, words);
}

} // namespace kvscope::jinja
