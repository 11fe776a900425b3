#pragma once

#include <cstdint>
#include <string_view>

namespace kvscope {

/// FNV-1a, 64 bits: tells texts apart; it is no protection against one made to deceive.
/// Source: Fowler, Noll, Vo (isthe.com/chongo/tech/comp/fnv).
/// \param state  what a hash of several texts goes on from
constexpr std::uint64_t fnv1a64(std::string_view text, std::uint64_t state = 0xcbf29ce484222325)
{
    for (const char byte : text)
        state = (state ^ static_cast<unsigned char>(byte)) * 0x100000001b3;
    return state;
}

} // namespace kvscope
