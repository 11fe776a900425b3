#include "engine/lab/routing_json.h"

#include "engine/base/errors.h"
#include "engine/lab/strict_fields.h"

#include <string>

namespace kvscope {
namespace {

// As many as the checkpoint floor lets a model have.
constexpr std::size_t kMostLayers = 1024;
constexpr std::size_t kMostExperts = 512;
constexpr std::size_t kMostHeads = 4096;
constexpr std::size_t kMostText = 2000;

RecordJson layerJson(const RoutingLayer& layer)
{
    return {{"layer", layer.layer},
            {"window", layer.window > 0 ? RecordJson(layer.window) : RecordJson()},
            {"expert_shares", layer.expertShares},
            {"sink_shares", layer.sinkShares}};
}

std::vector<double> sharesFrom(const RecordJson& json, const char* key, std::size_t mostItems)
{
    std::vector<double> shares;
    for (const RecordJson& item : strictList(json, key, mostItems)) {
        shares.push_back(strictNumber(item));
        requireField(shares.back() >= 0.0 && shares.back() <= 1.0,
                     std::string(key) + " has a share that is not between 0 and 1");
    }
    return shares;
}

RoutingLayer layerFrom(const RecordJson& json)
{
    RoutingLayer layer;
    layer.layer = strictCount(json, "layer");
    layer.window = strictAt(json, "window").is_null() ? 0 : strictCount(json, "window");
    layer.expertShares = sharesFrom(json, "expert_shares", kMostExperts);
    layer.sinkShares = sharesFrom(json, "sink_shares", kMostHeads);
    return layer;
}

} // namespace

RecordJson routingJson(const RoutingReport& report)
{
    RecordJson json = {{"schema", kRoutingSchema},
                       {"version", kRoutingVersion},
                       {"tokens", report.tokens},
                       {"text", report.text},
                       {"experts", report.numExperts},
                       {"active_experts", report.activeExperts},
                       {"least_expert_share", report.leastExpertShare()},
                       {"mean_sink_share", report.meanSinkShare()},
                       {"layers", RecordJson::array()}};
    for (const RoutingLayer& layer : report.layers)
        json["layers"].push_back(layerJson(layer));
    return json;
}

RoutingReport routingFrom(const RecordJson& json)
{
    requireField(json.is_object() && json.value("schema", RecordJson()) == kRoutingSchema,
                 "this is no routing of kvscope (its schema is another)");
    requireField(json.value("version", RecordJson()) == kRoutingVersion,
                 "the routing is of another version than this program reads");
    RoutingReport report;
    report.tokens = strictCount(json, "tokens");
    report.text = strictText(json, "text", kMostText);
    report.numExperts = strictCount(json, "experts");
    report.activeExperts = strictCount(json, "active_experts");
    for (const RecordJson& layer : strictList(json, "layers", kMostLayers))
        report.layers.push_back(layerFrom(layer));
    requireField(!report.layers.empty(), "the routing has no layers");
    return report;
}

} // namespace kvscope
