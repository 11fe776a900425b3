#include "engine/checkpoint/architectures/gguf_config.h"

#include "engine/checkpoint/architectures/layer_list.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>

namespace kvscope {
namespace {

std::int64_t readHeadDim(const GgufSection& section, std::int64_t width, std::int64_t numHeads)
{
    std::int64_t headDim = 0;
    if (const auto stated = section.count("attention.key_length"))
        headDim = *stated;
    else if (numHeads > 0 && width % numHeads == 0)
        headDim = width / numHeads;
    else
        section.fail("embedding_length", std::to_string(width) + " is not a multiple of the " +
                                             std::to_string(numHeads) + " heads");
    const auto values = section.count("attention.value_length").value_or(headDim);
    if (values != headDim)
        section.fail("attention.value_length", "is " + std::to_string(values) + ", the head size " +
                                                   std::to_string(headDim) + " was expected");
    return headDim;
}

/// The embedding's rows say it; vocab_size, where there is one, must agree.
std::int64_t readVocabularySize(const GgufSection& section)
{
    if (const auto stated = section.count("vocab_size"))
        return *stated;
    const TensorInfo* embedding = section.file().findTensor("token_embd.weight");
    if (embedding == nullptr || embedding->shape.size() != 2)
        failIn(section.file().name(), "the metadata has no " + section.key("vocab_size") +
                                          ", and there is no token_embd.weight");
    return embedding->shape.front();
}

std::optional<MoEConfig> readExperts(const GgufSection& section)
{
    const std::int64_t count = section.count("expert_count").value_or(0);
    if (count == 0)
        return std::nullopt;
    MoEConfig experts;
    experts.numExperts = count;
    experts.numActive = section.requireCount("expert_used_count");
    experts.expertDim = section.count("expert_feed_forward_length").value_or(0);
    experts.numShared = section.count("expert_shared_feed_forward_length") ? 1 : 0;
    experts.normalisesWeights = section.flag("expert_weights_norm").value_or(true);
    experts.sharedDim = section.count("expert_shared_feed_forward_length").value_or(0);
    return experts;
}

void refuseUnsupported(const GgufSection& section)
{
    if (section.number("attention.clamp_kqv").value_or(0.0) != 0.0)
        section.fail("attention.clamp_kqv", "is set, which is not read by this version");
    if (!section.flag("attention.causal").value_or(true))
        section.fail("attention.causal", "is false; kvscope runs causal models");
}

/// Whether some layer has a tensor of that name.
bool hasInLayers(const GgufFile& file, std::string_view name)
{
    return file.findTensor("blk.0." + std::string(name)) != nullptr;
}

} // namespace

GgufSection::GgufSection(const GgufFile& file)
    : m_file(file)
    , m_prefix(*file.text("general.architecture") + ".")
{
}

std::optional<std::int64_t> GgufSection::count(std::string_view name) const
{
    return m_file.count(key(name));
}

std::optional<double> GgufSection::number(std::string_view name) const
{
    return m_file.number(key(name));
}

std::optional<bool> GgufSection::flag(std::string_view name) const
{
    return m_file.flag(key(name));
}

const std::string* GgufSection::text(std::string_view name) const
{
    return m_file.text(key(name));
}

std::int64_t GgufSection::requireCount(std::string_view name) const
{
    if (const auto value = count(name))
        return *value;
    failIn(m_file.name(), "the metadata has no " + key(name));
}

double GgufSection::requireNumber(std::string_view name) const
{
    if (const auto value = number(name))
        return *value;
    failIn(m_file.name(), "the metadata has no " + key(name));
}

std::optional<std::int64_t> GgufSection::uniformCount(std::string_view name) const
{
    const GgufValue* value = m_file.find(key(name));
    if (value == nullptr)
        return std::nullopt;
    const auto* list = std::get_if<GgufArray>(value);
    if (list == nullptr)
        return count(name);
    const auto same = [&](const auto& numbers) -> std::int64_t {
        if (numbers.empty() || std::any_of(numbers.begin(), numbers.end(),
                                           [&](auto n) { return n != numbers.front(); }))
            fail(name, "differs from layer to layer, which is not read by this version");
        return static_cast<std::int64_t>(numbers.front());
    };
    if (const auto* plain = std::get_if<std::vector<std::uint64_t>>(list))
        return same(*plain);
    if (const auto* withSign = std::get_if<std::vector<std::int64_t>>(list))
        return same(*withSign);
    fail(name, "is not a list of whole numbers");
}

void GgufSection::fail(std::string_view name, const std::string& why) const
{
    failIn(m_file.name(), key(name) + " " + why);
}

ModelConfig readCommonGguf(const GgufSection& section, std::string_view epsilonKey)
{
    refuseUnsupported(section);
    const GgufFile& file = section.file();
    ModelConfig model;
    model.vocabularySize = readVocabularySize(section);
    model.modelWidth = section.requireCount("embedding_length");
    model.numHeads = section.uniformCount("attention.head_count").value_or(0);
    model.numKvHeads = section.uniformCount("attention.head_count_kv").value_or(model.numHeads);
    model.headDim = readHeadDim(section, model.modelWidth, model.numHeads);
    model.normEpsilon = section.requireNumber(epsilonKey);
    model.hasTiedHead = file.findTensor("output.weight") == nullptr;
    model.experts = readExperts(section);
    // Files of models with experts alone may leave the dense size out.
    model.feedForwardDim = section.uniformCount("feed_forward_length")
                               .value_or(model.experts ? model.experts->expertDim : 0);
    model.hasQueryKeyValueBias =
        hasInLayers(file, "attn_q.bias") || hasInLayers(file, "attn_qkv.bias");
    model.hasOutputBias = hasInLayers(file, "attn_output.bias");
    model.hasFeedForwardBias =
        hasInLayers(file, "ffn_down.bias") || hasInLayers(file, "ffn_down_exps.bias");
    if (hasInLayers(file, "attn_q_norm.weight"))
        model.queryKeyNorm = QueryKeyNorm::Head;

    model.layers = layersOf(section, "block_count", section.requireCount("block_count"));
    for (LayerConfig& layer : model.layers)
        layer.hasExperts = model.experts.has_value();

    model.rotary = readGgufRotary(section, model.headDim);
    model.extendedPositions = section.count("context_length").value_or(0);
    model.trainedPositions = std::min(
        model.extendedPositions,
        section.count("rope.scaling.original_context_length").value_or(model.extendedPositions));
    return model;
}

void readGgufWindow(const GgufSection& section, ModelConfig& model)
{
    readGgufWindows(
        section, [](std::int64_t) { return true; }, model);
}

void readGgufWindows(const GgufSection& section,
                     const std::function<bool(std::int64_t layer)>& isWindowed, ModelConfig& model,
                     std::int64_t otherwise)
{
    const std::int64_t window = section.count("attention.sliding_window").value_or(otherwise);
    if (window == 0)
        return;
    for (std::size_t i = 0; i < model.layers.size(); ++i)
        if (isWindowed(static_cast<std::int64_t>(i))) {
            model.layers[i].kind = LayerKind::Windowed;
            model.layers[i].window = window;
        }
}

} // namespace kvscope
