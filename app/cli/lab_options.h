#pragma once

#include "app/cli/cli_context.h"
#include "engine/generate/generation.h"
#include "engine/lab/run_record.h"
#include "engine/lab/sample_mean_report.h"

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <ostream>
#include <string>
#include <vector>

// What the lab's commands share: the text they run on, their record, their progress.

namespace kvscope {

/// The tokens an experiment runs on.
struct LabTextOptions
{
    std::string textFile;
    std::string ids;
    std::int64_t length = 0; ///< tokens from the start; 0: all
    bool isLiteral = false;
    bool addsBegin = false;
};

void addLabTextOptions(CLI::App& command, LabTextOptions& options);

/// The first `length` tokens of the text. A text is never repeated: its second time round would
/// score as a copy.
/// \throws ArgumentError where the text has fewer, or --max-context allows fewer, with both numbers
std::vector<TokenId> labIds(const CommonOptions& common, const LabTextOptions& options,
                            const Checkpoint& checkpoint);

/// Says on standard error where `length` is beyond what the model was made for: it is run, marked.
void warnBeyondPositions(const CliContext& context, const Decoder& decoder, std::int64_t length);

/// Where a run is kept.
struct RecordOptions
{
    std::string out; ///< empty: nowhere
    bool resumes = false;
};

/// Whether a run's parts stand for themselves, so that --resume saves time.
enum class Resuming { Possible, None };

void addRecordOptions(CLI::App& command, RecordOptions& options, Resuming resuming);

/// The record asked for, or nothing. \param settings  all that decides the trials
/// \throws ArgumentError as RunRecord
std::optional<RunRecord> openRecord(const RecordOptions& options, const CommonOptions& common,
                                    const CliContext& context, const Decoder& decoder,
                                    const std::string& experiment, const Json& settings);

/// Adds --chunk. \param zero  what 0 means: "one shot"
void addChunkOption(CLI::App& command, std::int64_t& chunkTokens, const std::string& zero);

/// A text's tokens and the model they run on.
struct LabRun
{
    std::vector<TokenId> ids;
    std::unique_ptr<Decoder> decoder;

    std::int64_t length() const { return static_cast<std::int64_t>(ids.size()); }
};

/// Opens the model and the text; warns where that is longer than the model was made for.
LabRun openLabRun(const CommonOptions& common, const LabTextOptions& text,
                  const CliContext& context);

/// Writes the record's closing line, where there is a record. Called when the result has been
/// printed, so that a full disk cannot take it away.
/// \throws EngineError where it cannot be written, saying that the record is incomplete
void closeRecord(std::optional<RunRecord>& record, const Json& summary, const CliContext& context);

/// Gives the result, the recipe with it as JSON or what `print` makes of it, then closes the
/// record.
void finishLabRun(const CommonOptions& common, const CliContext& context, const Decoder& decoder,
                  std::optional<RunRecord>& record, const Json& result,
                  const std::function<void(std::ostream&)>& print);

/// Tells a run's progress on standard error, at most once a second.
class ProgressLines
{
public:
    ProgressLines(std::ostream& err, std::string what)
        : m_err(err)
        , m_what(std::move(what))
    {
    }
    void tell(const PrefillProgress& progress);

private:
    std::ostream& m_err;
    std::string m_what;
    std::chrono::steady_clock::time_point m_told = std::chrono::steady_clock::now();
};

/// "+0.330 [+0.291, +0.369]"
std::string signedMeanText(const SampleMean& mean);
/// With a fixed number of decimals.
std::string fixedText(double value, int decimals);

void addDecodeKernelCommand(CLI::App& app, CliContext& context);
void addLatencyCommand(CLI::App& app, CliContext& context);
void addPositionsCommand(CLI::App& app, CliContext& context);
void addReportCommand(CLI::App& app, CliContext& context);
void addRoutingCommand(CLI::App& app, CliContext& context);
void addTruncateCommand(CLI::App& app, CliContext& context);
void addUseCommand(CLI::App& app, CliContext& context);

} // namespace kvscope
