#include "engine/checkpoint/architectures/qwen.h"

#include "engine/checkpoint/architectures/hugging_face_config.h"

#include <algorithm>

namespace kvscope {

void readQwenWindows(const ConfigObject& config, ModelConfig& model)
{
    std::optional<std::int64_t> window;
    if (config.flag("use_sliding_window").value_or(false))
        window = readWindow(config, 4096);
    const std::int64_t first = config.wholeNumber("max_window_layers").value_or(28);
    readLayerKinds(
        config, window, [first](std::int64_t layer) { return layer >= first; }, model);
}

void readQwenExperts(const ConfigObject& config, MoEConfig experts, ModelConfig& model)
{
    experts.numActive = config.wholeNumber("num_experts_per_tok").value_or(experts.numActive);
    experts.expertDim = config.wholeNumber("moe_intermediate_size").value_or(experts.expertDim);
    experts.normalisesWeights = config.flag("norm_topk_prob").value_or(false);
    const std::int64_t step = config.wholeNumber("decoder_sparse_step").value_or(1);
    if (step < 1)
        config.fail("decoder_sparse_step", "is not above 0");
    const auto denseLayers = config.numbers("mlp_only_layers").value_or(std::vector<double>());
    model.experts = experts;
    for (std::size_t i = 0; i < model.layers.size(); ++i) {
        const auto index = static_cast<std::int64_t>(i);
        const bool isDense = std::find(denseLayers.begin(), denseLayers.end(),
                                       static_cast<double>(index)) != denseLayers.end();
        model.layers[i].hasExperts = !isDense && (index + 1) % step == 0;
    }
}

} // namespace kvscope
