#pragma once

#include "engine/checkpoint/byte_reader.h"
#include "engine/checkpoint/gguf_file.h"

#include <cstdint>
#include <string>

namespace kvscope {

/// Reads texts and metadata values of a GGUF file. Every length is compared with the bytes that are
/// left before anything is allocated.
class GgufValueReader
{
public:
    /// \param reader  read from, and so moved on; must outlive this
    explicit GgufValueReader(ByteReader& reader)
        : m_reader(reader)
    {
    }

    /// A length and its bytes.
    /// \param what  named in errors
    /// \throws CheckpointError if it is longer than `limit` or the file
    std::string readText(const std::string& what, std::uint64_t limit);
    /// A type number and its value.
    /// \throws CheckpointError for unknown types, arrays of arrays and booleans other than 0 and 1
    GgufValue readValue(const std::string& what);

private:
    enum class ValueType : std::uint32_t;

    [[noreturn]] void fail(const std::string& why) const { failIn(m_reader.file(), why); }
    ValueType readType(const std::string& what);
    bool readBool(const std::string& what);
    GgufArray readArray(const std::string& what);
    template <typename Stored, typename Wide>
    GgufArray readNumbers(std::uint64_t count, const std::string& what);
    GgufArray readTexts(std::uint64_t count, const std::string& what);
    GgufArray readBools(std::uint64_t count, const std::string& what);

    ByteReader& m_reader;
};

} // namespace kvscope
