#pragma once

#include <cstdint>
#include <filesystem>
#include <string>
#include <string_view>

namespace kvscope {

/// A file that only grows, line by line, and is held by one process at a time.
///
/// Every line goes to the kernel in one piece before append() returns, so a killed process loses
/// nothing it was told is written. Not thread-safe.
class RunRecordFile
{
public:
    /// \throws ArgumentError where anything of that name is there, EngineError where it cannot be
    /// made
    static RunRecordFile createNew(const std::filesystem::path& path);
    /// \throws ArgumentError where it is not a regular file or another process writes it;
    /// EngineError where it cannot be opened
    static RunRecordFile openExisting(const std::filesystem::path& path);

    RunRecordFile(RunRecordFile&& other) noexcept;
    RunRecordFile& operator=(RunRecordFile&& other) noexcept;
    RunRecordFile(const RunRecordFile&) = delete;
    RunRecordFile& operator=(const RunRecordFile&) = delete;
    ~RunRecordFile();

    const std::filesystem::path& path() const { return m_path; }
    /// Cuts the file, so that the next line follows its first `bytes`. \throws EngineError
    void cutTo(std::uint64_t bytes);
    /// Appends `line` and a line feed. A line that could not be written whole (a full disk) is
    /// taken back, so that it may be tried again. \throws EngineError naming the reason
    void append(std::string_view line);

private:
    RunRecordFile(std::filesystem::path path, int descriptor);

    std::filesystem::path m_path;
    int m_descriptor = -1;
    std::uint64_t m_bytes = 0; ///< whole lines
};

/// All of a regular file of at most `limitBytes`. \throws ArgumentError
std::string readRunRecordText(const std::filesystem::path& path, std::uint64_t limitBytes);

} // namespace kvscope
