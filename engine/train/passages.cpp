#include "engine/train/passages.h"

#include <array>
#include <string_view>
#include <utility>

namespace kvscope {
namespace {

using std::string_view;

constexpr std::array<string_view, 24> kKinds{
    "access",  "account", "badge",  "cabin",   "door",   "entry",   "garage", "gate",
    "harbour", "hotel",   "letter", "library", "locker", "magic",   "order",  "personal",
    "release", "secret",  "server", "station", "ticket", "voucher", "wagon",  "winning"};
constexpr std::array<string_view, 8> kThings{"code",   "number", "key",  "word",
                                             "figure", "value",  "sign", "cipher"};
constexpr std::array<string_view, 20> kNames{
    "Alice", "Bruno", "Clara",  "David", "Edith", "Felix", "Grace", "Hugo", "Irene", "Jonas",
    "Karin", "Louis", "Milena", "Nadia", "Oscar", "Paula", "Quinn", "Rosa", "Simon", "Vera"};
constexpr std::array<string_view, 16> kOnsets{"b", "br", "d", "dr", "f", "g", "k",  "kl",
                                              "l", "m",  "n", "p",  "r", "s", "tr", "v"};
constexpr std::array<string_view, 6> kVowels{"a", "e", "i", "o", "u", "ai"};
constexpr std::array<string_view, 8> kCodas{"", "", "n", "r", "l", "s", "k", "m"};

// In every wording {S} is the subject with its article ("the locker code") and {N} the number.
constexpr std::array<string_view, 10> kStatements{
    "{S} is {N}, remember it.",
    "{S} is {N} from now on.",
    "{S} is {N}. Remember it.",
    "Remember that {s} is {N}.",
    "Note: {s} is {N}.",
    "{S} was set to {N}.",
    "{N} is {s}.",
    "They wrote that {s} is {N}.",
    "{S} has been changed to {N}.",
    "Here is {s}: {N}.",
};
constexpr std::array<string_view, 9> kQuestions{
    "What is {s} given above? {S} is",
    "What is {s} in the text above? {S} is",
    "What is {s}? {S} is",
    "What was {s}? {S} was",
    "What is {s}? Answer with the number alone.\nAnswer:",
    "What is {s}?\nAnswer:",
    "Which number is {s}? It is",
    "Which number was given as {s}? Answer with the number alone.\nAnswer:",
    "Tell me {s}. {S} is",
};

std::string madeUpWord(TrainingRandom& random)
{
    std::string word;
    const std::size_t syllables = 2 + random.below(2);
    for (std::size_t i = 0; i < syllables; ++i) {
        word += random.pick(kOnsets);
        word += random.pick(kVowels);
        word += random.pick(kCodas);
    }
    return word;
}

std::string subject(TrainingRandom& random)
{
    if (random.chance(0.5))
        return "the " + madeUpWord(random);
    std::string kind = random.chance(0.3) ? madeUpWord(random) : std::string(random.pick(kKinds));
    const std::string owner =
        random.chance(0.25) ? std::string(random.pick(kNames)) + "'s" : std::string("the");
    return owner + " " + kind + " " + std::string(random.pick(kThings));
}

std::string withCapital(std::string text)
{
    if (!text.empty() && text[0] >= 'a' && text[0] <= 'z')
        text[0] = static_cast<char>(text[0] - 'a' + 'A');
    return text;
}

std::string filledIn(string_view wording, const std::string& subject, const std::string& number)
{
    std::string text;
    for (std::size_t at = 0; at < wording.size(); ++at) {
        if (wording[at] != '{') {
            text += wording[at];
            continue;
        }
        const char what = wording[at + 1];
        text += what == 'N' ? number : what == 'S' ? withCapital(subject) : subject;
        at += 2;
    }
    return text;
}

} // namespace

TrainingNumbers::TrainingNumbers(std::set<std::string> heldOut)
    : m_heldOut(std::move(heldOut))
{
}

std::string TrainingNumbers::make(std::size_t numDigits, TrainingRandom& random) const
{
    for (;;) {
        std::string number;
        for (std::size_t i = 0; i < numDigits; ++i)
            number += static_cast<char>('0' + random.below(10));
        if (!m_heldOut.contains(number))
            return number;
    }
}

Passage PassageMaker::make(TrainingRandom& random, std::set<std::string>& taken) const
{
    Passage passage;
    do
        passage.subject = subject(random);
    while (!taken.insert(passage.subject).second);
    passage.answer = m_numbers.make(random.chance(0.75) ? 5 : 2 + random.below(5), random);
    passage.statement = filledIn(random.pick(kStatements), passage.subject, passage.answer);
    passage.question = filledIn(random.pick(kQuestions), passage.subject, passage.answer);
    return passage;
}

} // namespace kvscope
