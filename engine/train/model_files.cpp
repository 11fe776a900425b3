#include "engine/train/model_files.h"

#include "engine/base/errors.h"
#include "engine/base/mapped_file.h"
#include "engine/train/vocabulary.h"
#include "engine/train/whole_file.h"

#include <array>
#include <charconv>
#include <string_view>
#include <vector>

namespace kvscope {
namespace {

/// `  key: value` lines below `model:`.
class YamlText
{
public:
    void add(std::string_view key, std::int64_t value) { line(key, std::to_string(value)); }
    void add(std::string_view key, bool value) { line(key, value ? "true" : "false"); }
    void add(std::string_view key, const char* value) { line(key, value); }
    void add(std::string_view key, double value)
    {
        std::array<char, 32> digits{}; // the shortest that reads back as the same number
        const auto end = std::to_chars(digits.data(), digits.data() + digits.size(), value).ptr;
        line(key, std::string(digits.data(), end));
    }
    const std::string& text() const { return m_text; }

private:
    void line(std::string_view key, const std::string& value)
    {
        m_text.append("  ").append(key).append(": ").append(value).append("\n");
    }

    std::string m_text = "model:\n";
};

void require(bool canBeSaid, const char* what)
{
    if (!canBeSaid)
        throw ArgumentError(std::string("a GPT-OSS-Lite configuration cannot say ") + what);
}

bool prunesGlobal(const ModelConfig& config)
{
    return config.numLayers() > 1 && config.layers[1].identityPairs > 0;
}

void requireFamilyLayers(const ModelConfig& config)
{
    const LayerConfig& first = config.layers.front();
    const std::int64_t pruned = prunesGlobal(config) ? config.headDim / 4 : 0;
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
        const LayerConfig& layer = config.layers[i];
        const bool isEven = i % 2 == 0;
        require(layer.kind == (isEven ? LayerKind::Windowed : LayerKind::Global),
                "any order of layers but windowed and global in turn");
        require(!isEven || layer.window == first.window, "windows that differ");
        require(layer.hasSink == first.hasSink && layer.hasExperts,
                "that some layers have sinks or experts and others not");
        require(layer.identityPairs == (isEven ? 0 : pruned), "which pairs are unrotated");
    }
}

const GptOssLiteRotary& requireFamily(const ModelConfig& config)
{
    require(config.architecture == "gpt-oss-lite", "a model of another family");
    require(!config.layers.empty() && config.experts.has_value(), "a model without experts");
    require(config.expertDim() == config.feedForwardDim &&
                config.sharedExpertDim() == config.feedForwardDim,
            "experts of several sizes");
    require(config.rotary.pairing == RotaryPairing::Adjacent && !config.windowedRotary,
            "a rotation but that of adjacent pairs");
    requireFamilyLayers(config);
    const auto* yarn = std::get_if<GptOssLiteRotary>(&config.rotary.scheme);
    require(yarn != nullptr, "a rotary scheme but its own YaRN");
    return *yarn;
}

void addShape(YamlText& yaml, const ModelConfig& config)
{
    yaml.add("vocab_size", config.vocabularySize);
    yaml.add("d_model", config.modelWidth);
    yaml.add("n_layers", config.numLayers());
    yaml.add("n_heads", config.numHeads);
    yaml.add("n_kv_heads", config.numKvHeads);
    yaml.add("head_dim", config.headDim);
    yaml.add("ffn_dim", config.feedForwardDim);
    yaml.add("n_routed_experts", config.experts->numExperts);
    yaml.add("n_activated_experts", config.experts->numActive);
    yaml.add("n_shared_experts", config.experts->numShared);
    yaml.add("window_size", config.layers.front().window);
    yaml.add("sink_bias", config.layers.front().hasSink);
}

void addRotary(YamlText& yaml, const ModelConfig& config, const GptOssLiteRotary& yarn)
{
    yaml.add("rope_theta", config.rotary.base);
    yaml.add("yarn_scale_factor", yarn.factor);
    yaml.add("yarn_original_max_seq_len", yarn.originalPositions);
    yaml.add("yarn_target_seq_len", config.extendedPositions);
    yaml.add("yarn_beta_fast", yarn.betaFast);
    yaml.add("yarn_beta_slow", yarn.betaSlow);
    yaml.add("yarn_mscale", yarn.hasMscale);
    yaml.add("yarn_prune_rope_global", prunesGlobal(config));
    yaml.add("max_seq_len", config.trainedPositions);
    yaml.add("eval_max_seq_len", config.extendedPositions);
}

YamlText yamlOf(const ModelConfig& config, SavedType type)
{
    const GptOssLiteRotary& yarn = requireFamily(config);
    YamlText yaml;
    addShape(yaml, config);
    addRotary(yaml, config, yarn);
    yaml.add("dtype", type == SavedType::BFloat16 ? "bf16" : "fp32");
    yaml.add("weight_tying", config.hasTiedHead);
    yaml.add("rms_norm_eps", config.normEpsilon);
    return yaml;
}

void copyFile(const std::filesystem::path& from, const std::filesystem::path& to)
{
    std::error_code error;
    if (std::filesystem::equivalent(from, to, error) && !error)
        return;
    const MappedFile file(from);
    writeWholeFile(to, {reinterpret_cast<const char*>(file.bytes().data()), file.bytes().size()});
}

std::vector<NamedTensor> tensorsOf(const TrainingParameters& parameters, SavedType type)
{
    const at::ScalarType stored = type == SavedType::BFloat16 ? at::kBFloat16 : at::kFloat;
    std::vector<NamedTensor> tensors;
    for (const TrainingParameter& parameter : parameters.all())
        tensors.push_back({parameter.name, parameter.value.detach().to(stored)});
    return tensors;
}

} // namespace

std::string checkpointYaml(const ModelConfig& config, SavedType type)
{
    return yamlOf(config, type).text();
}

void writeCheckpoint(const std::filesystem::path& folder, const ModelConfig& config,
                     const TrainingParameters& parameters, const CheckpointToWrite& what)
{
    if (what.step < 0)
        throw ArgumentError("a checkpoint of step " + std::to_string(what.step) +
                            " cannot be written; steps count from 0");
    YamlText yaml = yamlOf(config, what.type);
    if (!what.tokenizerModel.empty()) {
        copyFile(what.tokenizerModel, folder / "tokenizer.model");
        yaml.add("bos_token_id", kBeginPiece);
        yaml.add("eos_token_id", kEndPiece);
    }
    writeWholeFile(folder / "config.yaml", yaml.text());
    writeTensors(folder / ("model_step_" + std::to_string(what.step) + ".safetensors"),
                 tensorsOf(parameters, what.type));
}

} // namespace kvscope
