// Writes a GPT-OSS-Lite checkpoint of random weights: a YAML configuration and
// model_step_0.safetensors. For tests and measurements that need a real shape and no training.

#include "engine/base/errors.h"
#include "engine/checkpoint/architectures/gpt_oss_lite.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "engine/checkpoint/yaml_config.h"

#include <bit>
#include <charconv>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace kvscope;

constexpr std::string_view kTiny = R"(model:
  vocab_size: 512
  d_model: 64
  n_layers: 4
  n_heads: 4
  n_kv_heads: 2
  head_dim: 16
  ffn_dim: 96
  n_routed_experts: 4
  n_activated_experts: 2
  n_shared_experts: 1
  window_size: 8
  sink_bias: true
  rope_theta: 10000
  yarn_scale_factor: 4
  yarn_original_max_seq_len: 64
  yarn_target_seq_len: 256
  yarn_beta_fast: 16
  yarn_beta_slow: 1
  yarn_mscale: true
  yarn_prune_rope_global: true
  max_seq_len: 64
  weight_tying: true
  rms_norm_eps: 1.0e-05
)";

// The shape of spec/FACTS.md; the ramp's ends are those that give pairs 3 to 6.
constexpr std::string_view k502M = R"(model:
  vocab_size: 128000
  d_model: 768
  n_layers: 12
  n_heads: 8
  n_kv_heads: 4
  head_dim: 96
  ffn_dim: 1536
  n_routed_experts: 8
  n_activated_experts: 2
  n_shared_experts: 1
  window_size: 128
  sink_bias: true
  rope_theta: 100000
  yarn_scale_factor: 32
  yarn_original_max_seq_len: 4096
  yarn_target_seq_len: 131072
  yarn_beta_fast: 32
  yarn_beta_slow: 1
  yarn_mscale: true
  yarn_prune_rope_global: true
  max_seq_len: 4096
  weight_tying: true
  rms_norm_eps: 1.0e-05
)";

struct Options
{
    std::string_view yaml;
    std::filesystem::path folder;
    StorageType type = StorageType::BF16;
    std::uint64_t seed = 1;
};

/// A tensor and the numbers it is filled with: mean + deviation * normal.
struct Filling
{
    SafetensorsWriter::Tensor tensor;
    float mean = 0.0F;
    float deviation = 0.0F;
};

/// Nearly normal numbers, quickly: the sum of four 16-bit uniform ones (Irwin-Hall) out of one
/// xorshift64* draw. Tails end at 3.46 deviations, which weights can do without.
class NormalSource
{
public:
    explicit NormalSource(std::uint64_t seed)
        : m_state(seed * 0x9e3779b97f4a7c15ULL + 1)
    {
    }
    float next()
    {
        m_state ^= m_state >> 12;
        m_state ^= m_state << 25;
        m_state ^= m_state >> 27;
        const std::uint64_t bits = m_state * 0x2545f4914f6cdd1dULL;
        const auto sum = static_cast<std::int64_t>((bits & 0xffff) + (bits >> 16 & 0xffff) +
                                                   (bits >> 32 & 0xffff) + (bits >> 48));
        constexpr float kScale = 1.7320508F / 65536.0F; // variance of the sum is 4 / 12 * 65536^2
        return static_cast<float>(sum - 2 * 65535) * kScale;
    }

private:
    std::uint64_t m_state;
};

/// Every tensor with a scale that keeps activations near 1, and logits near a deviation of 1.5.
std::vector<Filling> listTensors(const ModelConfig& config, StorageType type)
{
    std::vector<Filling> all;
    const auto matrix = [&](const std::string& name, std::int64_t rows, std::int64_t cols,
                            float gain) {
        all.push_back(
            {{name, type, {rows, cols}}, 0.0F, gain / std::sqrt(static_cast<float>(cols))});
    };
    const auto expert = [&](const std::string& prefix) {
        matrix(prefix + "w1.weight", config.feedForwardDim, config.modelWidth, 1.0F);
        matrix(prefix + "w2.weight", config.modelWidth, config.feedForwardDim, 1.0F);
        matrix(prefix + "w3.weight", config.feedForwardDim, config.modelWidth, 1.0F);
    };
    const std::int64_t width = config.modelWidth;
    const std::int64_t queryWidth = config.numHeads * config.headDim;
    matrix("embed.weight", config.vocabularySize, width, 1.5F);
    for (std::int64_t i = 0; i < config.numLayers(); ++i) {
        const std::string block = "blocks." + std::to_string(i) + ".";
        all.push_back({{block + "norm1.weight", type, {width}}, 1.0F, 0.0F});
        matrix(block + "attn.q_proj.weight", queryWidth, width, 1.0F);
        matrix(block + "attn.kv_proj.weight", 2 * config.numKvHeads * config.headDim, width, 1.0F);
        matrix(block + "attn.o_proj.weight", width, queryWidth, 1.0F);
        all.push_back({{block + "attn.sink_bias", type, {config.numHeads}}, 0.0F, 0.5F});
        all.push_back({{block + "norm2.weight", type, {width}}, 1.0F, 0.0F});
        matrix(block + "moe.router.gate.weight", config.experts->numExperts, width, 1.0F);
        for (std::int64_t e = 0; e < config.experts->numExperts; ++e)
            expert(block + "moe.experts." + std::to_string(e) + ".");
        for (std::int64_t s = 0; s < config.experts->numShared; ++s)
            expert(block + "moe.shared_experts." + std::to_string(s) + ".");
    }
    all.push_back({{"norm.weight", type, {width}}, 1.0F, 0.0F});
    return all;
}

/// Rounds to nearest, ties to even; no weight here is a NaN.
std::uint16_t toBFloat16(float value)
{
    const auto bits = std::bit_cast<std::uint32_t>(value);
    return static_cast<std::uint16_t>((bits + 0x7fffU + (bits >> 16 & 1U)) >> 16);
}

template <typename Element, typename Convert>
void writeFilling(const Filling& filling, NormalSource& normal, SafetensorsWriter& writer,
                  Convert convert)
{
    constexpr std::int64_t kBlock = 1 << 18;
    std::int64_t left = 1;
    for (const std::int64_t size : filling.tensor.shape)
        left *= size;
    std::vector<Element> block;
    for (; left > 0; left -= static_cast<std::int64_t>(block.size())) {
        block.resize(static_cast<std::size_t>(std::min(left, kBlock)));
        for (Element& element : block)
            element = convert(filling.mean + filling.deviation * normal.next());
        writer.write(std::as_bytes(std::span(block)));
    }
}

void makeCheckpoint(const Options& options)
{
    std::filesystem::create_directories(options.folder);
    const auto yaml = options.folder / "config.yaml";
    std::ofstream(yaml) << options.yaml;
    const ModelConfig config = readGptOssLiteConfig(readYamlConfig(yaml));
    const auto fillings = listTensors(config, options.type);
    std::vector<SafetensorsWriter::Tensor> tensors;
    for (const Filling& filling : fillings)
        tensors.push_back(filling.tensor);
    SafetensorsWriter writer(options.folder / "model_step_0.safetensors", tensors);
    NormalSource normal(options.seed);
    for (const Filling& filling : fillings) {
        if (options.type == StorageType::BF16)
            writeFilling<std::uint16_t>(filling, normal, writer, toBFloat16);
        else
            writeFilling<float>(filling, normal, writer, [](float value) { return value; });
    }
    writer.finish();
    std::cout << summary(openCheckpoint(options.folder)->config) << '\n';
}

std::optional<Options> parseOptions(const std::vector<std::string_view>& words)
{
    if (words.size() < 2)
        return std::nullopt;
    Options options;
    if (words[0] != "tiny" && words[0] != "502m")
        return std::nullopt;
    options.yaml = words[0] == "tiny" ? kTiny : k502M;
    options.folder = words[1];
    for (std::size_t i = 2; i < words.size(); i += 2) {
        if (i + 1 == words.size())
            return std::nullopt;
        const std::string_view value = words[i + 1];
        if (words[i] == "--dtype" && (value == "bf16" || value == "f32"))
            options.type = value == "bf16" ? StorageType::BF16 : StorageType::F32;
        else if (words[i] != "--seed" ||
                 std::from_chars(value.data(), value.data() + value.size(), options.seed).ptr !=
                     value.data() + value.size())
            return std::nullopt;
    }
    return options;
}

} // namespace

int main(int argc, char** argv)
{
    const auto options = parseOptions({argv + 1, argv + argc});
    if (!options) {
        std::cerr << "usage: make_checkpoint tiny|502m OUT_DIR [--dtype bf16|f32] [--seed N]\n";
        return 2;
    }
    try {
        makeCheckpoint(*options);
    } catch (const std::exception& error) {
        std::cerr << error.what() << '\n';
        return 1;
    }
    return 0;
}
