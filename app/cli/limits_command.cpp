#include "app/cli/limits_measured.h"
#include "app/cli/limits_output.h"
#include "engine/base/errors.h"
#include "engine/lab/limits.h"
#include "engine/model/decoder_types.h"

#include <cmath>
#include <cstdlib>
#include <memory>
#include <sstream>

namespace kvscope {
namespace {

struct LimitsOptions
{
    CommonOptions common;
    std::vector<std::string> lengths;
    double budgetGib = 0.0; ///< 0: none was given
    bool cacheOnly = false;
    double bandwidth = 0.0; ///< GB/s; 0: the default machine's
    double peak = 0.0;      ///< TFLOP/s; 0: the default machine's
    bool isMeasured = false;
    MeasuredLimitsOptions measured;
};

std::vector<std::int64_t> lengthsFor(const LimitsOptions& options, const ModelConfig& config)
{
    std::vector<std::int64_t> lengths;
    for (const std::string& text : options.lengths)
        for (const std::int64_t length : parsedLengths(text))
            lengths.push_back(length);
    if (!lengths.empty())
        return lengths;
    if (!options.lengths.empty())
        throw ArgumentError("--length names no length");
    return usualLengths(config);
}

/// What CLI::PositiveNumber lets through, "nan" and "inf", is refused too.
std::string isFinitePositive(const std::string& text)
{
    char* end = nullptr;
    const double value = std::strtod(text.c_str(), &end);
    const bool isNumber = end != text.c_str() && *end == '\0';
    return isNumber && std::isfinite(value) && value > 0.0
               ? ""
               : "a number above 0 was expected, not " + text;
}

std::uint64_t budgetBytes(double gib)
{
    constexpr double kMostGib = 1e9;
    if (!(gib > 0.0) || gib > kMostGib)
        throw ArgumentError("--budget-gib must be above 0 and at most 1,000,000,000");
    return static_cast<std::uint64_t>(std::floor(gib * 1024.0 * 1024.0 * 1024.0));
}

MachineSpeed machineFor(const LimitsOptions& options)
{
    MachineSpeed machine;
    const std::string usual = machine.source;
    if (options.bandwidth > 0.0)
        machine.bytesPerSecond = options.bandwidth * 1e9;
    if (options.peak > 0.0)
        machine.flopsPerSecond = options.peak * 1e12;
    if (options.bandwidth > 0.0 && options.peak > 0.0)
        machine.source = "as given";
    else if (options.bandwidth > 0.0)
        machine.source = "bandwidth as given, peak of " + usual;
    else if (options.peak > 0.0)
        machine.source = "peak as given, bandwidth of " + usual;
    return machine;
}

/// A shape alone has no stored weights, so they count in the asked type.
WeightBytes weightsFor(const LimitsOptions& options, const Checkpoint& checkpoint)
{
    if (!checkpoint.files.empty())
        return weightBytesOf(checkpoint);
    return weightBytesOf(checkpoint.config, options.common.dtype == "float32" ? 4 : 2);
}

/// Of activations, and so of logits and scores: on the CPU float32 whatever is stored. Of a shape
/// alone 2, as published tables count.
std::int64_t computedElementBytes(const CommonOptions& options, const Checkpoint& checkpoint)
{
    const bool isOnCpu = options.device == "cpu" && !checkpoint.files.empty();
    return logitBytes(resolvedType(checkpoint, computeTypeFrom(options.dtype)),
                      isOnCpu ? at::kCPU : at::kCUDA);
}

void runLimits(const LimitsOptions& options, const CliContext& context, bool hasBudget)
{
    if (options.cacheOnly && !hasBudget)
        throw ArgumentError("--cache-only is about a budget: give --budget-gib too");
    const auto checkpoint = openOrPreset(options.common);
    if (options.isMeasured) {
        MeasuredLimitsOptions measured = options.measured;
        measured.lengths = lengthsFor(options, checkpoint->config);
        return measureLimits(options.common, measured, checkpoint, context);
    }
    LimitsRequest request;
    request.weights = weightsFor(options, *checkpoint);
    request.cache = cacheNumbersFor(options.common, *checkpoint);
    request.logitElementBytes = computedElementBytes(options.common, *checkpoint);
    request.lengths = lengthsFor(options, checkpoint->config);
    if (hasBudget)
        request.budgetBytes = budgetBytes(options.budgetGib);
    request.countsWeights = !options.cacheOnly;
    request.machine = machineFor(options);
    const LimitsReport report = limitsReport(checkpoint->config, request);
    if (options.common.isJson) {
        context.out << jsonLine(limitsJson(report));
        return;
    }
    std::ostringstream text; // whole or not at all
    printLimits(text, report);
    context.out << text.str();
}

} // namespace

void addLimitsCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<LimitsOptions>();
    CLI::App* command =
        app.add_subcommand("limits", "What a context costs in memory, FLOPs and bytes, by "
                                     "arithmetic, and the longest that fits");
    addCommonOptions(*command, options->common, ModelArgument::Required);
    CLI::Option* budget = command->add_option("--budget-gib", options->budgetGib,
                                              "memory for weights and cache together");
    command->add_flag("--cache-only", options->cacheOnly, "the budget is the cache's alone");
    command->add_option("--length,--lengths", options->lengths,
                        "tokens: 4096 8K ... or 4096,8K (default: doublings to the advertised "
                        "length)");
    command
        ->add_option("--bandwidth-gbs", options->bandwidth,
                     "memory bandwidth in 10^9 bytes a second (default: an A100's 2,040)")
        ->check(isFinitePositive);
    command
        ->add_option("--peak-tflops", options->peak,
                     "peak of the matrix units in 10^12 a second (default: an A100's 312)")
        ->check(isFinitePositive);
    command->add_flag("--measure", options->isMeasured,
                      "run prefills of these lengths and measure their peak memory instead");
    addMeasuredLimitsOptions(*command, options->measured);
    command->callback(
        [options, budget, &context] { runLimits(*options, context, budget->count() > 0); });
}

} // namespace kvscope
