#include "app/cli/sweep_command.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/sweep.h"
#include "engine/session/open_model.h"

#include <cmath>
#include <sstream>

namespace kvscope {
namespace {

std::vector<double> parsedDepths(const std::string& text)
{
    std::vector<double> depths;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        std::size_t end = 0;
        double depth = std::nan("");
        try {
            depth = std::stod(part, &end);
        } catch (const std::exception&) {
            end = 0; // not a number, or one too large
        }
        if (end == 0 || part.find_first_not_of(' ', end) != std::string::npos ||
            !(depth >= 0.0 && depth <= 100.0))
            throw ArgumentError("depth '" + part + "' is not a number from 0 to 100 (per cent)");
        depths.push_back(depth);
    }
    return depths;
}

/// What is still to be run.
SweepAmount amountLeft(const SweepReport& report)
{
    SweepAmount left;
    const auto add = [&left](const SweepCell& cell, std::int64_t tokens) {
        const std::int64_t trials = cell.plannedTrials - std::ssize(cell.trials);
        if (cell.state == CellState::CannotFit || trials == 0)
            return;
        ++left.cells;
        left.trials += trials;
        left.tokens += trials * tokens;
    };
    add(report.oracle, report.oracleTokens);
    for (const SweepColumn& column : report.columns) {
        add(column.control, column.tokens);
        for (const SweepCell& cell : column.cells)
            add(cell, column.tokens);
    }
    return left;
}

/// Tells on standard error what goes on, at most once a second.
class SweepLines
{
public:
    SweepLines(std::ostream& err, const Sweep& sweep)
        : m_err(err)
        , m_sweep(sweep)
    {
    }

    void plan() const
    {
        const SweepReport report = m_sweep.report();
        const SweepAmount left = amountLeft(report);
        m_err << "plan: " << formatCount(left.trials) << " trials to run, "
              << formatCount(std::ssize(report.trials)) << " done, about "
              << formatCount(left.tokens) << " tokens to read\n";
        for (const SweepColumn& column : report.columns) {
            if (!column.skipReason.empty())
                m_err << "note: " << formatCount(column.tokens)
                      << " tokens are left out: " << column.skipReason << '\n';
            else if (column.isBeyondTrained)
                m_err << "warning: " << formatCount(column.tokens) << " tokens are more than the "
                      << formatCount(report.trainedPositions)
                      << " positions the model was trained on\n";
        }
        if (report.isLeaking)
            m_err << "warning: the question states the key: this shows the leak, not retrieval\n";
    }

    void started(const SweepTrial& trial) { m_trial = trial; }

    void prefilled(const PrefillProgress& progress)
    {
        if (isTime())
            m_err << text(m_trial) << ": "
                  << formatCount(progress.reusedTokens + progress.doneTokens) << " of "
                  << formatCount(m_trial.promptTokens) << " tokens\n";
    }

    void finished(const SweepTrial& trial)
    {
        if (!isTime())
            return;
        const SweepReport report = m_sweep.report();
        m_err << text(trial) << (trial.isCorrect() ? ": found" : ": not found") << "; "
              << formatCount(std::ssize(report.trials)) << " trials done, "
              << formatCount(amountLeft(report).trials) << " left";
        if (report.progress.secondsLeft > 0.0)
            m_err << ", about " << formatSeconds(report.progress.secondsLeft);
        m_err << '\n';
    }

private:
    static std::string text(const SweepTrial& trial)
    {
        if (trial.role == TrialRole::Oracle)
            return "alone, " + trial.itemName;
        const std::string place = formatCount(trial.tokens);
        return trial.role == TrialRole::Control
                   ? place + ", control, " + trial.itemName
                   : place + " at " + fixedText(trial.depth, 0) + " %, " + trial.itemName;
    }

    bool isTime()
    {
        const auto now = std::chrono::steady_clock::now();
        if (now - m_told < std::chrono::seconds(1))
            return false;
        m_told = now;
        return true;
    }

    std::ostream& m_err;
    const Sweep& m_sweep;
    SweepTrial m_trial;
    std::chrono::steady_clock::time_point m_told = std::chrono::steady_clock::now();
};

/// \returns whether every trial is done
bool runTrials(Sweep& sweep, RunRecord* record, std::int64_t limit, const CliContext& context)
{
    SweepLines lines(context.err, sweep);
    lines.plan();
    SweepObserver observer;
    observer.started = [&](const SweepTrial& trial) { lines.started(trial); };
    observer.prefilled = [&](const PrefillProgress& progress) { lines.prefilled(progress); };
    for (std::int64_t made = 0; limit == 0 || made < limit; ++made) {
        if (context.stop.stop_requested())
            throw Stopped{};
        const auto trial = sweep.runNext(observer, context.stop);
        if (!trial)
            return true;
        if (record != nullptr)
            record->append(kSweepTrialKind, trialJson(*trial));
        lines.finished(*trial);
    }
    return sweep.isDone();
}

Json headlineJson(const SweepReport& report)
{
    const SweepColumn* column = longestColumn(report);
    if (column == nullptr)
        return nullptr;
    const Proportion& score = column->pooled.score;
    return {{"tokens", column->tokens},
            {"accuracy", score.rate()},
            {"line", kPasskeyHeadline},
            {"reached", score.trials > 0 && score.rate() >= kPasskeyHeadline},
            {"interval", {column->pooled.interval.low, column->pooled.interval.high}}};
}

Json resultJson(const SweepReport& report, bool isPasskey, Trials trials)
{
    Json json = sweepJson(report, trials);
    if (isPasskey)
        json["headline"] = headlineJson(report);
    return json;
}

} // namespace

const SweepColumn* longestColumn(const SweepReport& report)
{
    const SweepColumn* longest = nullptr;
    for (const SweepColumn& column : report.columns)
        if (column.pooled.score.trials > 0)
            longest = &column;
    return longest;
}

void addSweepOptions(CLI::App& command, SweepArguments& arguments)
{
    SweepRequest& request = arguments.request;
    command.add_option("--lengths", arguments.lengths, "context lengths: 1024,2048,4K")
        ->capture_default_str();
    command
        .add_option("--depths", arguments.depths,
                    "where in the context, per cent of it: 0,25,50,75,100")
        ->capture_default_str();
    command
        .add_option("--max-trials", request.maxTrials,
                    "further trials, with other filler, for cells that are undecided, up to so "
                    "many a cell")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{1'000'000}));
    command
        .add_option("--max-new-tokens", request.answerRoom,
                    "room for the answer, in tokens; belongs to the length")
        ->check(CLI::Range(std::int64_t{1}, std::int64_t{4096}));
    command.add_option("--chunk", request.chunkTokens, "prefill chunk in tokens; 0: one shot")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command
        .add_option("--limit-trials", arguments.limitTrials,
                    "stop after so many trials; --resume goes on")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens));
    command.add_flag("--no-template", arguments.isPlain,
                     "plain text, though the model has a chat template");
    addRecordOptions(command, arguments.record, Resuming::Possible);
}

void runSweep(SweepArguments arguments, const CliContext& context)
{
    SweepRequest& request = arguments.request;
    request.lengths = parsedLengths(arguments.lengths);
    request.depths = parsedDepths(arguments.depths);
    request.seed = arguments.common.seed;
    request.contextLimit = arguments.common.maxContext;
    request.usesChatTemplate = !arguments.isPlain;
    auto task = makeSweepTask(request);
    const bool isPasskey = request.experiment == SweepExperiment::Passkey;
    const auto checkpoint = openFor(arguments.common);
    const auto tokenizer = requireTokenizer(arguments.common, *checkpoint);
    const auto decoder = buildDecoder(arguments.common, context, checkpoint);
    ChatPrompter prompter = sweepPrompter(*tokenizer, checkpoint->tokenizer, request);
    auto endTokens = endTokensFor(*checkpoint, tokenizer.get(), &prompter.chatTemplate());
    const std::string experiment = task->experiment();
    Sweep sweep({*decoder, *tokenizer, std::move(prompter), std::move(endTokens)}, std::move(task),
                request);
    auto record = openRecord(arguments.record, arguments.common, context, *decoder, experiment,
                             sweep.settings());
    if (record)
        sweep.restore(record->earlierEvents());
    const bool isWhole =
        runTrials(sweep, record ? &*record : nullptr, arguments.limitTrials, context);
    const SweepReport report = sweep.report();
    if (record && isWhole)
        record->finish(resultJson(report, isPasskey, Trials::LeftOut));
    if (!arguments.common.isJson)
        return printSweep(context.out, report);
    Json json = recipe(arguments.common, *decoder);
    json.update(resultJson(report, isPasskey, Trials::Kept));
    context.out << jsonLine(json);
}

} // namespace kvscope
