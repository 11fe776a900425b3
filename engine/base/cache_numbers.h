#pragma once

#include <cstdint>
#include <string>
#include <string_view>

namespace kvscope {

/// What cached keys and values are stored as, by what it costs: one head's key (or value) of D
/// numbers takes D * elementBytes + scaleBytes.
struct CacheNumbers
{
    // Not explicit: for most types the bytes of an element are all there is to say.
    constexpr CacheNumbers(std::int64_t bytesOfElement = 2, std::int64_t bytesOfScale = 0)
        : elementBytes(bytesOfElement)
        , scaleBytes(bytesOfScale)
    {
    }

    constexpr std::int64_t rowBytes(std::int64_t headDim) const
    {
        return headDim * elementBytes + scaleBytes;
    }
    /// "2 bytes an element", "1 byte an element and 4 for the scale of each head".
    std::string text() const
    {
        const std::string element = std::to_string(elementBytes) +
                                    (elementBytes == 1 ? " byte an element" : " bytes an element");
        return scaleBytes == 0
                   ? element
                   : element + " and " + std::to_string(scaleBytes) + " for the scale of each head";
    }

    bool operator==(const CacheNumbers&) const = default;

    std::int64_t elementBytes;
    std::int64_t scaleBytes; ///< beside each head's numbers, in int8 and fp8; 0: none
};

/// Of "float32", "bfloat16", "float16", "int8" or "fp8".
constexpr CacheNumbers cacheNumbersOf(std::string_view dtype)
{
    if (dtype == "int8" || dtype == "fp8")
        return {1, 4};
    return dtype == "float32" ? 4 : 2;
}

} // namespace kvscope
