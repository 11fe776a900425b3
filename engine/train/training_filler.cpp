#include "engine/train/training_filler.h"

#include "engine/base/ascii.h"
#include "engine/base/errors.h"
#include "engine/base/passkey_words.h"

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::size_t kFewestWords = 1000;
constexpr double kNumbersAmongWords = 1.0 / 30.0;

std::vector<std::int32_t> idsOf(const Tokenizer& tokenizer, std::string_view text)
{
    std::vector<std::int32_t> ids;
    for (const TokenId id : tokenizer.encode(text, ControlTokens::Literal))
        ids.push_back(static_cast<std::int32_t>(id));
    return ids;
}

bool endsSentence(std::string_view word)
{
    const std::size_t last = word.find_last_not_of("\"')_");
    return last != std::string_view::npos &&
           (word[last] == '.' || word[last] == '!' || word[last] == '?');
}

bool isLowerCase(std::string_view word)
{
    return std::all_of(word.begin(), word.end(), [](char c) { return c >= 'a' && c <= 'z'; });
}

} // namespace

TrainingFiller::TrainingFiller(const Tokenizer& tokenizer, std::string_view prose)
{
    for (const std::string_view word : kPasskeyWords)
        m_referenceWords.push_back(wordIndex(tokenizer, word));
    bool begins = true;
    for (std::size_t at = 0; at < prose.size();) {
        if (isAsciiSpace(prose[at])) {
            ++at;
            continue;
        }
        const std::size_t first = at;
        while (at < prose.size() && !isAsciiSpace(prose[at]))
            ++at;
        const std::string_view word = prose.substr(first, at - first);
        if (begins && !isLowerCase(word.substr(0, 1)))
            m_sentences.push_back(m_prose.size());
        m_prose.push_back(wordIndex(tokenizer, word));
        begins = endsSentence(word);
    }
    if (m_prose.size() < kFewestWords || m_sentences.empty())
        throw ArgumentError(
            "the text to train with is too short: " + std::to_string(m_prose.size()) +
            " words, at least " + std::to_string(kFewestWords) + " in sentences are needed");
    const std::vector<std::int32_t> number = idsOf(tokenizer, " 0123456789");
    if (number.size() < m_digits.size() + 10)
        throw ArgumentError("the vocabulary to train with does not have every digit as a piece");
    m_digits.assign(number.end() - 10, number.end());
    m_space.assign(number.begin(), number.end() - 10);
    std::vector<std::int32_t> joined = idsOf(tokenizer, "the");
    for (const std::string_view part : {" quick", " 4", ".", "\n\nWhat is"})
        for (const std::int32_t id : idsOf(tokenizer, part))
            joined.push_back(id);
    if (joined != idsOf(tokenizer, "the quick 4.\n\nWhat is"))
        throw ArgumentError("with the vocabulary to train with, a text's ids are not those of its "
                            "words");
}

std::int32_t TrainingFiller::wordIndex(const Tokenizer& tokenizer, std::string_view word)
{
    const auto [found, isNew] =
        m_indices.try_emplace(std::string(word), static_cast<std::int32_t>(m_words.size()));
    if (isNew) {
        m_words.push_back(idsOf(tokenizer, " " + std::string(word)));
        m_bareWords.push_back(idsOf(tokenizer, word));
    }
    return found->second;
}

std::vector<std::int32_t> TrainingFiller::numberIds(const std::string& number) const
{
    std::vector<std::int32_t> ids = m_space;
    for (const char digit : number)
        ids.push_back(m_digits[static_cast<std::size_t>(digit - '0')]);
    return ids;
}

std::int32_t TrainingFiller::nextWord(FillerKind kind, std::size_t& inProse,
                                      TrainingRandom& random) const
{
    if (kind == FillerKind::ReferenceWords)
        return random.pick(m_referenceWords);
    if (kind == FillerKind::ProseWords)
        return random.pick(m_prose);
    const std::int32_t word = m_prose[inProse];
    inProse = inProse + 1 == m_prose.size() ? 0 : inProse + 1;
    return word;
}

FillerTokens TrainingFiller::make(FillerKind kind, std::int64_t numTokens,
                                  const TrainingNumbers* numbers, bool begins,
                                  TrainingRandom& random) const
{
    FillerTokens made;
    made.places.push_back(0);
    const auto wanted = static_cast<std::size_t>(std::max<std::int64_t>(0, numTokens));
    std::size_t inProse = random.pick(m_sentences);
    const auto append = [&made](const std::vector<std::int32_t>& ids) {
        made.ids.insert(made.ids.end(), ids.begin(), ids.end());
    };
    while (made.ids.size() < wanted) {
        const bool isPlace = kind != FillerKind::Prose ||
                             std::binary_search(m_sentences.begin(), m_sentences.end(), inProse);
        if (isPlace && !made.ids.empty())
            made.places.push_back(made.ids.size());
        if (kind != FillerKind::Prose && numbers != nullptr && random.chance(kNumbersAmongWords)) {
            const auto ids = numberIds(numbers->make(1 + random.below(6), random));
            if (made.ids.size() + ids.size() <= wanted) { // cut, it could be one that is held out
                append(ids);
                continue;
            }
        }
        const auto word = static_cast<std::size_t>(nextWord(kind, inProse, random));
        append(begins && made.ids.empty() ? m_bareWords[word] : m_words[word]);
    }
    made.ids.resize(wanted);
    if (!made.ids.empty())
        made.places.push_back(made.ids.size());
    return made;
}

} // namespace kvscope
