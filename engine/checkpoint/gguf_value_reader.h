#pragma once

#include "engine/checkpoint/byte_reader.h"
#include "engine/checkpoint/gguf_file.h"

#include <cstdint>
#include <string>

namespace kvscope {

/// Reads texts and metadata values of a GGUF file. Every length is compared with the bytes that are
/// left before anything is allocated; since a sparse file has as many bytes as it likes, all arrays
/// together may have 2^23 values (the largest vocabularies have 1.3 million with their merges), and
/// all texts 2^27 bytes, so that memory stays below some 400 MiB.
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

    void chargeValues(std::uint64_t count, const std::string& what);
    void chargeText(std::uint64_t length, const std::string& what);
    [[noreturn]] void fail(const std::string& why) const { failIn(m_reader.file(), why); }
    ValueType readType(const std::string& what);
    bool readBool(const std::string& what);
    GgufArray readArray(const std::string& what);
    template <typename Stored, typename Wide>
    GgufArray readNumbers(std::uint64_t count, const std::string& what);
    GgufArray readTexts(std::uint64_t count, const std::string& what);
    GgufArray readBools(std::uint64_t count, const std::string& what);

    ByteReader& m_reader;
    std::uint64_t m_numValues = 0; ///< of arrays, so far
    std::uint64_t m_textBytes = 0; ///< so far
};

} // namespace kvscope
