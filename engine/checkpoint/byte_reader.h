#pragma once

#include "engine/checkpoint/error_text.h"

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <utility>

namespace kvscope {

/// Reads little-endian values one after another, never past the end.
class ByteReader
{
public:
    /// \param file  named in errors
    ByteReader(std::span<const std::byte> bytes, std::string file)
        : m_bytes(bytes)
        , m_file(std::move(file))
    {
    }

    std::uint64_t position() const { return m_position; }
    std::uint64_t remaining() const { return m_bytes.size() - m_position; }
    const std::string& file() const { return m_file; }

    /// \param what  what is being read, for the message
    /// \throws CheckpointError if fewer bytes are left
    template <typename T>
    T read(std::string_view what)
    {
        static_assert(std::is_arithmetic_v<T> && std::endian::native == std::endian::little);
        T value;
        std::memcpy(&value, take(sizeof(T), what).data(), sizeof(T));
        return value;
    }

    /// The next `count` bytes, in place.
    std::string_view take(std::uint64_t count, std::string_view what)
    {
        if (count > remaining())
            failIn(m_file, "ends at byte " + std::to_string(m_bytes.size()) + " in the middle of " +
                               std::string(what) + ", which needs " + std::to_string(count) +
                               " bytes from byte " + std::to_string(m_position) +
                               ". The file is damaged or was not copied whole.");
        const auto* begin = reinterpret_cast<const char*>(m_bytes.data()) + m_position;
        m_position += count;
        return {begin, static_cast<std::size_t>(count)};
    }

private:
    std::span<const std::byte> m_bytes;
    std::string m_file;
    std::uint64_t m_position = 0;
};

} // namespace kvscope
