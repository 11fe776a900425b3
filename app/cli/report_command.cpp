#include "app/cli/card_measurement.h"
#include "app/cli/render_child.h"
#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/path_name.h"
#include "engine/base/units.h"
#include "engine/lab/report_card_html.h"
#include "engine/lab/report_card_json.h"
#include "engine/lab/report_records.h"
#include "engine/lab/run_record_identity.h"
#include "engine/model/rotary_override.h"
#include "engine/session/experiment_command_line.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <filesystem>
#include <fstream>
#include <initializer_list>
#include <memory>
#include <optional>
#include <sstream>
#include <unistd.h>

namespace kvscope {
namespace {

struct ReportArguments
{
    CommonOptions common;
    CardRunOptions options;
    std::vector<std::string> records; ///< --from
    RecordOptions record;             ///< of the needle search
    std::string html;
    std::string pdf;
    std::string picture;
    bool measuresRest = false;
};

/// The command that makes the card anew, without where it is written: it names no folder.
std::string commandLine(const ReportArguments& arguments)
{
    OpenRequest opened = openRequestOf(arguments.common);
    opened.path = lastName(opened.path);
    opened.tokenizerFile = lastName(opened.tokenizerFile);
    const CardRunOptions& options = arguments.options;
    std::ostringstream text;
    text << experimentCommandLine(opened, {CardExperiment{options.tokens, options.limitSeconds,
                                                          options.isQuick, options.chunkTokens},
                                           {},
                                           false,
                                           options.seed});
    const Ablations& ablations = arguments.common.ablations;
    if (ablations.sinkBias)
        text << " --sink-bias " << Json(*ablations.sinkBias).dump(); // all of its digits
    if (ablations.window)
        text << " --window " << *ablations.window;
    for (const std::string& record : arguments.records)
        text << " --from " << shellWord(lastName(record));
    if (arguments.measuresRest)
        text << " --measure-rest";
    if (arguments.common.threads > 0)
        text << " --threads " << arguments.common.threads;
    return text.str();
}

void writeText(const std::filesystem::path& path, const std::string& text)
{
    std::ofstream file(path, std::ios::binary | std::ios::trunc);
    file << text << std::flush;
    if (!file)
        throw EngineError(path.string() + " cannot be written");
}

/// A file that is gone when this is.
class TemporaryFile
{
public:
    TemporaryFile()
    {
        std::string name =
            (std::filesystem::temp_directory_path() / "kvscope-card-XXXXXX").string();
        const int descriptor = ::mkstemp(name.data());
        if (descriptor < 0)
            throw EngineError("no temporary file can be made in " +
                              std::filesystem::temp_directory_path().string());
        ::close(descriptor);
        m_path = name;
    }
    TemporaryFile(const TemporaryFile&) = delete;
    TemporaryFile& operator=(const TemporaryFile&) = delete;
    ~TemporaryFile()
    {
        std::error_code error;
        std::filesystem::remove(m_path, error);
    }
    const std::filesystem::path& path() const { return m_path; }

private:
    std::filesystem::path m_path;
};

/// Told before hours are spent on a card that could not be written.
/// \throws ArgumentError for an ending, a folder or a program that is missing
void requirePages(const ReportArguments& arguments)
{
    const auto check = [](const std::string& file, std::initializer_list<const char*> endings) {
        if (file.empty())
            return;
        const std::filesystem::path path(file);
        const std::string ending = path.extension().string();
        if (std::find(endings.begin(), endings.end(), ending) == endings.end())
            throw ArgumentError(file + " must end in " + *endings.begin() +
                                (endings.size() > 1 ? std::string(" or ") + *(endings.begin() + 1)
                                                    : std::string()));
        const std::filesystem::path folder = path.has_parent_path() ? path.parent_path() : ".";
        if (!std::filesystem::is_directory(folder) || ::access(folder.c_str(), W_OK) != 0)
            throw ArgumentError(file + " cannot be written: " + folder.string() +
                                " is no folder that can be written to");
    };
    check(arguments.html, {".html"});
    check(arguments.pdf, {".pdf"});
    check(arguments.picture, {".png", ".svg"});
    if (!drawingProgram() && (!arguments.pdf.empty() || !arguments.picture.empty()))
        throw ArgumentError("PDF, PNG and SVG are drawn by the program kvscope, which is not "
                            "beside this one; --html works without it");
}

/// What was asked for beside the text; without the drawing program, HTML without plots.
void writePages(const ReportArguments& arguments, const ReportCard& card, const CliContext& context)
{
    std::vector<std::string> drawn;
    for (const std::string& path : {arguments.html, arguments.pdf, arguments.picture})
        if (!path.empty())
            drawn.push_back(path);
    if (drawn.empty())
        return;
    const auto program = drawingProgram();
    if (!program) { // requirePages() let HTML alone through
        writeText(arguments.html, cardHtml(card, {}));
        context.err << "note: " << arguments.html
                    << " has no plots: the program kvscope, which draws them, is not beside this "
                       "one\n";
        return;
    }
    const TemporaryFile json;
    writeText(json.path(), jsonLine(cardJson(card)));
    for (const std::string& path : drawn)
        drawWith(*program, json.path(), path);
}

void printCard(std::ostream& out, const ReportCard& card)
{
    out << card.model << ", " << formatCount(card.tokens) << " tokens\n" << card.summary << "\n\n";
    for (const CardNote& fact : card.facts)
        out << "  " << fact.label << ": " << fact.text << '\n';
    for (std::size_t i = 0; i < card.claims.size(); ++i) {
        const CardResult& result = card.claims.at(i);
        out << '\n'
            << i + 1 << "  " << claimTitle(result.claim) << ": " << verdictText(result.verdict)
            << "\n   " << result.headline;
        if (!result.condition.empty())
            out << " (" << result.condition << ')';
        out << '\n';
        for (const CardNote& note : result.notes)
            out << "   " << note.label << ": " << note.text << '\n';
    }
    out << '\n' << card.footnote << '\n';
}

void runReport(ReportArguments arguments, const CliContext& context)
{
    const CommonOptions& common = arguments.common;
    if (!std::isfinite(arguments.options.limitSeconds) || arguments.options.limitSeconds <= 0.0)
        throw ArgumentError("--limit-seconds must be a number above 0");
    const bool measures = arguments.records.empty() || arguments.measuresRest;
    if (!measures && !arguments.record.out.empty())
        throw ArgumentError("with --from, --out keeps nothing without --measure-rest");
    requirePages(arguments);
    arguments.options.seed = common.seed;
    arguments.options.contextLimit = common.maxContext;
    if (common.threads > 0)
        at::set_num_threads(common.threads);
    const auto checkpoint = openFor(common);
    CardEvidence evidence =
        cardSubject(*checkpoint, arguments.options, cacheNumbersFor(common, *checkpoint),
                    readFreeHostMemory().value_or(0));
    evidence.command = commandLine(arguments);
    const RecordJson recorded = takeRecords(
        evidence, {arguments.records.begin(), arguments.records.end()}, modelHash(*checkpoint));
    if (!recorded.is_null()) {
        RunHeader opened; // without a decoder no more of it is known
        opened.rotary = rotaryText(checkpoint->config);
        requireSameNumbers(recorded, opened);
    }
    std::optional<CardMeasurement> measurement;
    if (measures) {
        measurement.emplace(common, arguments.options, arguments.record, checkpoint, evidence,
                            recorded, context);
        measurement->measure(evidence);
    }
    evidence.facts.push_back(madeNote(KVSCOPE_VERSION));
    const ReportCard card = reportCard(evidence);
    if (common.isJson)
        context.out << jsonLine(cardJson(card));
    else
        printCard(context.out, card);
    context.out.flush(); // whatever becomes of the files
    const std::string failure = measurement ? measurement->close() : std::string();
    writePages(arguments, card, context);
    if (!failure.empty())
        throw EngineError(failure);
}

} // namespace

void addReportCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<ReportArguments>();
    CLI::App* command =
        app.add_subcommand("report", "The card: five claims about a context length, measured");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    command
        ->add_option("--length,--lengths", arguments->options.tokens,
                     "tokens the claims are about (default: what the model is made for)")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens));
    command
        ->add_option("--limit-seconds", arguments->options.limitSeconds,
                     "that the first token may take")
        ->check(CLI::PositiveNumber)
        ->capture_default_str();
    command->add_flag("--quick", arguments->options.isQuick,
                      "fewer lengths, each once, and at most 2,048 tokens unless --length says so");
    command->add_option("--chunk", arguments->options.chunkTokens, "prefill chunk in tokens")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens))
        ->capture_default_str();
    CLI::Option* from = command->add_option("--from", arguments->records,
                                            "finished records (--out of positions, latency, use, "
                                            "needle, limits --measure) instead of measuring");
    from->check(CLI::ExistingFile);
    command
        ->add_flag("--measure-rest", arguments->measuresRest,
                   "measure what the records do not hold")
        ->needs(from);
    addRecordOptions(*command, arguments->record, Resuming::Possible);
    command->get_option("--out")->description(
        "keep the needle search, by far the longest part, as it happens in a .jsonl record");
    command->add_option("--html", arguments->html, "write one HTML file");
    command->add_option("--pdf", arguments->pdf, "write one PDF page");
    command->add_option("--picture", arguments->picture, "write a .png or .svg");
    command->callback([arguments, &context] { runReport(*arguments, context); });
}

} // namespace kvscope
