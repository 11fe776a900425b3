#include "engine/checkpoint/error_text.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"

namespace kvscope {
namespace {
constexpr std::size_t kLongestQuote = 120;
}

std::string printable(std::string_view text)
{
    const bool isCut = text.size() > kLongestQuote;
    if (isCut) {
        text = text.substr(0, kLongestQuote);
        text = text.substr(0, completeUtf8Prefix(text));
    }
    std::string line;
    for (const char c : toValidUtf8(text)) {
        const auto byte = static_cast<unsigned char>(c);
        if (byte < 0x20 || byte == 0x7f)
            line += "\xEF\xBF\xBD";
        else
            line += c;
    }
    return isCut ? line + "…" : line;
}

void failIn(std::string_view file, const std::string& why)
{
    throw CheckpointError(std::string(file) + ": " + why);
}

} // namespace kvscope
