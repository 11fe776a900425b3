#include "engine/tokenizer/piece_stream.h"

#include "engine/base/utf8.h"

#include <utility>

namespace kvscope {
namespace {

/// `bytes` with U+FFFD for each byte that begins no character. Unlike toValidUtf8, which gives one
/// for a whole unfinished character at the end, this does not depend on where the bytes were cut.
std::string replacingEachBadByte(std::string_view bytes)
{
    constexpr std::string_view kReplacement = "\xEF\xBF\xBD";
    std::string text;
    for (;;) {
        const auto bad = firstInvalidUtf8(bytes);
        text += bytes.substr(0, bad.value_or(bytes.size()));
        if (!bad)
            return text;
        text += kReplacement;
        bytes.remove_prefix(*bad + 1);
    }
}

} // namespace

std::string PieceStream::add(std::string_view piece)
{
    m_pending += piece;
    const std::size_t complete = completeUtf8Prefix(m_pending);
    std::string text = replacingEachBadByte(std::string_view(m_pending).substr(0, complete));
    m_pending.erase(0, complete);
    return text;
}

std::string PieceStream::flush()
{
    return replacingEachBadByte(std::exchange(m_pending, {}));
}

} // namespace kvscope
