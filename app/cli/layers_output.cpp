#include "app/cli/layers_output.h"

#include "engine/base/units.h"

#include <iomanip>

namespace kvscope {

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
