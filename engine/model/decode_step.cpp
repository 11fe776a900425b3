#include "engine/model/decode_step.h"

#include "engine/kernels/attention/attention_cpu.h"
#include "engine/kernels/elementwise/elementwise_paths.h"
#include "engine/model/step_feed_forward.h"

#include <ATen/Parallel.h>
#include <ATen/ops/from_blob.h>

#include <array>
#include <exception>
#include <optional>
#include <vector>

namespace kvscope {
namespace {

std::vector<float> floats(std::int64_t count)
{
    return std::vector<float>(static_cast<std::size_t>(count));
}

struct StepLayer
{
    StepLinear query, key, value, output;
    StepFeedForward feedForward;
    // Of each layer its own: a ring reads what was staged when the chunk is committed.
    std::vector<float> k, v; ///< [Hkv * D]
    at::Tensor keys, values; ///< the same as [1, Hkv, 1, D]
};

/// What each member has of its own.
struct Own
{
    InputRow input;
    std::vector<float> normed; ///< [E]
    StepFeedForward::Own feedForward;
};

} // namespace

struct DecodeStep::Impl
{
    Impl(const ModelConfig& modelConfig, const DecoderWeights& decoderWeights,
         const StepSettings& settings);

    /// One member's part of the whole step.
    void takePart(Team& team, int member) noexcept;
    void reserve(Own& each) const;
    /// \returns false where the step has ended early
    bool attend(Team& team, int member, std::size_t layer);
    void storeHeads(const Team& team, std::size_t layer);
    void turnHeads(std::vector<float>& heads, const NormWeights& norm, std::size_t layer) const;
    void feedForward(Team& team, int member, std::size_t layer);
    void addToResidual(Team& team, int member, const NormWeights& postNorm);
    InputRow& normedInput(int member, const NormWeights& norm);
    void normalise(const float* row, const NormWeights& norm, float* out) const;

    const ModelConfig& config;
    const DecoderWeights& weights;
    const ElementwiseKernels& kernels;
    const StepSettings settings;
    std::vector<StepLayer> layers;
    WeightRows head;

    // Of the step at work.
    float* x = nullptr; ///< [E], the residual
    std::int64_t position = 0;
    std::span<const RotaryRows* const> rows;
    MixedKVCache* cache = nullptr;
    bool isCacheStreamed = false; ///< AttentionSettings::isStreamed
    float* logits = nullptr;
    const std::stop_token* stop = nullptr;

    // What all members see. Each writes its own rows or heads, or member 0 all, between meetings.
    std::vector<float> q; ///< [H * D]
    std::optional<DecodeAttention> attention;
    std::vector<float> states; ///< of attention
    std::vector<float> mixed;  ///< [H * D], what attention gives
    StepHidden hidden;
    std::vector<float> y;       ///< [E], what is to be added to the residual
    std::exception_ptr problem; ///< why the step ends early
    std::vector<Own> own;
};

DecodeStep::Impl::Impl(const ModelConfig& modelConfig, const DecoderWeights& decoderWeights,
                       const StepSettings& stepSettings)
    : config(modelConfig)
    , weights(decoderWeights)
    , kernels(elementwiseKernels(bestInstructionSet()))
    , settings(stepSettings)
    , head(decoderWeights.head, settings.precision, settings.streamsWeights())
    , q(floats(config.numHeads * config.headDim))
    , mixed(q)
    , y(floats(config.modelWidth))
{
    const std::array<std::int64_t, 4> shape{1, config.numKvHeads, 1, config.headDim};
    const auto linear = [&](const LinearWeights& each) {
        return StepLinear(each, settings.precision, settings.streamsWeights());
    };
    layers.reserve(config.layers.size());
    for (std::size_t i = 0; i < config.layers.size(); ++i) {
        const LayerWeights& w = weights.layers[i];
        layers.push_back({linear(w.query),
                          linear(w.key),
                          linear(w.value),
                          linear(w.output),
                          {w, config.layers[i], config, settings},
                          floats(config.numKvHeads * config.headDim),
                          floats(config.numKvHeads * config.headDim),
                          {},
                          {}});
        StepLayer& layer = layers.back();
        layer.keys = at::from_blob(layer.k.data(), shape, at::kFloat);
        layer.values = at::from_blob(layer.v.data(), shape, at::kFloat);
        layer.feedForward.reserve(hidden);
    }
}

void DecodeStep::Impl::normalise(const float* row, const NormWeights& norm, float* out) const
{
    kernels.rmsNormRow(row, norm.gain.const_data_ptr<float>(),
                       static_cast<float>(config.normEpsilon), out, norm.gain.numel());
}

InputRow& DecodeStep::Impl::normedInput(int member, const NormWeights& norm)
{
    Own& mine = own[static_cast<std::size_t>(member)];
    if (norm.gain.defined())
        normalise(x, norm, mine.normed.data());
    mine.input.set(norm.gain.defined() ? mine.normed.data() : x, config.modelWidth);
    return mine.input;
}

/// Normalises heads where the family does, and rotates them.
void DecodeStep::Impl::turnHeads(std::vector<float>& heads, const NormWeights& norm,
                                 std::size_t layer) const
{
    if (norm.gain.defined())
        for (std::size_t at = 0; at < heads.size();
             at += static_cast<std::size_t>(norm.gain.numel()))
            normalise(heads.data() + at, norm, heads.data() + at);
    if (!config.layers[layer].isRotated)
        return;
    const RotaryPairing pairing = config.rotaryOf(config.layers[layer]).pairing;
    const auto turn =
        pairing == RotaryPairing::Adjacent ? kernels.rotateAdjacent : kernels.rotateHalf;
    const RotaryRows& row = *rows[layer];
    for (std::size_t at = 0; at < heads.size(); at += static_cast<std::size_t>(config.headDim))
        turn(heads.data() + at, row.cos.const_data_ptr<float>(), row.sin.const_data_ptr<float>(),
             row.cos.numel());
}

/// Member 0's work between the projections and attention.
void DecodeStep::Impl::storeHeads(const Team& team, std::size_t layer)
try {
    if (stop->stop_requested())
        throw Stopped{};
    const LayerWeights& w = weights.layers[layer];
    const LayerConfig& kind = config.layers[layer];
    turnHeads(q, w.queryNorm, layer);
    turnHeads(layers[layer].k, w.keyNorm, layer);
    const KVView view =
        cache->stage(static_cast<std::int64_t>(layer), layers[layer].keys, layers[layer].values);
    AttentionSettings attending;
    attending.scale = config.scoreScale();
    attending.window = kind.kind == LayerKind::Windowed ? kind.window : 0;
    attending.softCap = config.attentionSoftCap;
    attending.sinks = w.sink;
    attending.isStreamed = isCacheStreamed;
    const std::array<std::int64_t, 4> shape{1, 1, config.numHeads, config.headDim};
    attention.emplace(cpuAttention(q.data(), mixed.data(), shape, view, position, attending),
                      attentionSimd(), team.size());
    states.resize(std::max(states.size(), static_cast<std::size_t>(attention->stateFloats())));
} catch (...) {
    problem = std::current_exception();
}

bool DecodeStep::Impl::attend(Team& team, int member, std::size_t layer)
{
    StepLayer& products = layers[layer];
    InputRow& input = normedInput(member, weights.layers[layer].attentionNorm);
    products.query(team, member, input, q.data());
    products.key(team, member, input, products.k.data());
    products.value(team, member, input, products.v.data());
    products.output.askFor(team, member);
    team.meet();
    if (member == 0)
        storeHeads(team, layer);
    team.meet();
    if (problem)
        return false;
    attention->attend(team.first(attention->numItems(), member),
                      team.end(attention->numItems(), member), states.data());
    team.meet();
    if (attention->isSplit()) {
        attention->merge(team.first(attention->numHeads(), member),
                         team.end(attention->numHeads(), member), states.data());
        team.meet();
    }
    input.set(mixed.data(), static_cast<std::int64_t>(mixed.size()));
    products.output(team, member, input, y.data());
    products.feedForward.askForFirst(team, member);
    addToResidual(team, member, weights.layers[layer].attentionPostNorm);
    return true;
}

void DecodeStep::Impl::feedForward(Team& team, int member, std::size_t layer)
{
    const LayerWeights& w = weights.layers[layer];
    Own& mine = own[static_cast<std::size_t>(member)];
    const StepFeedForward& feedForward = layers[layer].feedForward;
    feedForward.expand(team, member, normedInput(member, w.feedForwardNorm), hidden,
                       mine.feedForward);
    team.meet();
    feedForward.contract(team, member, hidden, mine.feedForward, y.data());
    if (layer + 1 < layers.size())
        layers[layer + 1].query.askFor(team, member);
    addToResidual(team, member, w.feedForwardPostNorm);
}

/// Adds y, of which each member has made its rows.
void DecodeStep::Impl::addToResidual(Team& team, int member, const NormWeights& postNorm)
{
    const float* added = y.data();
    if (postNorm.gain.defined()) {
        team.meet();
        std::vector<float>& normed = own[static_cast<std::size_t>(member)].normed;
        normalise(y.data(), postNorm, normed.data());
        added = normed.data();
    }
    const auto scale = static_cast<float>(config.residualScale);
    for (std::int64_t i = team.first(config.modelWidth, member),
                      end = team.end(config.modelWidth, member);
         i < end; ++i)
        x[i] += scale * added[i];
    team.meet();
}

/// All memory that a member takes in a step: an exception in one would leave the others waiting.
void DecodeStep::Impl::reserve(Own& each) const
{
    each.input.reserve(std::max(config.modelWidth, config.numHeads * config.headDim));
    each.normed.resize(static_cast<std::size_t>(config.modelWidth));
    for (const StepLayer& layer : layers)
        layer.feedForward.reserve(each.feedForward);
}

void DecodeStep::Impl::takePart(Team& team, int member) noexcept
{
    for (std::size_t layer = 0; layer < layers.size(); ++layer) {
        if (!attend(team, member, layer))
            return;
        feedForward(team, member, layer);
    }
    if (logits == nullptr)
        return;
    InputRow& input = normedInput(member, weights.finalNorm);
    head.multiply(input, logits, team.first(head.rows(), member), team.end(head.rows(), member));
}

bool DecodeStep::supports(const ModelConfig& config)
{
    return config.norm == NormKind::RMS && config.isGated &&
           gatedRow(config.activation) != nullptr &&
           config.numHeads / config.numKvHeads <= DecodeBlock::kMaxRows;
}

DecodeStep::DecodeStep(const ModelConfig& config, const DecoderWeights& weights,
                       const StepSettings& settings)
    : m_impl(std::make_unique<Impl>(config, weights, settings))
{
}

DecodeStep::~DecodeStep() = default;

void DecodeStep::run(float* x, std::int64_t position, std::span<const RotaryRows* const> rows,
                     MixedKVCache& cache, float* logits, const std::stop_token& stop)
{
    Impl& step = *m_impl;
    step.x = x;
    step.position = position;
    step.rows = rows;
    step.cache = &cache;
    step.isCacheStreamed = step.settings.streamsCache(cache.liveBytes());
    step.logits = logits;
    step.stop = &stop;
    step.problem = nullptr;
    while (step.own.size() < static_cast<std::size_t>(at::get_num_threads()))
        step.reserve(step.own.emplace_back());
    runTogether([&step](Team& team, int member) { step.takePart(team, member); });
    if (step.problem)
        std::rethrow_exception(step.problem);
}

} // namespace kvscope
