#include "app/cli/lab_options.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/lab_resources.h"
#include "engine/lab/run_record_identity.h"

#include <iomanip>
#include <sstream>

namespace kvscope {

void addLabTextOptions(CLI::App& command, LabTextOptions& options)
{
    auto* sources =
        command.add_option_group("text", "what to run on (default: the built-in prose)");
    sources->add_option("--text-file", options.textFile, "a UTF-8 file");
    sources->add_option("--ids", options.ids, "token ids: 1,2,3");
    sources->require_option(0, 1);
    command
        .add_option("--length", options.length,
                    "tokens from the start of the text; the text is not repeated (default: all)")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens));
    command.add_flag("--literal", options.isLiteral, "control tokens in the text stay text");
    command.add_flag("--bos", options.addsBegin, "put the beginning-of-sequence token first");
}

std::vector<TokenId> labIds(const CommonOptions& common, const LabTextOptions& options,
                            const Checkpoint& checkpoint)
{
    std::vector<TokenId> ids;
    if (!options.ids.empty())
        ids = parsedIds(options.ids);
    else
        ids = requireTokenizer(common, checkpoint)
                  ->encode(options.textFile.empty() ? readBuiltInText()
                                                    : readTextFile(options.textFile),
                           options.isLiteral ? ControlTokens::Literal : ControlTokens::Parsed);
    if (options.addsBegin && !checkpoint.tokenizer.beginToken)
        throw ArgumentError(
            "--bos was asked for, but the file names no beginning-of-sequence token");
    if (options.addsBegin)
        ids.insert(ids.begin(), *checkpoint.tokenizer.beginToken);
    const auto available = static_cast<std::int64_t>(ids.size());
    const std::int64_t length = options.length > 0 ? options.length : available;
    if (length > available)
        throw ArgumentError("the text has " + formatCount(available) +
                            " tokens, --length asks for " + formatCount(length) +
                            ": give a longer text or a smaller length");
    if (common.maxContext > 0 && length > common.maxContext)
        throw ArgumentError("the run takes " + formatCount(length) +
                            " tokens, --max-context allows " + formatCount(common.maxContext));
    ids.resize(static_cast<std::size_t>(length));
    return ids;
}

void warnBeyondPositions(const CliContext& context, const Decoder& decoder, std::int64_t length)
{
    const std::int64_t made = decoder.config().extendedPositions;
    if (made > 0 && length > made)
        context.err << "warning: " << formatCount(length) << " tokens are more than the "
                    << formatCount(made) << " positions this model was made for\n";
}

void addRecordOptions(CLI::App& command, RecordOptions& options, Resuming resuming)
{
    CLI::Option* out =
        command.add_option("--out", options.out, "keep the run as it happens in a .jsonl record");
    if (resuming == Resuming::Possible)
        command
            .add_flag("--resume", options.resumes,
                      "go on with the record of --out, where it is of this very run")
            ->needs(out);
}

std::optional<RunRecord> openRecord(const RecordOptions& options, const CommonOptions& common,
                                    const CliContext& context, const Decoder& decoder,
                                    const std::string& experiment, const Json& settings)
{
    if (options.out.empty())
        return std::nullopt;
    RunHeader header = runHeader(decoder);
    header.experiment = experiment;
    header.kvscope = KVSCOPE_VERSION;
    header.dtype = common.dtype;
    header.seed = common.seed;
    header.settings = settings;
    if (!options.resumes)
        return RunRecord::create(options.out, header);
    RunRecord record = RunRecord::resume(options.out, header);
    if (record.hadCutLine())
        context.err << "note: the last line of " << options.out
                    << " was cut off or damaged and is left out\n";
    return record;
}

void addChunkOption(CLI::App& command, std::int64_t& chunkTokens, const std::string& zero)
{
    command.add_option("--chunk", chunkTokens, "prefill chunk in tokens; 0: " + zero)
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
}

LabRun openLabRun(const CommonOptions& common, const LabTextOptions& text,
                  const CliContext& context)
{
    const auto checkpoint = openFor(common);
    LabRun run;
    run.ids = labIds(common, text, *checkpoint);
    run.decoder = buildDecoder(common, context, checkpoint);
    warnBeyondPositions(context, *run.decoder, run.length());
    return run;
}

void finishLabRun(const CommonOptions& common, const CliContext& context, const Decoder& decoder,
                  std::optional<RunRecord>& record, const Json& result,
                  const std::function<void(std::ostream&)>& print)
{
    if (common.isJson) {
        Json json = recipe(common, decoder);
        json.update(result);
        context.out << jsonLine(json);
    } else {
        print(context.out);
    }
    closeRecord(record, result, context);
}

void closeRecord(std::optional<RunRecord>& record, const Json& summary, const CliContext& context)
{
    if (!record)
        return;
    context.out.flush(); // whatever becomes of the record
    try {
        record->finish(summary);
    } catch (const EngineError& error) {
        throw EngineError(std::string(error.what()) +
                          "; the record lacks its closing line and counts as not finished, the "
                          "result was printed");
    }
}

void ProgressLines::tell(const PrefillProgress& progress)
{
    const auto now = std::chrono::steady_clock::now();
    if (now - m_told < std::chrono::seconds(1))
        return;
    m_told = now;
    m_err << m_what << ": " << formatCount(progress.doneTokens) << " of "
          << formatCount(progress.totalTokens) << " tokens, "
          << formatSeconds(progress.secondsElapsed) << " so far, about "
          << formatSeconds(progress.secondsLeft) << " left\n";
}

std::string fixedText(double value, int decimals)
{
    std::ostringstream text;
    text << std::fixed << std::setprecision(decimals) << value;
    return text.str();
}

std::string signedMeanText(const SampleMean& mean)
{
    std::ostringstream text;
    text << std::fixed << std::showpos << std::setprecision(3) << mean.mean;
    if (!mean.hasInterval())
        return text.str() + " (no interval)";
    text << " [" << mean.low << ", " << mean.high << ']';
    return text.str();
}

} // namespace kvscope
