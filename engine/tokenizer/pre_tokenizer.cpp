#include "engine/tokenizer/pre_tokenizer.h"

#include "engine/tokenizer/byte_alphabet.h"

#include <algorithm>

namespace kvscope {
namespace {

using Behavior = PreTokenizer::Behavior;

/// A part of a stretch: a match of the pattern, or what lies between two.
struct Part
{
    TextRange range;
    bool isMatch;
};

/// Matches and what lies between them, all of the stretch together.
void cutAtMatches(std::string_view stretch, const PreTokenizer::Split& split,
                  std::vector<TextRange>& matches, std::vector<Part>& parts)
{
    matches.clear();
    parts.clear();
    split.pattern.findAll(stretch, matches);
    std::size_t at = 0;
    for (const TextRange& match : matches) {
        if (match.begin > at)
            parts.push_back({{at, match.begin}, split.isInverted});
        parts.push_back({match, !split.isInverted});
        at = match.end;
    }
    if (stretch.size() > at)
        parts.push_back({{at, stretch.size()}, split.isInverted});
}

/// Whether `part` becomes one stretch with the part before it.
bool joinsPrevious(Behavior behavior, const Part& previous, const Part& part)
{
    switch (behavior) {
    case Behavior::MergedWithPrevious:
        return part.isMatch && !previous.isMatch;
    case Behavior::MergedWithNext:
        return previous.isMatch && !part.isMatch;
    case Behavior::Contiguous:
        return part.isMatch == previous.isMatch;
    case Behavior::Isolated:
    case Behavior::Removed:
        break;
    }
    return false;
}

void addParts(const std::vector<Part>& parts, Behavior behavior, std::size_t offset,
              std::vector<TextRange>& ranges)
{
    const std::size_t first = ranges.size();
    for (std::size_t i = 0; i < parts.size(); ++i) {
        const TextRange range{offset + parts[i].range.begin, offset + parts[i].range.end};
        if (behavior == Behavior::Removed && parts[i].isMatch)
            continue;
        if (ranges.size() > first && joinsPrevious(behavior, parts[i - 1], parts[i]))
            ranges.back().end = range.end;
        else
            ranges.push_back(range);
    }
}

/// Carries one step out.
struct StepRunner
{
    Stretches& stretches;

    void operator()(const PreTokenizer::Split& step)
    {
        std::vector<TextRange> ranges;
        ranges.reserve(stretches.text.size() / 4 + 1);
        std::vector<TextRange> matches;
        std::vector<Part> parts;
        for (const TextRange& range : stretches.ranges) {
            cutAtMatches(range.of(stretches.text), step, matches, parts);
            addParts(parts, step.behavior, range.begin, ranges);
        }
        std::erase_if(ranges, [](const TextRange& range) { return range.size() == 0; });
        stretches.isAtFront = stretches.isAtFront && !ranges.empty() && ranges.front().begin == 0;
        stretches.ranges = std::move(ranges);
    }

    void operator()(PreTokenizer::PrefixSpace)
    {
        rewrite([](std::string& text, std::string_view stretch, bool) {
            if (!stretch.starts_with(' '))
                text += ' ';
            text += stretch;
        });
    }

    void operator()(PreTokenizer::SpellBytes)
    {
        rewrite([](std::string& text, std::string_view stretch, bool) {
            appendInAlphabet(text, stretch);
        });
    }

    void operator()(const PreTokenizer::Metaspace& step)
    {
        rewrite([&](std::string& text, std::string_view stretch, bool isAtFront) {
            using Scheme = PreTokenizer::PrependScheme;
            const bool isWanted =
                step.scheme == Scheme::Always || (step.scheme == Scheme::First && isAtFront);
            if (isWanted && !stretch.starts_with(' ') && !stretch.starts_with(step.symbol))
                text += step.symbol;
            for (const char byte : stretch) {
                if (byte == ' ')
                    text += step.symbol;
                else
                    text += byte;
            }
        });
    }

    /// Builds the text anew; `append(text, stretch, isAtFront)` writes one stretch.
    template <class Append>
    void rewrite(const Append& append)
    {
        std::string text;
        text.reserve(stretches.text.size() + stretches.text.size() / 4);
        bool isAtFront = stretches.isAtFront;
        for (TextRange& range : stretches.ranges) {
            const std::size_t begin = text.size();
            append(text, range.of(stretches.text), isAtFront);
            range = {begin, text.size()};
            isAtFront = false;
        }
        stretches.text = std::move(text);
    }
};

} // namespace

bool PreTokenizer::spellsBytes() const
{
    return std::ranges::any_of(
        m_steps, [](const Step& step) { return std::holds_alternative<SpellBytes>(step); });
}

Stretches PreTokenizer::split(std::string text, bool isAtFront) const
{
    Stretches stretches{std::move(text), {}, isAtFront};
    if (!stretches.text.empty())
        stretches.ranges.push_back({0, stretches.text.size()});
    for (const Step& step : m_steps)
        std::visit(StepRunner{stretches}, step);
    return stretches;
}

} // namespace kvscope
