#pragma once

namespace kvscope {

/// What the C locale's isspace() says: a space, or a tab to a carriage return.
constexpr bool isAsciiSpace(char c)
{
    return c == ' ' || (c >= '\t' && c <= '\r');
}

} // namespace kvscope
