#include "app/cli/lab_options.h"
#include "app/cli/text_table.h"
#include "engine/base/units.h"
#include "engine/lab/lab_resources.h"
#include "engine/lab/routing.h"
#include "engine/lab/routing_json.h"

#include <algorithm>
#include <memory>
#include <optional>

namespace kvscope {
namespace {

constexpr std::int64_t kUsualTokens = 2048;

struct RoutingArguments
{
    CommonOptions common;
    LabTextOptions text;
};

std::string textName(const LabTextOptions& text)
{
    if (!text.ids.empty())
        return "token ids";
    return text.textFile.empty() ? std::string(kBuiltInTextName) : text.textFile;
}

std::string percentText(double share)
{
    return fixedText(100.0 * share, 1);
}

std::size_t widest(const RoutingReport& report, std::vector<double> RoutingLayer::*shares)
{
    std::size_t count = 0;
    for (const RoutingLayer& layer : report.layers)
        count = std::max(count, (layer.*shares).size());
    return count;
}

/// A row a layer, a column an expert or a head. \param column  "expert", "head"
void printShares(std::ostream& out, const RoutingReport& report,
                 std::vector<double> RoutingLayer::*shares, const std::string& column)
{
    std::vector<std::string> headings = {"layer", "sees"};
    const std::size_t count = widest(report, shares);
    for (std::size_t i = 0; i < count; ++i)
        headings.push_back(column + " " + std::to_string(i));
    TextTable table(headings);
    for (const RoutingLayer& layer : report.layers) {
        std::vector<std::string> cells = {std::to_string(layer.layer),
                                          layer.window > 0 ? "window " + formatCount(layer.window)
                                                           : "all"};
        for (const double share : layer.*shares)
            cells.push_back(percentText(share));
        cells.resize(headings.size(), "-");
        table.addRow(cells);
    }
    table.print(out);
}

void printReport(std::ostream& out, const RoutingReport& report)
{
    out << formatCount(report.tokens) << " tokens, " << report.text << '\n';
    if (report.numExperts > 0) {
        out << "\nshare of the tokens that visit each expert, % (evenly: "
            << percentText(static_cast<double>(report.activeExperts) /
                           static_cast<double>(report.numExperts))
            << "; least " << percentText(report.leastExpertShare()) << ")\n";
        printShares(out, report, &RoutingLayer::expertShares, "expert");
    }
    if (widest(report, &RoutingLayer::sinkShares) > 0) {
        out << "\nmean share of the attention that goes to the sink, % (mean "
            << percentText(report.meanSinkShare()) << ")\n";
        printShares(out, report, &RoutingLayer::sinkShares, "head");
    }
}

void runRouting(RoutingArguments arguments, const CliContext& context)
{
    const auto checkpoint = openFor(arguments.common);
    std::vector<TokenId> ids = labIds(arguments.common, arguments.text, *checkpoint);
    if (arguments.text.length == 0)
        ids.resize(std::min(ids.size(), static_cast<std::size_t>(kUsualTokens)));
    const auto decoder = buildDecoder(arguments.common, context, checkpoint);
    warnBeyondPositions(context, *decoder, static_cast<std::int64_t>(ids.size()));
    RoutingReport report = measureRouting(*decoder, ids, context.stop);
    report.text = textName(arguments.text);
    std::optional<RunRecord> noRecord;
    finishLabRun(arguments.common, context, *decoder, noRecord, routingJson(report),
                 [&report](std::ostream& out) { printReport(out, report); });
}

} // namespace

void addRoutingCommand(CLI::App& app, CliContext& context)
{
    auto arguments = std::make_shared<RoutingArguments>();
    CLI::App* command = app.add_subcommand(
        "routing", "Which experts a text visits, and how much attention the sinks take");
    addCommonOptions(*command, arguments->common, ModelArgument::Required);
    addLabTextOptions(*command, arguments->text);
    command->get_option("--length")
        ->description(
            "tokens from the start of the text (default: 2,048, or all where there are fewer)");
    command->footer("With --json, kvscope --render RESULT.json PICTURE.svg draws it.");
    command->callback([arguments, &context] { runRouting(*arguments, context); });
}

} // namespace kvscope
