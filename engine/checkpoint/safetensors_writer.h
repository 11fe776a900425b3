#pragma once

#include "engine/checkpoint/tensor_file.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <fstream>
#include <span>
#include <string>
#include <vector>

namespace kvscope {

/// Writes a safetensors file tensor by tensor, so that no more than one piece need be in memory.
///
/// The bytes go to PATH.<process>.part, which finish() renames to PATH: a file of that name is
/// whole or not there. One thread.
class SafetensorsWriter
{
public:
    struct Tensor
    {
        std::string name;
        StorageType type = StorageType::F32; ///< a plain type; block formats are not in the format
        std::vector<std::int64_t> shape;
    };

    /// Writes the header.
    /// \param tensors  all of them, in the order their bytes will come
    /// \throws ArgumentError where PATH is there and is not a regular file, and for a repeated
    /// name, a block format or a size beyond 64 bits; EngineError
    ///         where the file cannot be written
    SafetensorsWriter(std::filesystem::path path, const std::vector<Tensor>& tensors);
    /// Removes what was written, unless finish() was reached.
    ~SafetensorsWriter();
    SafetensorsWriter(const SafetensorsWriter&) = delete;
    SafetensorsWriter& operator=(const SafetensorsWriter&) = delete;

    /// The next bytes of the tensors' data, in pieces of any length.
    /// \throws ArgumentError beyond the last tensor's end; EngineError where the disk is full, or
    /// the like
    void write(std::span<const std::byte> bytes);
    /// \throws ArgumentError if bytes are still missing; EngineError where the file cannot be
    /// completed
    void finish();

private:
    [[noreturn]] void failWriting() const;

    std::filesystem::path m_path;
    std::filesystem::path m_partPath;
    std::ofstream m_stream;
    std::uint64_t m_missingBytes = 0;
    bool m_isFinished = false;
};

} // namespace kvscope
