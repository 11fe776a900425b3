#include "engine/lab/run_record.h"

#include "engine/base/errors.h"

#include <ctime>
#include <utility>

namespace kvscope {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{1} << 30;
constexpr int kMostLevels = 32; // copying and writing JSON is recursive

std::string utcNow()
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%dT%H:%M:%SZ", &parts);
    return text;
}

RecordJson headerLine(const RunHeader& header)
{
    return {{"line", "header"},
            {"schema", kRunRecordSchema},
            {"version", kRunRecordVersion},
            {"experiment", header.experiment},
            {"kvscope", header.kvscope},
            {"started", utcNow()},
            {"model", {{"name", header.model}, {"hash", header.modelHash}}},
            {"device", header.device},
            {"machine", header.machine},
            {"dtype", header.dtype},
            {"compute", header.compute},
            {"cache_dtype", header.cacheDtype},
            {"rope", header.rotary},
            {"threads", header.threads},
            {"seed", header.seed},
            {"settings", header.settings}};
}

std::string lineText(const RecordJson& line)
{
    return line.dump(-1, ' ', false, RecordJson::error_handler_t::replace);
}

/// Nothing where the line is not an object with a `line`.
std::optional<RecordJson> parsedLine(std::string_view text)
{
    bool isTooDeep = false;
    const auto watch = [&](int depth, RecordJson::parse_event_t, RecordJson&) {
        isTooDeep = isTooDeep || depth > kMostLevels;
        return !isTooDeep;
    };
    RecordJson line = RecordJson::parse(text, watch, false);
    if (isTooDeep || !line.is_object() || !line.contains("line") || !line["line"].is_string())
        return std::nullopt;
    return line;
}

void requireThisSchema(const RecordJson& header, const std::string& file)
{
    if (header["line"] != "header" || header.value("schema", RecordJson()) != kRunRecordSchema)
        throw ArgumentError(file + ": is not a kvscope run record (its first line is no header)");
    if (header.value("version", RecordJson()) != kRunRecordVersion)
        throw ArgumentError(file + ": is a run record of version " +
                            lineText(header.value("version", RecordJson())) +
                            ", this program reads version " + std::to_string(kRunRecordVersion));
}

void take(RunRecordContent& content, RecordJson line)
{
    if (line["line"] == "summary") {
        content.summary = std::move(line);
    } else if (line["line"] == "event") {
        content.events.push_back(std::move(line));
        content.summary.reset(); // a finished run was gone on with
    }
}

RunRecordContent parsedRecord(std::string_view text, const std::string& file)
{
    RunRecordContent content;
    std::size_t lineNumber = 0;
    for (std::size_t first = 0; first < text.size();) {
        ++lineNumber;
        const std::size_t end = text.find('\n', first);
        const bool isLast = end == std::string_view::npos || end + 1 == text.size();
        auto line = end == std::string_view::npos ? std::nullopt
                                                  : parsedLine(text.substr(first, end - first));
        if (!line && isLast && lineNumber > 1) {
            content.hasCutLine = true;
            break;
        }
        if (!line)
            throw ArgumentError(file + ": line " + std::to_string(lineNumber) +
                                " is not a line of a kvscope run record");
        if (lineNumber == 1) {
            requireThisSchema(*line, file);
            content.header = std::move(*line);
        } else {
            take(content, std::move(*line));
        }
        first = end + 1;
        content.wholeBytes = first;
    }
    if (lineNumber == 0)
        throw ArgumentError(file + ": is empty, a run record begins with a header line");
    return content;
}

void requireSame(const RecordJson& recorded, const RecordJson& wanted, const std::string& name,
                 const std::string& file)
{
    if (recorded != wanted)
        throw ArgumentError(file + ": cannot be resumed: it was recorded with " + name + " " +
                            (recorded.is_null() ? "not set" : lineText(recorded)) +
                            ", this run has " + (wanted.is_null() ? "none" : lineText(wanted)));
}

void requireSameRun(const RecordJson& recorded, const RecordJson& wanted, const std::string& file)
{
    const auto at = [](const RecordJson& json, const std::string& key) {
        return json.is_object() ? json.value(key, RecordJson()) : RecordJson();
    };
    for (const char* name :
         {"experiment", "device", "dtype", "compute", "cache_dtype", "rope", "seed"})
        requireSame(at(recorded, name), wanted[name], name, file);
    requireSame(at(at(recorded, "model"), "hash"), wanted["model"]["hash"], "model hash", file);
    const RecordJson settings = at(recorded, "settings");
    for (const auto& [key, value] : wanted["settings"].items())
        requireSame(at(settings, key), value, "setting " + key, file);
    if (settings.is_object())
        for (const auto& [key, value] : settings.items())
            requireSame(value, at(wanted["settings"], key), "setting " + key, file);
}

/// Whether a run ended while it wrote its first line.
bool isBeginningOfHeader(std::string_view text)
{
    static const std::string kBeginning =
        R"({"line":"header","schema":")" + std::string(kRunRecordSchema);
    return text.find('\n') == std::string_view::npos &&
           (kBeginning.starts_with(text) || text.starts_with(kBeginning));
}

} // namespace

RunRecordContent readRunRecord(const std::filesystem::path& path)
{
    return parsedRecord(readRunRecordText(path, kMostBytes), path.string());
}

RunRecord::RunRecord(RunRecordFile file, std::vector<RecordJson> earlier, bool hadCutLine)
    : m_file(std::move(file))
    , m_earlier(std::move(earlier))
    , m_hadCutLine(hadCutLine)
{
}

RunRecord RunRecord::create(const std::filesystem::path& path, const RunHeader& header)
{
    RunRecord record(RunRecordFile::createNew(path), {}, false);
    record.write(headerLine(header), {});
    return record;
}

RunRecord RunRecord::resume(const std::filesystem::path& path, const RunHeader& header)
{
    std::error_code ignored;
    if (!std::filesystem::exists(path, ignored))
        return create(path, header);
    RunRecordFile file = RunRecordFile::openExisting(path);
    const std::string text = readRunRecordText(path, kMostBytes);
    if (isBeginningOfHeader(text)) {
        file.cutTo(0);
        RunRecord record(std::move(file), {}, !text.empty());
        record.write(headerLine(header), {});
        return record;
    }
    RunRecordContent content = parsedRecord(text, path.string());
    // Through text, as the recorded header came: numbers and missing values then compare alike.
    requireSameRun(content.header, RecordJson::parse(lineText(headerLine(header))), path.string());
    if (content.hasCutLine)
        file.cutTo(content.wholeBytes);
    return {std::move(file), std::move(content.events), content.hasCutLine};
}

void RunRecord::append(std::string_view kind, const RecordJson& fields)
{
    write({{"line", "event"}, {"kind", kind}}, fields);
}

void RunRecord::finish(const RecordJson& fields)
{
    write({{"line", "summary"}}, fields);
}

void RunRecord::write(RecordJson line, const RecordJson& fields)
{
    if (!fields.is_null())
        line.update(fields);
    m_file.append(lineText(line));
}

} // namespace kvscope
