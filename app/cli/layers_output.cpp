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

Json cacheJson(const ModelConfig& config, const CacheNumbers& numbers,
               const std::function<std::uint64_t(const CacheNumbers&)>& bytesAt)
{
    return {{"bytes_per_element", numbers.elementBytes},
            {"scale_bytes", numbers.scaleBytes},
            {"windowed_layers", config.numLayers(LayerKind::Windowed)},
            {"global_layers", config.numLayers(LayerKind::Global)},
            {"bytes_at_full_length", bytesAt(numbers)},
            {"bytes_at_full_length_by_dtype",
             {{"float32", bytesAt(4)},
              {"bfloat16", bytesAt(2)},
              {"float16", bytesAt(2)},
              {"int8", bytesAt(cacheNumbersOf("int8"))},
              {"fp8", bytesAt(cacheNumbersOf("fp8"))}}}};
}

Json layersJson(const ModelConfig& config, const CacheNumbers& numbers)
{
    Json layers = Json::array();
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
        const LayerConfig& layer = config.layers[i];
        const bool isWindowed = layer.kind == LayerKind::Windowed;
        layers.push_back({{"layer", i},
                          {"kind", isWindowed ? "windowed" : "global"},
                          {"cache", isWindowed ? "ring" : "growing"},
                          {"window", isWindowed ? Json(layer.window) : Json(nullptr)},
                          {"cache_bytes_per_token", config.cacheBytesPerToken(numbers)},
                          {"sink", layer.hasSink},
                          {"identity_rotary_pairs", layer.identityPairs}});
    }
    return layers;
}

void printLayers(std::ostream& out, const ModelConfig& config, const CacheNumbers& numbers)
{
    out << "  layer  kind      cache    window  bytes/token  sink\n";
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
        const LayerConfig& layer = config.layers[i];
        const bool isWindowed = layer.kind == LayerKind::Windowed;
        out << "  " << std::setw(5) << i << "  " << std::left << std::setw(8)
            << (isWindowed ? "windowed" : "global") << "  " << std::setw(7)
            << (isWindowed ? "ring" : "growing") << std::right << "  " << std::setw(6)
            << (isWindowed ? formatCount(layer.window) : "-") << "  " << std::setw(11)
            << formatCount(config.cacheBytesPerToken(numbers)) << "  "
            << (layer.hasSink ? "yes" : "no") << '\n';
    }
}

} // namespace kvscope
