#include "engine/model/ablation.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"

#include <algorithm>
#include <cmath>
#include <set>
#include <span>
#include <sstream>
#include <string_view>
#include <utility>
#include <vector>

namespace kvscope {
namespace {

constexpr std::string_view kWhat = "sinks and windows are used as they are stored";
constexpr double kLargestSink = 1e6;
constexpr std::int64_t kLargestWindow = std::int64_t{1} << 40;

/// The bytes of the sinks put in place, kept alive by whatever keeps the first file.
struct ReplacedSinks
{
    std::shared_ptr<const TensorFile> file;
    std::vector<float> values; ///< [H], for every layer
    TensorInfo tensor;
};

template <typename Has>
void requireLayers(const ModelConfig& config, const char* what, Has has)
{
    if (std::none_of(config.layers.begin(), config.layers.end(), has))
        throw ArgumentError(config.architecture + " " + what);
}

void replaceSinks(Checkpoint& checkpoint, double bias)
{
    requireLayers(checkpoint.config, "has no sinks, so no bias can take their place",
                  [](const LayerConfig& layer) { return layer.hasSink; });
    if (!(std::abs(bias) <= kLargestSink))
        throw ArgumentError("a sink bias must be a number from -1,000,000 to 1,000,000");
    if (checkpoint.files.empty())
        return; // a shape without weights
    auto sinks = std::make_shared<ReplacedSinks>();
    sinks->file = checkpoint.files.front();
    sinks->values.assign(static_cast<std::size_t>(checkpoint.config.numHeads),
                         static_cast<float>(bias));
    sinks->tensor = {"sinks put in place",
                     StorageType::F32,
                     {checkpoint.config.numHeads},
                     0,
                     std::as_bytes(std::span(sinks->values))};
    for (LayerTensors& layer : checkpoint.tensors.layers)
        if (layer.sink)
            layer.sink = {&sinks->tensor, 0, checkpoint.config.numHeads, 1};
    // Copies of the checkpoint share its files, so they keep the new sinks too.
    checkpoint.files.front() = std::shared_ptr<const TensorFile>(sinks, sinks->file.get());
}

/// \returns the windows there were, "64" or "64 and 128"
std::string replaceWindows(ModelConfig& config, std::int64_t window)
{
    const auto isWindowed = [](const LayerConfig& layer) {
        return layer.kind == LayerKind::Windowed;
    };
    requireLayers(config, "has no windowed layers, so there is no window to change", isWindowed);
    if (window < 1 || window > kLargestWindow)
        throw ArgumentError("a window must have 1 to 2^40 positions, not " +
                            std::to_string(window));
    std::set<std::int64_t> before;
    for (LayerConfig& layer : config.layers)
        if (isWindowed(layer))
            before.insert(std::exchange(layer.window, window));
    std::string text;
    for (const std::int64_t old : before)
        text += (text.empty() ? "" : " and ") + formatCount(old);
    return text;
}

} // namespace

std::shared_ptr<const Checkpoint> withAblations(std::shared_ptr<const Checkpoint> checkpoint,
                                                const Ablations& ablations)
{
    if (!ablations.any())
        return checkpoint;
    auto changed = std::make_shared<Checkpoint>(*checkpoint);
    std::ostringstream text;
    if (ablations.sinkBias) {
        replaceSinks(*changed, *ablations.sinkBias);
        text << "every sink " << *ablations.sinkBias;
    }
    if (ablations.window)
        text << (ablations.sinkBias ? ", " : "") << "windows of " << formatCount(*ablations.window)
             << " positions instead of " << replaceWindows(changed->config, *ablations.window);
    changed->checks.push_back({.section = CheckSection::Configuration,
                               .result = CheckResult::Warning,
                               .what = std::string(kWhat),
                               .found = text.str()});
    return changed;
}

std::string ablationText(const Checkpoint& checkpoint)
{
    std::string text;
    for (const CheckEntry& check : checkpoint.checks)
        if (check.what == kWhat)
            text += (text.empty() ? "" : ", ") + check.found;
    return text;
}

} // namespace kvscope
