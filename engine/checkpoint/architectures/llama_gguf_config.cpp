#include "engine/checkpoint/architectures/llama.h"
#include "engine/checkpoint/error_text.h"

#include <algorithm>
#include <cstring>

namespace kvscope {
namespace {

std::int64_t requireCount(const GgufFile& file, std::string_view key)
{
    if (const auto value = file.count(key))
        return *value;
    failIn(file.name(), "the metadata has no " + std::string(key));
}

/// Some converters write one number per layer; that is read where all are the same.
std::int64_t uniformCount(const GgufFile& file, std::string_view key, std::int64_t otherwise)
{
    const GgufValue* value = file.find(key);
    if (value == nullptr)
        return otherwise;
    const auto* list = std::get_if<GgufArray>(value);
    if (list == nullptr)
        return *file.count(key);
    const auto same = [&](const auto& numbers) -> std::int64_t {
        if (numbers.empty() || std::any_of(numbers.begin(), numbers.end(),
                                           [&](auto n) { return n != numbers.front(); }))
            failIn(file.name(), std::string(key) +
                                    " differs from layer to layer, which is not read by "
                                    "this version");
        return static_cast<std::int64_t>(numbers.front());
    };
    if (const auto* plain = std::get_if<std::vector<std::uint64_t>>(list))
        return same(*plain);
    if (const auto* withSign = std::get_if<std::vector<std::int64_t>>(list))
        return same(*withSign);
    failIn(file.name(), std::string(key) + " is not a list of whole numbers");
}

void refuseUnsupported(const GgufFile& file)
{
    if (file.count("llama.expert_count").value_or(0) != 0)
        failIn(file.name(),
               "llama.expert_count is not 0; llama models with experts are not read by this "
               "version");
    for (const char* key :
         {"llama.attention.scale", "llama.attention.clamp_kqv", "llama.logit_scale"})
        if (file.number(key).value_or(0.0) != 0.0)
            failIn(file.name(), std::string(key) + " is set, which is not read by this version");
    if (!file.flag("llama.attention.causal").value_or(true))
        failIn(file.name(), "llama.attention.causal is false; kvscope runs causal models");
}

void readScaling(const GgufFile& file, RotaryConfig& rotary)
{
    const std::string* type = file.text("llama.rope.scaling.type");
    if (type != nullptr && *type != "none" && *type != "linear")
        failIn(file.name(), "llama.rope.scaling.type is " + printable(*type) +
                                "; none and linear are read by this version");
    // Files of before 2023-11 have the factor alone.
    const double factor = file.number("llama.rope.scaling.factor")
                              .value_or(file.number("llama.rope.scale_linear").value_or(1.0));
    const bool isLinear = type == nullptr ? factor != 0.0 && factor != 1.0 : *type == "linear";
    if (!isLinear)
        return;
    rotary.scheme = RotaryScheme::Linear;
    rotary.scale = factor;
}

std::vector<float> readDivisors(const GgufFile& file)
{
    const TensorInfo* tensor = file.findTensor("rope_freqs.weight");
    if (tensor == nullptr)
        return {};
    if (tensor->type != StorageType::F32 || tensor->shape.size() != 1)
        failIn(file.name(), "rope_freqs.weight is " + std::string(storageName(tensor->type)) + " " +
                                shapeText(tensor->shape) +
                                "; one F32 number per rotary pair was expected");
    std::vector<float> divisors(tensor->data.size() / sizeof(float));
    std::memcpy(divisors.data(), tensor->data.data(), tensor->data.size());
    return divisors;
}

std::int64_t readHeadDim(const GgufFile& file, std::int64_t width, std::int64_t numHeads)
{
    std::int64_t headDim = 0;
    if (const auto stated = file.count("llama.attention.key_length"))
        headDim = *stated;
    else if (numHeads > 0 && width % numHeads == 0)
        headDim = width / numHeads;
    else
        failIn(file.name(), "llama.embedding_length " + std::to_string(width) +
                                " is not a multiple of the " + std::to_string(numHeads) + " heads");
    for (const char* key : {"llama.attention.value_length", "llama.rope.dimension_count"})
        if (const auto stated = file.count(key).value_or(headDim); stated != headDim)
            failIn(file.name(), std::string(key) + " is " + std::to_string(stated) +
                                    ", the head size " + std::to_string(headDim) + " was expected");
    return headDim;
}

/// The embedding's rows say it; llama.vocab_size, where there is one, must agree.
std::int64_t readVocabularySize(const GgufFile& file)
{
    const TensorInfo* embedding = file.findTensor("token_embd.weight");
    if (const auto stated = file.count("llama.vocab_size"))
        return *stated;
    if (embedding == nullptr || embedding->shape.size() != 2)
        failIn(file.name(),
               "the metadata has no llama.vocab_size, and there is no token_embd.weight");
    return embedding->shape.front();
}

} // namespace

ModelConfig readLlamaConfig(const GgufFile& file)
{
    refuseUnsupported(file);
    ModelConfig model;
    model.architecture = "llama";
    model.vocabularySize = readVocabularySize(file);
    model.modelWidth = requireCount(file, "llama.embedding_length");
    model.feedForwardDim = uniformCount(file, "llama.feed_forward_length", 0);
    model.numHeads = uniformCount(file, "llama.attention.head_count", 0);
    model.numKvHeads = uniformCount(file, "llama.attention.head_count_kv", model.numHeads);
    model.headDim = readHeadDim(file, model.modelWidth, model.numHeads);
    const auto epsilon = file.number("llama.attention.layer_norm_rms_epsilon");
    if (!epsilon)
        failIn(file.name(), "the metadata has no llama.attention.layer_norm_rms_epsilon");
    model.normEpsilon = *epsilon;
    model.hasTiedHead = file.findTensor("output.weight") == nullptr;

    const std::int64_t numLayers = requireCount(file, "llama.block_count");
    if (numLayers < 1 || numLayers > 1024) // before anything is allocated on the file's word
        failIn(file.name(),
               "llama.block_count is " + std::to_string(numLayers) + "; 1 to 1024 was expected");
    model.layers.resize(static_cast<std::size_t>(numLayers));

    model.rotary.pairing = RotaryPairing::Adjacent;
    model.rotary.base = file.number("llama.rope.freq_base").value_or(10000.0);
    readScaling(file, model.rotary);
    model.rotary.frequencyDivisors = readDivisors(file);
    model.extendedPositions = file.count("llama.context_length").value_or(0);
    model.trainedPositions = std::min(
        model.extendedPositions,
        file.count("llama.rope.scaling.original_context_length").value_or(model.extendedPositions));
    return model;
}

} // namespace kvscope
