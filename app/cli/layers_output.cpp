#include "app/cli/layers_output.h"

#include "engine/base/units.h"
#include "engine/model/rotary_override.h"

#include <iomanip>

namespace kvscope {

void addModel(Json& json, const ModelConfig& config)
{
    const ModelConfig& c = config;
    json["name"] = c.name;
    json["family"] = c.architecture;
    json["parameters"] = {{"total", c.totalParameters()}, {"active", c.activeParameters()}};
    json["shape"] = {{"layers", c.numLayers()},        {"width", c.modelWidth},
                     {"query_heads", c.numHeads},      {"kv_heads", c.numKvHeads},
                     {"head_dim", c.headDim},          {"feed_forward", c.feedForwardDim},
                     {"vocabulary", c.vocabularySize}, {"tied_head", c.hasTiedHead}};
    json["experts"] = nullptr;
    if (c.experts)
        json["experts"] = {{"routed", c.experts->numExperts},
                           {"active", c.experts->numActive},
                           {"shared", c.experts->numShared}};
}

void addPositions(Json& json, const ModelConfig& config)
{
    json["trained_positions"] = config.trainedPositions;
    json["extended_positions"] = config.extendedPositions;
    json["rope"] = rotaryText(config);
}

Json cacheJson(const ModelConfig& config, std::int64_t elementBytes,
               const std::function<std::uint64_t(std::int64_t)>& bytesAt)
{
    return {{"bytes_per_element", elementBytes},
            {"windowed_layers", config.numLayers(LayerKind::Windowed)},
            {"global_layers", config.numLayers(LayerKind::Global)},
            {"bytes_at_full_length", bytesAt(elementBytes)},
            {"bytes_at_full_length_by_dtype",
             {{"float32", bytesAt(4)}, {"bfloat16", bytesAt(2)}, {"float16", bytesAt(2)}}}};
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

} // namespace kvscope
