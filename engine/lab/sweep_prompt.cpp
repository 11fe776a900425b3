#include "engine/lab/sweep_prompt.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/leak_lint.h"
#include "engine/model/decoder.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr std::int64_t kMostAttempts = 64; // stretches of filler
/// A prompt this much shorter than asked for is another length: no word of the text fits.
constexpr std::int64_t kMostMissing = 128;

std::int64_t sizeOf(const std::vector<TokenId>& ids)
{
    return std::ssize(ids);
}

std::string_view withoutEndingSpace(std::string_view text)
{
    return text.ends_with(' ') ? text.substr(0, text.size() - 1) : text;
}

void requireNoStop(const std::stop_token& stop)
{
    if (stop.stop_requested())
        throw Stopped{};
}

std::string leakText(const SweepItem& item, const std::string& where)
{
    return "the answer " + item.expected + " of '" + item.name + "' is in " + where;
}

} // namespace

SweepPrompter::SweepPrompter(const SweepTask& task, const Tokenizer& tokenizer,
                             ChatPrompter prompter, std::int64_t answerRoom)
    : m_task(task)
    , m_tokenizer(tokenizer)
    , m_prompter(std::move(prompter))
    , m_answerRoom(answerRoom)
{
}

TokenizedText SweepPrompter::tokenized(const SweepMessage& message,
                                       const std::stop_token& stop) const
{
    requireNoStop(stop);
    const bool isPlain = chatTemplate().name() == "plain";
    const std::string text =
        message.context + message.question + (isPlain ? message.plainEnding : "");
    return m_prompter.prompt({{ChatRole::User, text}}, {});
}

std::int64_t SweepPrompter::tokensWith(std::int64_t words, const Wish& wish) const
{
    requireNoStop(wish.stop);
    const SweepMessage message = m_task.message(wish.spot, words, wish.attempt);
    return sizeOf(tokenized(message, wish.stop).ids) + m_answerRoom;
}

std::int64_t SweepPrompter::fewestTokens(const SweepSpot& spot, const std::stop_token& stop) const
{
    return tokensWith(0, {spot, 0, stop});
}

std::optional<std::int64_t> SweepPrompter::mostTokens(const SweepSpot& spot,
                                                      const std::stop_token& stop) const
{
    const auto fixed = m_task.fixedWords(spot.tokens);
    const auto most = fixed ? fixed : m_task.mostWords();
    return most ? std::optional(tokensWith(*most, {spot, 0, stop})) : std::nullopt;
}

/// The most words that fit, by narrowing a bracket at the place where the line through two counts
/// says; some five prompts are made.
std::int64_t SweepPrompter::fittingWords(const Wish& wish) const
{
    const SweepSpot& spot = wish.spot;
    const std::int64_t base = tokensWith(0, wish);
    if (base > spot.tokens)
        throw ArgumentError("a length of " + formatCount(spot.tokens) +
                            " tokens has no room: without any filler the prompt and its answer "
                            "take " +
                            formatCount(base));
    std::int64_t fits = 0;
    std::int64_t fitsTokens = base;
    std::int64_t tooMany = kMostWordsOfToken * (spot.tokens - base) + kMostWordsOfToken;
    if (const auto most = m_task.mostWords())
        tooMany = std::min(tooMany, *most + 1);
    double tokensPerWord = 1.3;
    std::int64_t words = std::llround(static_cast<double>(spot.tokens - base) / tokensPerWord);
    while (tooMany - fits > 1 && fitsTokens < spot.tokens) {
        words = std::clamp(words, fits + 1, tooMany - 1);
        const std::int64_t tokens = tokensWith(words, wish);
        if (tokens <= spot.tokens) {
            fits = words;
            fitsTokens = tokens;
        } else {
            tooMany = words;
        }
        tokensPerWord =
            std::max(0.5, static_cast<double>(tokens - base) / static_cast<double>(words));
        words += static_cast<std::int64_t>(
            std::floor(static_cast<double>(spot.tokens - tokens) / tokensPerWord));
    }
    if (spot.tokens - fitsTokens > kMostMissing)
        throw ArgumentError("the filler text cannot fill a length of " + formatCount(spot.tokens) +
                            " tokens: with all that fits of it there "
                            "are " +
                            formatCount(fitsTokens));
    return fits;
}

std::int64_t SweepPrompter::wordsFor(const Wish& wish) const
{
    if (wish.spot.role == TrialRole::Oracle)
        return 0;
    const auto fixed = m_task.fixedWords(wish.spot.tokens);
    return fixed ? *fixed : fittingWords(wish);
}

SweepPrompt SweepPrompter::prompt(const SweepSpot& spot, const std::stop_token& stop) const
{
    const SweepItem item = m_task.item(spot);
    for (std::int64_t attempt = 0; attempt < kMostAttempts; ++attempt) {
        const Wish wish{spot, attempt, stop};
        const SweepMessage message = m_task.message(spot, wordsFor(wish), attempt);
        TokenizedText text = tokenized(message, stop);
        switch (findLeak(item, message, text.text)) {
        case Leak::None:
            return finished(wish, message, std::move(text));
        case Leak::Filler:
            break; // another stretch
        case Leak::Question:
            if (m_task.isLeaking())
                return finished(wish, message, std::move(text));
            throw ArgumentError(leakText(item, "its question: that is no test"));
        case Leak::Template:
            if (m_task.isLeaking())
                return finished(wish, message, std::move(text));
            throw ArgumentError(leakText(item, "the chat template's own text"));
        }
    }
    throw ArgumentError(leakText(item, "every stretch of filler that was tried (" +
                                           std::to_string(kMostAttempts) +
                                           "): give another filler text"));
}

SweepPrompt SweepPrompter::finished(const Wish& wish, const SweepMessage& message,
                                    TokenizedText text) const
{
    SweepPrompt prompt;
    prompt.spot = wish.spot;
    prompt.item = m_task.item(wish.spot);
    prompt.words = message.words;
    prompt.answerIds = answerIds(prompt.item, text);
    if (wish.spot.role != TrialRole::Control)
        prompt.needleTokens = statementTokens(prompt.item, text.text, text.ids.size(), wish.stop);
    prompt.text = std::move(text.text);
    prompt.ids = std::move(text.ids);
    return prompt;
}

/// By counting the tokens of what stands before each statement.
std::vector<std::int64_t> SweepPrompter::statementTokens(const SweepItem& item,
                                                         const std::string& text,
                                                         std::size_t numIds,
                                                         const std::stop_token& stop) const
{
    requireNoStop(stop);
    // A BOS that the text does not spell.
    const auto added =
        static_cast<std::int64_t>(numIds) - sizeOf(m_tokenizer.encode(text, ControlTokens::Parsed));
    std::vector<std::int64_t> positions;
    for (const std::string& statement : item.statements) {
        requireNoStop(stop);
        const std::size_t at = text.find(statement);
        if (at == std::string::npos)
            throw ArgumentError("the chat template leaves out what it is given: '" + statement +
                                "' is not in the prompt");
        // The space before a word belongs to its token.
        const std::string before(withoutEndingSpace(std::string_view(text).substr(0, at)));
        positions.push_back(sizeOf(m_tokenizer.encode(before, ControlTokens::Parsed)) + added);
    }
    return positions;
}

std::vector<TokenId> SweepPrompter::answerIds(const SweepItem& item,
                                              const TokenizedText& prompt) const
{
    const bool needsSpace =
        !prompt.text.empty() && prompt.text.back() != '\n' && prompt.text.back() != ' ';
    const std::string answer = (needsSpace ? " " : "") + item.expected;
    // Only the prompt's end decides how what follows is split.
    constexpr std::size_t kEnd = 64;
    std::size_t from = prompt.text.size() > kEnd ? prompt.text.size() - kEnd : 0;
    while (from < prompt.text.size() && (prompt.text[from] & 0xC0) == 0x80)
        ++from; // between characters
    const std::string end = prompt.text.substr(from);
    const auto alone = m_tokenizer.encode(end, ControlTokens::Parsed);
    const auto both = m_tokenizer.encode(end + answer, ControlTokens::Parsed);
    const bool continues =
        both.size() > alone.size() && std::equal(alone.begin(), alone.end(), both.begin());
    if (continues)
        return {both.begin() + std::ssize(alone), both.end()};
    return m_tokenizer.encode(answer, ControlTokens::Parsed);
}

} // namespace kvscope
