#include "engine/checkpoint/error_text.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"

namespace kvscope {
namespace {
constexpr std::size_t kLongestQuote = 120;
} // namespace

std::string printable(std::string_view text)
{
    if (text.size() <= kLongestQuote)
        return oneLine(text);
    text = text.substr(0, kLongestQuote);
    return oneLine(text.substr(0, completeUtf8Prefix(text))) + "…";
}

void failIn(std::string_view file, const std::string& why)
{
    throw CheckpointError(oneLine(file) + ": " + oneLine(why));
}

} // namespace kvscope
