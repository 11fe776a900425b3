#include "engine/lab/answer_judge.h"

#include "engine/lab/number_match.h"

#include <algorithm>
#include <utf8proc.h>

namespace kvscope {
namespace {

struct Character
{
    std::size_t size = 1; ///< bytes
    bool isDigit = false;
    bool isWord = false;
    bool isSpace = false;
    bool isLetter = false;
};

Character characterAt(std::string_view text, std::size_t at)
{
    utf8proc_int32_t code = -1;
    const auto size = utf8proc_iterate(
        reinterpret_cast<const utf8proc_uint8_t*>(text.data()) + at,
        static_cast<utf8proc_ssize_t>(std::min<std::size_t>(text.size() - at, 4)), &code);
    if (size <= 0)
        return {}; // an ill-formed byte is no part of a word
    const utf8proc_category_t category = utf8proc_category(code);
    const bool isLetter = category >= UTF8PROC_CATEGORY_LU && category <= UTF8PROC_CATEGORY_LO;
    const bool isNumber = category >= UTF8PROC_CATEGORY_ND && category <= UTF8PROC_CATEGORY_NO;
    return {static_cast<std::size_t>(size), category == UTF8PROC_CATEGORY_ND,
            isLetter || isNumber || code == '_',
            category == UTF8PROC_CATEGORY_ZS || (code >= '\t' && code <= '\r'), isLetter};
}

Character asAscii(Character character)
{
    if (character.size > 1)
        character.isDigit = character.isWord = false;
    return character;
}

template <typename Is>
bool anyCharacter(std::string_view text, Is is)
{
    for (std::size_t at = 0; at < text.size();) {
        const Character character = characterAt(text, at);
        if (is(character))
            return true;
        at += character.size;
    }
    return false;
}

AnswerKind wrongKind(std::string_view answer, bool hasNumber)
{
    if (!anyCharacter(answer, [](const Character& c) { return !c.isSpace; }))
        return AnswerKind::Empty;
    if (!hasNumber)
        return AnswerKind::NoNumber;
    return anyCharacter(answer, [](const Character& c) { return c.isLetter; })
               ? AnswerKind::RestatedWrong
               : AnswerKind::BareWrong;
}

SweepJudgement judged(std::string_view answer, const SweepItem& item, bool isRight, bool hasNumber)
{
    SweepJudgement judgement;
    judgement.kind = isRight ? AnswerKind::Found : wrongKind(answer, hasNumber);
    judgement.isLoose =
        std::all_of(item.answers.begin(), item.answers.end(), [&](const std::string& number) {
            return answer.find(number) != std::string_view::npos;
        });
    return judgement;
}

} // namespace

SweepJudgement judgeNumbers(std::string_view answer, const SweepItem& item)
{
    const bool isRight =
        std::all_of(item.answers.begin(), item.answers.end(),
                    [&](const std::string& number) { return containsNumber(answer, number); });
    return judged(answer, item, isRight, !numbersIn(answer).empty());
}

SweepJudgement judgePasskey(std::string_view answer, const SweepItem& item,
                            PasskeyProtocol protocol)
{
    const auto found = firstFiveDigits(answer, protocol);
    return judged(answer, item, found == item.answers.front(),
                  found.has_value() || !numbersIn(answer).empty());
}

std::optional<std::string> firstFiveDigits(std::string_view text, PasskeyProtocol protocol)
{
    constexpr int kDigits = 5;
    int run = 0;           // digits up to here, without anything of a word before them
    bool isInWord = false; // the run, if any, is part of a longer word
    std::size_t runFirst = 0;
    for (std::size_t at = 0; at < text.size();) {
        Character character = characterAt(text, at);
        if (protocol == PasskeyProtocol::Ours)
            character = asAscii(character);
        if (!character.isWord) {
            if (run == kDigits && !isInWord)
                return std::string(text.substr(runFirst, at - runFirst));
            run = 0;
            isInWord = false;
        } else if (character.isDigit) {
            runFirst = run == 0 ? at : runFirst;
            ++run;
        } else {
            isInWord = true;
        }
        at += character.size;
    }
    if (run == kDigits && !isInWord)
        return std::string(text.substr(runFirst));
    return std::nullopt;
}

} // namespace kvscope
