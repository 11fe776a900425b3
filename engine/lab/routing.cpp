#include "engine/lab/routing.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/generate/prefill.h"
#include "engine/lab/sink_probe.h"

#include <ATen/ops/bincount.h>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

void requireMeasurable(const ModelConfig& config, std::int64_t tokens)
{
    const bool hasSinks = std::any_of(config.layers.begin(), config.layers.end(),
                                      [](const LayerConfig& layer) { return layer.hasSink; });
    if (!config.experts && !hasSinks)
        throw ArgumentError(config.architecture +
                            " has neither experts nor sinks, so there is no routing to show");
    if (hasSinks && (config.norm != NormKind::RMS || config.queryKeyNorm != QueryKeyNorm::None))
        throw ArgumentError("the sinks of " + config.architecture + " cannot be measured");
    if (tokens < 1 || tokens > kMostRoutingTokens)
        throw ArgumentError("routing is measured on 1 to " + formatCount(kMostRoutingTokens) +
                            " tokens, not on " + formatCount(tokens));
}

/// \param experts  [T, topK] int64 \returns by expert, the share of the tokens that visited it
std::vector<double> visitShares(const at::Tensor& experts, std::int64_t numExperts)
{
    const at::Tensor counts = at::bincount(experts.flatten(), {}, numExperts);
    const auto* first = counts.const_data_ptr<std::int64_t>();
    std::vector<double> shares;
    for (std::int64_t e = 0; e < numExperts; ++e)
        shares.push_back(static_cast<double>(first[e]) / static_cast<double>(experts.size(0)));
    return shares;
}

RoutingReport emptyReport(const ModelConfig& config, std::int64_t tokens)
{
    RoutingReport report;
    report.tokens = tokens;
    if (config.experts) {
        report.numExperts = config.experts->numExperts;
        report.activeExperts = config.experts->numActive;
    }
    for (std::int64_t i = 0; i < config.numLayers(); ++i) {
        const LayerConfig& layer = config.layers[static_cast<std::size_t>(i)];
        report.layers.push_back({i, layer.kind == LayerKind::Windowed ? layer.window : 0, {}, {}});
    }
    return report;
}

} // namespace

RoutingReport measureRouting(Decoder& decoder, const std::vector<TokenId>& ids,
                             std::stop_token stop)
{
    const ModelConfig& config = decoder.config();
    const auto tokens = static_cast<std::int64_t>(ids.size());
    requireMeasurable(config, tokens);
    RoutingReport report = emptyReport(config, tokens);
    const SinkProbe probe(decoder);
    ForwardHooks hooks;
    hooks.afterRouting = [&](std::int64_t layer, const at::Tensor& experts) {
        report.layers[static_cast<std::size_t>(layer)].expertShares =
            visitShares(experts.cpu(), report.numExperts);
    };
    hooks.afterLayer = [&](std::int64_t layer, const at::Tensor& residual) {
        const auto next = static_cast<std::size_t>(layer + 1);
        if (next < report.layers.size() && config.layers[next].hasSink)
            report.layers[next].sinkShares = probe.shares(layer + 1, residual);
    };
    ForwardOptions options;
    options.logits = LogitPositions::None;
    options.plannedLength = tokens;
    options.hooks = &hooks;
    options.stop = std::move(stop);
    decoder.forward(idsTensor(ids.data(), tokens), nullptr, options);
    return report;
}

} // namespace kvscope
