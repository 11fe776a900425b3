#include "app/cli/cli_context.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/model/rotary_override.h"
#include "engine/session/open_model.h"

#include <algorithm>
#include <iomanip>
#include <memory>
#include <sstream>

namespace kvscope {
namespace {

struct InspectOptions
{
    CommonOptions common;
    bool showsChecks = false;
};

/// Bytes of one cached element; inspecting builds no decoder, so this follows the file as Auto
/// does.
std::int64_t cacheElementBytes(const CommonOptions& options, const Checkpoint& checkpoint)
{
    const std::string& asked = options.cacheDtype != "auto" ? options.cacheDtype : options.dtype;
    if (asked == "auto")
        return checkpoint.storageSummary() == "F32" ? 4 : 2;
    return asked == "float32" ? 4 : 2;
}

/// One line about the tokenizer, whether or not it can be used.
std::string tokenizerText(const CommonOptions& options, const Checkpoint& checkpoint)
{
    try {
        const auto tokenizer = tokenizerFor(checkpoint, options.tokenizerFile);
        return tokenizer == nullptr ? "none" : tokenizer->description();
    } catch (const TokenizerError& error) {
        return std::string("not usable: ") + error.what();
    }
}

Json layersJson(const ModelConfig& config, std::int64_t elementBytes)
{
    Json layers = Json::array();
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
        const LayerConfig& layer = config.layers[i];
        const bool isWindowed = layer.kind == LayerKind::Windowed;
        layers.push_back({{"layer", i},
                          {"kind", isWindowed ? "windowed" : "global"},
                          {"cache", isWindowed ? "ring" : "growing"},
                          {"window", isWindowed ? Json(layer.window) : Json(nullptr)},
                          {"cache_bytes_per_token", config.cacheBytesPerToken(elementBytes)},
                          {"sink", layer.hasSink},
                          {"identity_rotary_pairs", layer.identityPairs}});
    }
    return layers;
}

/// Live cache bytes at a length: windowed layers stop growing at their window. Arithmetic.
std::int64_t cacheBytes(const ModelConfig& config, std::int64_t length, std::int64_t elementBytes)
{
    std::int64_t bytes = 0;
    for (const LayerConfig& layer : config.layers)
        bytes += config.cacheBytesPerToken(elementBytes) *
                 (layer.kind == LayerKind::Windowed ? std::min(length, layer.window) : length);
    return bytes;
}

Json inspectJson(const InspectOptions& options, const Checkpoint& checkpoint)
{
    const ModelConfig& c = checkpoint.config;
    const std::int64_t elementBytes = cacheElementBytes(options.common, checkpoint);
    Json json = {{"path", options.common.model},
                 {"format", checkpoint.format},
                 {"name", c.name},
                 {"family", c.architecture},
                 {"parameters", {{"total", c.totalParameters()}, {"active", c.activeParameters()}}},
                 {"shape",
                  {{"layers", c.numLayers()},
                   {"width", c.modelWidth},
                   {"query_heads", c.numHeads},
                   {"kv_heads", c.numKvHeads},
                   {"head_dim", c.headDim},
                   {"feed_forward", c.feedForwardDim},
                   {"vocabulary", c.vocabularySize},
                   {"tied_head", c.hasTiedHead}}},
                 {"experts", nullptr},
                 {"storage", checkpoint.storageSummary()},
                 {"weight_bytes", checkpoint.weightBytes()},
                 {"tokenizer", tokenizerText(options.common, checkpoint)},
                 {"trained_positions", c.trainedPositions},
                 {"extended_positions", c.extendedPositions},
                 {"rope", rotaryText(c)},
                 {"cache",
                  {{"bytes_per_element", elementBytes},
                   {"windowed_layers", c.numLayers(LayerKind::Windowed)},
                   {"global_layers", c.numLayers(LayerKind::Global)},
                   {"bytes_at_full_length", cacheBytes(c, c.extendedPositions, elementBytes)}}},
                 {"layers", layersJson(c, elementBytes)},
                 {"warnings", checkpoint.warnings}};
    if (c.experts)
        json["experts"] = {{"routed", c.experts->numExperts},
                           {"active", c.experts->numActive},
                           {"shared", c.experts->numShared}};
    if (options.showsChecks) {
        json["checks"] = Json::array();
        for (const CheckEntry& check : checkpoint.checks)
            json["checks"].push_back(check.what);
    }
    return json;
}

/// Layers that are alike, as ranges: "0, 2, 4 ... windowed 128".
void printLayers(std::ostream& out, const ModelConfig& config, std::int64_t elementBytes)
{
    out << "  layer  kind      cache    window  bytes/token  sink\n";
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
        const LayerConfig& layer = config.layers[i];
        const bool isWindowed = layer.kind == LayerKind::Windowed;
        out << "  " << std::setw(5) << i << "  " << std::left << std::setw(8)
            << (isWindowed ? "windowed" : "global") << "  " << std::setw(7)
            << (isWindowed ? "ring" : "growing") << std::right << "  " << std::setw(6)
            << (isWindowed ? formatCount(layer.window) : "-") << "  " << std::setw(11)
            << formatCount(config.cacheBytesPerToken(elementBytes)) << "  "
            << (layer.hasSink ? "yes" : "no") << '\n';
    }
}

void printInspection(std::ostream& out, const InspectOptions& options, const Checkpoint& checkpoint)
{
    const ModelConfig& c = checkpoint.config;
    const std::int64_t elementBytes = cacheElementBytes(options.common, checkpoint);
    out << "name        " << c.name << "\nfamily      " << c.architecture << ", "
        << checkpoint.format << "\nparameters  " << formatCount(c.totalParameters()) << ", "
        << formatCount(c.activeParameters()) << " active per token\nshape       " << summary(c)
        << "\nstorage     " << checkpoint.storageSummary() << ", "
        << formatBytes(checkpoint.weightBytes()) << "\ntokenizer   "
        << tokenizerText(options.common, checkpoint) << "\npositions   "
        << (c.trainedPositions > 0 ? formatCount(c.trainedPositions) + " trained" : "not stated");
    if (c.extendedPositions > c.trainedPositions)
        out << ", extended to " << formatCount(c.extendedPositions);
    out << "\nrotation    " << rotaryText(c) << "\ncache       "
        << formatCount(c.numLayers(LayerKind::Windowed)) << " windowed and "
        << formatCount(c.numLayers(LayerKind::Global)) << " global layers, "
        << formatBytes(static_cast<std::uint64_t>(cacheBytes(c, c.extendedPositions, elementBytes)))
        << " at " << formatCount(c.extendedPositions) << " positions (arithmetic)\n\n";
    printLayers(out, c, elementBytes);
    if (options.showsChecks)
        for (const CheckEntry& check : checkpoint.checks)
            out << "\n  passed: " << check.what;
    for (const std::string& warning : checkpoint.warnings)
        out << "\n  warning: " << warning;
    out << '\n';
}

} // namespace

void addInspectCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<InspectOptions>();
    CLI::App* command =
        app.add_subcommand("inspect", "What a checkpoint is, from its header alone");
    addCommonOptions(*command, options->common, ModelArgument::Required);
    command->add_flag("--checks", options->showsChecks, "list the checks made of the file");
    command->callback([options, &context] {
        const auto checkpoint = openFor(options->common);
        if (options->common.isJson) {
            context.out << jsonLine(inspectJson(*options, *checkpoint));
        } else {
            std::ostringstream report; // whole or not at all
            printInspection(report, *options, *checkpoint);
            context.out << report.str();
        }
    });
}

} // namespace kvscope
