#include "widgets/sweep_prompt.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr std::size_t kReach = 24; ///< bytes that a cut is moved to stand between words

bool isContinuation(char byte)
{
    return (static_cast<unsigned char>(byte) & 0xC0) == 0x80;
}

bool isSpace(char byte)
{
    return byte == ' ' || byte == '\n' || byte == '\t' || byte == '\r';
}

/// The first place at or after `at` where a word begins, or at least a character.
std::size_t wordBegin(const std::string& text, std::size_t at)
{
    for (std::size_t i = at; i > 0 && i < std::min(text.size(), at + kReach); ++i)
        if (isSpace(text[i - 1]) && !isSpace(text[i]))
            return i;
    while (at < text.size() && isContinuation(text[at]))
        ++at;
    return at;
}

/// The last place at or before `at` where a word ends.
std::size_t wordEnd(const std::string& text, std::size_t at)
{
    for (std::size_t i = at; i > 0 && i + kReach > at; --i)
        if (i < text.size() && isSpace(text[i]) && !isSpace(text[i - 1]))
            return i;
    while (at > 0 && at < text.size() && isContinuation(text[at]))
        --at;
    return at;
}

/// Statements and question within the text, in order, none over another.
std::vector<PromptPiece> marksOf(const ShownPrompt& prompt)
{
    std::vector<PromptPiece> marks;
    const auto add = [&](PromptPiece::Kind kind, TextRange range) {
        range.end = std::min(range.end, prompt.text.size());
        if (!range.isEmpty())
            marks.push_back({kind, range});
    };
    for (const TextRange& statement : prompt.statements)
        add(PromptPiece::Kind::Statement, statement);
    add(PromptPiece::Kind::Question, prompt.question);
    std::sort(marks.begin(), marks.end(), [](const PromptPiece& first, const PromptPiece& second) {
        return first.range.begin < second.range.begin;
    });
    std::size_t from = 0;
    std::vector<PromptPiece> apart;
    for (PromptPiece& mark : marks) {
        mark.range.begin = std::max(mark.range.begin, from);
        if (mark.range.isEmpty())
            continue;
        from = mark.range.end;
        apart.push_back(mark);
    }
    return apart;
}

/// What is kept, in order and apart by at least `room.least`.
std::vector<TextRange> keptRanges(const ShownPrompt& prompt, const std::vector<PromptPiece>& marks,
                                  const ExcerptRoom& room)
{
    const std::string& text = prompt.text;
    const std::size_t size = text.size();
    std::vector<TextRange> wanted{{0, wordEnd(text, std::min(size, room.head))}};
    std::size_t tail = size - std::min(size, room.tail);
    for (const PromptPiece& mark : marks) {
        if (mark.kind == PromptPiece::Kind::Question) {
            tail = std::min(tail, mark.range.begin);
            continue;
        }
        const std::size_t before = mark.range.begin - std::min(mark.range.begin, room.around);
        const std::size_t after = mark.range.end + std::min(size - mark.range.end, room.around);
        wanted.push_back({std::min(wordBegin(text, before), mark.range.begin),
                          std::max(wordEnd(text, after), mark.range.end)});
    }
    wanted.push_back({wordBegin(text, tail), size});
    std::sort(wanted.begin(), wanted.end(), [](const TextRange& first, const TextRange& second) {
        return first.begin < second.begin;
    });
    std::vector<TextRange> kept;
    for (const TextRange& range : wanted) {
        if (!kept.empty() && range.begin <= kept.back().end + room.least)
            kept.back().end = std::max(kept.back().end, range.end);
        else if (!range.isEmpty())
            kept.push_back(range);
    }
    return kept;
}

std::int64_t exactTokens(const std::vector<std::size_t>& starts, const TextRange& range)
{
    const auto first = std::lower_bound(starts.begin(), starts.end(), range.begin);
    return std::lower_bound(first, starts.end(), range.end) - first;
}

PromptPiece elided(const ShownPrompt& prompt, const TextRange& range)
{
    PromptPiece piece{PromptPiece::Kind::Elided, range};
    piece.isExact = !prompt.tokenStarts.empty();
    if (piece.isExact) {
        piece.tokens = exactTokens(prompt.tokenStarts, range);
    } else {
        const double share = static_cast<double>(range.end - range.begin) /
                             static_cast<double>(std::max<std::size_t>(1, prompt.text.size()));
        piece.tokens = std::llround(share * static_cast<double>(prompt.tokens));
    }
    return piece;
}

/// Text, with the marks that lie in it.
void addKept(std::vector<PromptPiece>& pieces, const TextRange& range,
             const std::vector<PromptPiece>& marks)
{
    std::size_t at = range.begin;
    const auto add = [&](PromptPiece::Kind kind, std::size_t end) {
        if (at < end)
            pieces.push_back({kind, {at, end}});
        at = std::max(at, end);
    };
    for (const PromptPiece& mark : marks) {
        if (mark.range.end <= range.begin || mark.range.begin >= range.end)
            continue;
        add(PromptPiece::Kind::Text, mark.range.begin);
        add(mark.kind, std::min(mark.range.end, range.end));
    }
    add(PromptPiece::Kind::Text, range.end);
}

} // namespace

std::vector<PromptPiece> excerptOf(const ShownPrompt& prompt, const ExcerptRoom& room)
{
    const std::vector<PromptPiece> marks = marksOf(prompt);
    std::vector<PromptPiece> pieces;
    std::size_t at = 0;
    for (const TextRange& range : keptRanges(prompt, marks, room)) {
        if (range.begin > at)
            pieces.push_back(elided(prompt, {at, range.begin}));
        addKept(pieces, range, marks);
        at = range.end;
    }
    if (at < prompt.text.size())
        pieces.push_back(elided(prompt, {at, prompt.text.size()}));
    return pieces;
}

std::vector<PromptPiece> wholeOf(const ShownPrompt& prompt)
{
    std::vector<PromptPiece> pieces;
    addKept(pieces, {0, prompt.text.size()}, marksOf(prompt));
    return pieces;
}

} // namespace kvscope
