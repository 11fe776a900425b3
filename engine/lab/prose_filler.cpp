#include "engine/lab/prose_filler.h"

#include "engine/base/ascii.h"

#include <algorithm>
#include <array>

namespace kvscope {
namespace {

constexpr std::array<std::string_view, 3> kWideStops{"。", "！", "？"};
constexpr std::array<std::string_view, 9> kAbbreviations{"Mr.", "Mrs.", "Ms.",  "Dr.", "St.",
                                                         "vs.", "etc.", "e.g.", "i.e."};
constexpr std::array<std::string_view, 8> kClosing{"\"", "'", ")", "]", "_", "”", "’", "»"};
constexpr std::array<std::string_view, 16> kLooseEnds{",", ";", ":", "-", "\"", "'", "(", "[",
                                                      "_", "*", " ", "“", "‘",  "–", "—", "«"};

template <std::size_t N>
bool dropOne(std::string_view& text, const std::array<std::string_view, N>& endings)
{
    for (const std::string_view ending : endings)
        if (text.ends_with(ending)) {
            text.remove_suffix(ending.size());
            return true;
        }
    return false;
}

bool isInitial(std::string_view word)
{
    return word.size() == 2 && word[0] >= 'A' && word[0] <= 'Z' && word[1] == '.';
}

bool hasBlankLine(std::string_view space)
{
    return std::count(space.begin(), space.end(), '\n') > 1;
}

} // namespace

ProseFiller::ProseFiller(std::string text)
    : m_text(std::move(text))
{
    const std::size_t size = m_text.size();
    for (std::size_t at = 0; at < size;) {
        if (isAsciiSpace(m_text[at])) {
            ++at;
            continue;
        }
        std::size_t end = at;
        while (end < size && !isAsciiSpace(m_text[end]))
            ++end;
        addWord(at, end);
        at = end;
    }
    markSentences();
}

/// Adds what lies between white space: a word, or several where wide full stops are in it.
void ProseFiller::addWord(std::size_t first, std::size_t end)
{
    const std::string_view text(m_text);
    std::size_t begin = first;
    for (std::size_t at = first; at + 3 < end; ++at) {
        const std::string_view mark = text.substr(at, 3);
        if (std::find(kWideStops.begin(), kWideStops.end(), mark) == kWideStops.end())
            continue;
        m_words.push_back({begin, at + 3 - begin, false});
        begin = at + 3;
        at += 2;
    }
    m_words.push_back({begin, end - begin, false});
}

bool ProseFiller::endsSentence(const Word& word, std::size_t nextWord) const
{
    const Word& next = m_words[nextWord];
    const std::size_t end = word.first + word.size;
    if (hasBlankLine(std::string_view(m_text).substr(end, next.first - end)))
        return true;
    std::string_view text = textOf(word);
    while (dropOne(text, kClosing)) {
    }
    if (dropOne(text, kWideStops))
        return true;
    const bool isStop =
        text.ends_with('.') || text.ends_with('!') || text.ends_with('?') || text.ends_with("…");
    const char first = m_text[next.first];
    if (!isStop || (first >= 'a' && first <= 'z'))
        return false;
    return !isInitial(text) &&
           std::find(kAbbreviations.begin(), kAbbreviations.end(), text) == kAbbreviations.end();
}

void ProseFiller::markSentences()
{
    for (std::size_t i = 0; i < m_words.size(); ++i) {
        m_words[i].beginsSentence = i == 0 || endsSentence(m_words[i - 1], i);
        if (m_words[i].beginsSentence)
            m_starts.push_back(i);
    }
}

FillerStretch ProseFiller::stretch(std::int64_t firstSentence, std::int64_t numWords) const
{
    FillerStretch result;
    result.words = std::clamp<std::int64_t>(numWords, 0, this->numWords());
    const std::size_t first = m_starts[static_cast<std::size_t>(firstSentence)];
    const auto count = static_cast<std::size_t>(result.words);
    for (std::size_t i = 0; i < count; ++i) {
        const Word& word = m_words[(first + i) % m_words.size()];
        if (i > 0)
            result.text += ' ';
        if (word.beginsSentence)
            result.boundaries.push_back(result.text.size());
        result.text += textOf(word);
    }
    const bool isCut = count > 0 && !m_words[(first + count) % m_words.size()].beginsSentence;
    if (isCut) {
        std::string_view kept(result.text);
        while (dropOne(kept, kLooseEnds)) {
        }
        result.text.resize(kept.size());
        if (!result.text.empty() && !result.text.ends_with('.'))
            result.text += '.';
    }
    // A last sentence of marks alone is gone with them.
    while (!result.boundaries.empty() && result.boundaries.back() >= result.text.size())
        result.boundaries.pop_back();
    result.boundaries.push_back(result.text.size());
    return result;
}

} // namespace kvscope
