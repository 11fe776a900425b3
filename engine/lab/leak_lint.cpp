#include "engine/lab/leak_lint.h"

#include "engine/lab/number_match.h"

#include <algorithm>
#include <string>

namespace kvscope {
namespace {

bool holdsAnswer(const SweepItem& item, std::string_view text)
{
    return std::any_of(item.answers.begin(), item.answers.end(),
                       [text](const std::string& number) { return containsNumber(text, number); });
}

} // namespace

Leak findLeak(const SweepItem& item, const SweepMessage& message, std::string_view promptText)
{
    if (holdsAnswer(item, message.question))
        return Leak::Question;
    if (holdsAnswer(item, message.filler))
        return Leak::Filler;
    // What a template writes around the message, and before and behind it.
    const std::size_t at = promptText.find(message.context);
    if (at == std::string_view::npos) {
        std::string rest(promptText); // the template changed it (trimmed it, say)
        for (const std::string& statement : item.statements)
            if (const std::size_t found = rest.find(statement); found != std::string::npos)
                rest.replace(found, statement.size(), 1, ' ');
        return holdsAnswer(item, rest) ? Leak::Template : Leak::None;
    }
    const bool isInTemplate = holdsAnswer(item, promptText.substr(0, at)) ||
                              holdsAnswer(item, promptText.substr(at + message.context.size()));
    return isInTemplate ? Leak::Template : Leak::None;
}

} // namespace kvscope
