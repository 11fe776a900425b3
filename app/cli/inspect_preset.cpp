#include "app/cli/inspect_preset.h"

#include "app/cli/layers_output.h"
#include "engine/base/units.h"
#include "engine/lab/memory_costs.h"
#include "engine/model/rotary_override.h"

namespace kvscope {
namespace {

Json presetJson(const CommonOptions& options, const Checkpoint& preset, const CacheNumbers& numbers)
{
    const ModelConfig& c = preset.config;
    const auto atFullLength = [&c](const CacheNumbers& of) {
        return kvBytes(c, c.extendedPositions, of);
    };
    Json json = {{"path", options.model}, {"format", preset.format}};
    addModel(json, c);
    addPositions(json, c);
    json["cache"] =
        cacheJson(c, numbers, [&](const CacheNumbers& of) { return atFullLength(of).total(); });
    json["cache"]["bytes_at_full_length_all_global"] = atFullLength(numbers).everyLayerFull;
    json["layers"] = layersJson(c, numbers);
    return json;
}

void printPreset(std::ostream& out, const Checkpoint& preset, const CacheNumbers& numbers)
{
    const ModelConfig& c = preset.config;
    const KVBytes cache = kvBytes(c, c.extendedPositions, numbers);
    out << "name        " << c.name << "\nfamily      " << c.architecture << ", " << preset.format
        << ", no weights\nparameters  " << formatCount(c.totalParameters()) << ", "
        << formatCount(c.activeParameters()) << " active per token\nshape       " << summary(c)
        << "\npositions   " << formatCount(c.trainedPositions) << " trained";
    if (c.extendedPositions > c.trainedPositions)
        out << ", extended to " << formatCount(c.extendedPositions);
    out << "\nrotation    " << rotaryText(c) << "\ncache       "
        << formatCount(c.numLayers(LayerKind::Windowed)) << " windowed and "
        << formatCount(c.numLayers(LayerKind::Global)) << " global layers, "
        << formatBytes(cache.total()) << " at " << formatCount(c.extendedPositions)
        << " positions (arithmetic)";
    if (cache.total() < cache.everyLayerFull)
        out << ", " << formatBytes(cache.everyLayerFull) << " with every layer at full length";
    out << "\n\n";
    printLayers(out, c, numbers);
}

} // namespace

void inspectPreset(const CommonOptions& options, const CliContext& context)
{
    const auto preset = openOrPreset(options);
    const CacheNumbers numbers = cacheNumbersFor(options, *preset);
    if (options.isJson)
        context.out << jsonLine(presetJson(options, *preset, numbers));
    else
        printPreset(context.out, *preset, numbers);
}

} // namespace kvscope
