#include "app/cli/sweep_command.h"

#include "app/cli/sweep_run.h"
#include "engine/base/errors.h"
#include "engine/lab/sweep_json.h"

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

} // namespace

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
    makeSweepTask(request); // what is wrong with it is told before the model is read
    const auto checkpoint = openFor(arguments.common);
    const auto tokenizer = requireTokenizer(arguments.common, *checkpoint);
    const auto decoder = buildDecoder(arguments.common, context, checkpoint);
    const SweepSubject subject{*checkpoint, *tokenizer, *decoder};
    const auto sweep = makeSweep(subject, request);
    if (!arguments.record.resumes)
        sweep->requireRunnable(); // before a record is made
    SweepRun run(*sweep, subject, arguments.record, arguments.common, context);
    const SweepReport report = run.run(arguments.limitTrials);
    if (arguments.common.isJson) {
        Json json = recipe(arguments.common, *decoder);
        json.update(sweepJson(report, Trials::Kept));
        context.out << jsonLine(json);
    } else {
        printSweep(context.out, report);
    }
    run.close();
}

} // namespace kvscope
