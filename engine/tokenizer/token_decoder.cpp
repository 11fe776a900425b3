#include "engine/tokenizer/token_decoder.h"

#include "engine/base/utf8.h"
#include "engine/tokenizer/byte_alphabet.h"
#include "engine/tokenizer/token_index.h"

#include <string_view>

namespace kvscope {
namespace {

std::string replaced(std::string text, const TextPattern& pattern, std::string_view by)
{
    // Tokens of bytes need not be characters, which a regular expression asks for.
    if (pattern.isExpression())
        text = toValidUtf8(text);
    std::vector<TextRange> matches;
    pattern.findAll(text, matches);
    if (matches.empty())
        return text;
    std::string result;
    std::size_t at = 0;
    for (const TextRange& match : matches) {
        result.append(text, at, match.begin - at).append(by);
        at = match.end;
    }
    return result.append(text, at);
}

std::string stripped(std::string_view text, const TokenDecoder::Strip& strip)
{
    for (std::size_t i = 0; i < strip.left && text.starts_with(strip.content); ++i)
        text.remove_prefix(strip.content.size());
    for (std::size_t i = 0; i < strip.right && text.ends_with(strip.content); ++i)
        text.remove_suffix(strip.content.size());
    return std::string(text);
}

std::string joined(const std::vector<std::string>& tokens, std::string_view by)
{
    std::string text;
    for (std::size_t i = 0; i < tokens.size(); ++i)
        (text += i == 0 ? "" : by) += tokens[i];
    return text;
}

/// Carries one step out on a whole sequence of tokens.
struct StepRunner
{
    std::vector<std::string> tokens;

    void operator()(TokenDecoder::SpelledBytes)
    {
        for (std::string& token : tokens)
            if (auto bytes = bytesFromAlphabet(token))
                token = std::move(*bytes);
    }
    void operator()(TokenDecoder::NamedBytes)
    {
        for (std::string& token : tokens)
            if (const auto byte = byteOfName(token))
                token = static_cast<char>(*byte);
    }
    void operator()(TokenDecoder::Fuse) { tokens = {joined(tokens, "")}; }
    void operator()(const TokenDecoder::Replace& step)
    {
        for (std::string& token : tokens)
            token = replaced(token, step.pattern, step.by);
    }
    void operator()(const TokenDecoder::Strip& step)
    {
        for (std::string& token : tokens)
            token = stripped(token, step);
    }
    void operator()(const TokenDecoder::Metaspace& step)
    {
        const TextPattern symbol = TextPattern::literal(step.symbol);
        for (std::size_t i = 0; i < tokens.size(); ++i)
            tokens[i] = replaced(tokens[i], symbol, i == 0 && step.dropsFirst ? "" : " ");
    }
};

} // namespace

TokenDecoder TokenDecoder::ofSpelledBytes()
{
    TokenDecoder decoder;
    decoder.m_steps.emplace_back(SpelledBytes{});
    return decoder;
}

std::string TokenDecoder::decode(std::vector<std::string> tokens) const
{
    StepRunner runner{std::move(tokens)};
    for (const Step& step : m_steps)
        std::visit(runner, step);
    return joined(runner.tokens, m_steps.empty() ? " " : "");
}

std::string TokenDecoder::piece(std::string token) const
{
    StepRunner runner{{std::move(token)}};
    bool isFused = false;
    for (const Step& step : m_steps) {
        isFused = isFused || std::holds_alternative<Fuse>(step);
        // What is taken from the ends of the whole text stays in its middle.
        if (isFused && std::holds_alternative<Strip>(step))
            continue;
        if (const auto* metaspace = std::get_if<Metaspace>(&step))
            runner(Metaspace{metaspace->symbol, false});
        else
            std::visit(runner, step);
    }
    return std::move(runner.tokens.front());
}

} // namespace kvscope
