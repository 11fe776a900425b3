#pragma once

#include <string>
#include <string_view>

namespace kvscope {

/// Joins token pieces into text that is UTF-8 at every step: bytes of an unfinished character wait
/// for the next piece. Concatenating everything returned, and then flush(), gives all text.
class PieceStream
{
public:
    /// The whole characters that `piece` completes; ill-formed bytes become U+FFFD.
    std::string add(std::string_view piece);
    /// What waits, as U+FFFD per byte; empty afterwards.
    std::string flush();

private:
    std::string m_pending;
};

} // namespace kvscope
