#include "app/cli/cli_context.h"
#include "app/cli/inspect_preset.h"
#include "app/cli/layers_output.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/session/open_preview.h"

#include <algorithm>
#include <iomanip>
#include <memory>
#include <optional>
#include <sstream>

namespace kvscope {
namespace {

struct InspectOptions
{
    CommonOptions common;
    bool showsChecks = false;
};

/// A line of the summary, or "none".
std::string summaryLine(const OpenPreview& preview, const std::string& label)
{
    for (const PreviewLine& line : preview.summary)
        if (line.label == label)
            return line.value;
    return "none";
}

Json checksJson(const std::vector<CheckEntry>& checks)
{
    Json list = Json::array();
    for (const CheckEntry& check : checks)
        list.push_back({{"section", sectionName(check.section)},
                        {"result", resultName(check.result)},
                        {"file", check.file},
                        {"what", check.what},
                        {"found", check.found},
                        {"bytes", check.bytes ? Json({check.bytes->begin, check.bytes->end})
                                              : Json(nullptr)}});
    return list;
}

Json fitJson(const OpenPreview& preview, const CommonOptions& options)
{
    Json list = Json::array();
    for (const DeviceReading& device : preview.devices) {
        const FitEstimate fit = estimateFit(
            preview, {device.id, options.dtype, options.cacheDtype, {}, options.maxContext});
        list.push_back({{"device", device.id},
                        {"name", device.name},
                        {"free_bytes", fit.freeBytes ? Json(*fit.freeBytes) : Json(nullptr)},
                        {"context", fit.context},
                        {"weight_bytes", fit.weightBytes},
                        {"cache_bytes", fit.cacheBytes},
                        {"growth_bytes", fit.growthBytes},
                        {"working_bytes", fit.workBytes},
                        {"total_bytes", fit.totalBytes()},
                        {"fits", fit.fits()},
                        {"longest_context", fit.longestContext}});
    }
    return list;
}

Json inspectJson(const InspectOptions& options, const PreviewedCheckpoint& inspected)
{
    const Checkpoint& checkpoint = *inspected.checkpoint;
    const OpenPreview& preview = inspected.preview;
    const ModelConfig& c = checkpoint.config;
    const CacheNumbers numbers =
        cacheNumbersOf(estimateFit(preview, {.dtype = options.common.dtype,
                                             .cacheDtype = options.common.cacheDtype})
                           .cacheDtype);
    Json json = {{"path", options.common.model}, {"format", checkpoint.format}};
    addModel(json, c);
    json["storage"] = checkpoint.storageSummary();
    json["weight_bytes"] = checkpoint.weightBytes();
    json["file_bytes"] = preview.fileBytes;
    json["tokenizer"] = summaryLine(preview, "Tokenizer");
    addPositions(json, c);
    json["rope_override"] =
        preview.rotaryOverride.empty() ? Json(nullptr) : Json(preview.rotaryOverride);
    json["cache"] = cacheJson(c, numbers, [&](const CacheNumbers& of) {
        return cacheBytesAt(preview, c.extendedPositions, of);
    });
    json["fit"] = fitJson(preview, options.common);
    json["layers"] = layersJson(c, numbers);
    json["warnings"] = preview.warnings;
    json["seconds"] = preview.seconds;
    if (options.showsChecks)
        json["checks"] = checksJson(preview.checks);
    return json;
}

void printCheck(std::ostream& out, const CheckEntry& check)
{
    out << "  " << std::left << std::setw(8) << resultName(check.result) << std::right
        << check.what;
    if (!check.found.empty())
        out << (check.what.find(':') == std::string::npos ? ": " : "; ") << check.found;
    if (check.bytes)
        out << "  [" << formatCount(static_cast<std::int64_t>(check.bytes->begin)) << " to "
            << formatCount(static_cast<std::int64_t>(check.bytes->end)) << ']';
    out << '\n';
}

/// Every check, under its section and file; in brackets the bytes it looked at, the last excluded.
void printChecks(std::ostream& out, const std::vector<CheckEntry>& checks)
{
    const CheckEntry* previous = nullptr;
    for (const CheckEntry& check : checks) {
        if (previous == nullptr || previous->section != check.section ||
            previous->file != check.file)
            out << '\n'
                << sectionName(check.section) << (check.file.empty() ? "" : " of ") << check.file
                << '\n';
        previous = &check;
        printCheck(out, check);
    }
    const auto count = [&](CheckResult result) {
        return std::count_if(checks.begin(), checks.end(),
                             [result](const CheckEntry& check) { return check.result == result; });
    };
    out << '\n'
        << count(CheckResult::Passed) << " checks passed, " << count(CheckResult::Warning)
        << " warnings, " << count(CheckResult::Failed) << " failed\n";
}

std::string lowerCase(std::string text)
{
    std::transform(text.begin(), text.end(), text.begin(), [](char c) {
        return c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    });
    return text;
}

void printInspection(std::ostream& out, const InspectOptions& options,
                     const PreviewedCheckpoint& inspected)
{
    const OpenPreview& preview = inspected.preview;
    for (const PreviewLine& line : preview.summary) {
        const std::string label = lowerCase(line.label) + (line.label.size() > 11 ? ":" : "");
        out << std::left << std::setw(12) << label << std::right
            << (line.label.size() > 11 ? " " : "") << line.value << '\n';
    }
    const FitEstimate fit = estimateFit(
        preview, {.dtype = options.common.dtype, .cacheDtype = options.common.cacheDtype});
    out << '\n';
    printLayers(out, inspected.checkpoint->config, cacheNumbersOf(fit.cacheDtype));
    for (const std::string& warning : preview.warnings)
        out << "\n  warning: " << warning;
    out << '\n';
}

/// What is known of a checkpoint that does not open: the checks up to there, where asked for.
void reportFailure(const InspectOptions& options, const OpenPreview& preview, std::ostream& out)
{
    if (!options.showsChecks)
        return;
    if (options.common.isJson)
        out << jsonLine({{"path", options.common.model},
                         {"opens", false},
                         {"error", preview.error},
                         {"checks", checksJson(preview.checks)}});
    else
        printChecks(out, preview.checks);
}

void inspect(const InspectOptions& options, CliContext& context)
{
    if (options.common.ablations.any())
        throw ArgumentError("inspect shows a checkpoint as it is stored; --sink-bias and --window "
                            "are for commands that run it");
    const PreviewedCheckpoint inspected =
        previewCheckpoint(openRequestOf(options.common), context.stop);
    if (context.stop.stop_requested())
        throw Stopped{};
    if (inspected.checkpoint == nullptr) {
        reportFailure(options, inspected.preview, context.out);
        throw CheckpointError(inspected.preview.error);
    }
    if (options.common.isJson) {
        context.out << jsonLine(inspectJson(options, inspected));
        return;
    }
    std::ostringstream report; // whole or not at all
    printInspection(report, options, inspected);
    if (options.showsChecks)
        printChecks(report, inspected.preview.checks);
    context.out << report.str();
}

} // namespace

void addInspectCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<InspectOptions>();
    CLI::App* command =
        app.add_subcommand("inspect", "What a checkpoint is, from its header alone");
    addCommonOptions(*command, options->common, ModelArgument::Required);
    command->add_flag("--checks", options->showsChecks,
                      "list each check made of its files, also of those that do not open");
    command->callback([options, &context] {
        isPreset(options->common) ? inspectPreset(options->common, context)
                                  : inspect(*options, context);
    });
}

} // namespace kvscope
