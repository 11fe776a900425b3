#pragma once

#include "engine/lab/run_record_file.h"

#include <cstdint>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

using RecordJson = nlohmann::ordered_json;

inline constexpr std::string_view kRunRecordSchema = "kvscope-run";
inline constexpr int kRunRecordVersion = 1;

/// What a run was made with; the first line of its record.
struct RunHeader
{
    std::string experiment; ///< "positions", "needle", ...
    std::string kvscope;    ///< version of this program; not compared
    std::string model;      ///< for people; not compared
    std::string modelHash;  ///< modelHash()
    std::string device;     ///< "cpu", "cuda:0"
    std::string machine;    ///< machineText(); not compared
    std::string dtype;      ///< as asked for: "auto", "float32", ...
    std::string compute;    ///< Decoder::computeDescription()
    std::string cacheDtype; ///< "bfloat16"
    std::string rotary;     ///< rotaryText()
    int threads = 0;        ///< not compared: results do not depend on it (timings put it in
                            ///< their settings)
    std::uint64_t seed = 0; ///< of everything random
    RecordJson settings = RecordJson::object(); ///< of the experiment: all that decides its trials
};

/// What a record holds.
struct RunRecordContent
{
    RecordJson header;
    std::vector<RecordJson> events;    ///< in the order written
    std::optional<RecordJson> summary; ///< nothing where the run did not reach its end
    bool hasCutLine = false;           ///< the last line was damaged, and ignored
    std::uint64_t wholeBytes = 0;      ///< bytes before it
};

/// Reads a record. A last line that is cut off or damaged, as a kill or a power failure leaves it,
/// is left out.
/// \throws ArgumentError where the file is not a record, is of another version, or is damaged
/// before its last line, naming the line
RunRecordContent readRunRecord(const std::filesystem::path& path);

/// A run as it happens: JSON lines in UTF-8, which pandas reads with read_json(lines=True).
///
/// The header line: `line` "header", `schema`, `version`, `experiment`, `kvscope`, `started` (UTC),
/// `model` {`name`, `hash`}, `device`, `machine`, `dtype`, `compute`, `cache_dtype`, `rope`,
/// `threads`, `seed`, `settings`. Then one line an event: `line` "event", `kind`, and what the
/// experiment has to say. Last a line with `line` "summary". Numbers that are not finite become
/// null. Not thread-safe.
class RunRecord
{
public:
    /// \throws ArgumentError where a file of that name is there
    static RunRecord create(const std::filesystem::path& path, const RunHeader& header);
    /// Goes on with a record of the same run, cutting a damaged last line off; a new one where
    /// there is no file, or where there is no more than the beginning of a header.
    /// \throws ArgumentError naming the first field that differs, or as readRunRecord
    static RunRecord resume(const std::filesystem::path& path, const RunHeader& header);

    /// What was read by resume(), in order.
    const std::vector<RecordJson>& earlierEvents() const { return m_earlier; }
    /// Whether resume() had to cut a damaged last line off.
    bool hadCutLine() const { return m_hadCutLine; }

    /// \param fields  an object, or null for none; a line of its own
    /// \throws EngineError where it cannot be written (a full disk); the record is then as before
    void append(std::string_view kind, const RecordJson& fields);
    /// Appends the closing line.
    void finish(const RecordJson& fields);

private:
    RunRecord(RunRecordFile file, std::vector<RecordJson> earlier, bool hadCutLine);
    void write(RecordJson line, const RecordJson& fields);

    RunRecordFile m_file;
    std::vector<RecordJson> m_earlier;
    bool m_hadCutLine = false;
};

} // namespace kvscope
