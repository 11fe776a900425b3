#include "engine/model/cuda_step_launches.h"

#include "engine/kernels/cuda/cuda_conversions.h"

#include <ATen/ops/empty.h>

#include <algorithm>
#include <cstring>
#include <initializer_list>
#include <utility>

namespace kvscope {
namespace {

static_assert(sizeof(StepMatrix) == 2 * sizeof(std::int64_t));

const float* floatsOf(const at::Tensor& tensor)
{
    return tensor.defined() ? tensor.const_data_ptr<float>() : nullptr;
}

StepMatrix matrixOf(const LinearWeights& weights)
{
    return {static_cast<const std::byte*>(weights.weight.data.const_data_ptr()),
            floatsOf(weights.bias)};
}

std::int64_t rowBytesOf(const WeightMatrix& weight)
{
    return weight.data.size(1) * static_cast<std::int64_t>(weight.data.element_size());
}

at::Tensor expertTable(const std::vector<FeedForwardWeights>& experts,
                       LinearWeights FeedForwardWeights::*which)
{
    at::Tensor table = at::empty({static_cast<std::int64_t>(experts.size()), 2}, at::kLong);
    auto* to = static_cast<std::byte*>(table.mutable_data_ptr());
    for (const FeedForwardWeights& expert : experts) {
        const StepMatrix matrix = matrixOf(expert.*which);
        std::memcpy(to, &matrix, sizeof matrix);
        to += sizeof matrix;
    }
    return table.to((experts.front().*which).weight.data.device());
}

/// What a product multiplies with.
struct Input
{
    const at::Tensor& x;
    at::Tensor gain{};       ///< x is normalised
    at::Tensor up{};         ///< x becomes act(x) * up
    std::int64_t stride = 0; ///< from a visit's x to the next one's
};

struct Output
{
    const LinearWeights& weights; ///< of an expert any, which all are alike
    float* y;
    const at::Tensor table{}; ///< of experts
};

class Builder
{
public:
    Builder(const CudaStepParts& parts, const MixedKVCache& cache)
        : m_parts(parts)
        , m_config(parts.config)
        , m_buffers(parts.buffers)
        , m_cache(cache)
    {
    }

    CudaStepLaunches build()
    {
        embed();
        for (std::size_t layer = 0; layer < m_config.layers.size(); ++layer) {
            const LayerWeights& w = m_parts.weights.layers[layer];
            attend(layer, w);
            if (m_config.layers[layer].hasExperts)
                visitExperts(w, m_parts.experts[layer]);
            else
                feedForward(w);
        }
        const LinearWeights head{m_parts.weights.head, {}};
        multiply({m_buffers.x, m_parts.weights.finalNorm.gain},
                 {{head, m_buffers.logits.mutable_data_ptr<float>()}});
        shareScratch();
        return std::move(m_made);
    }

private:
    void embed()
    {
        const WeightMatrix& embedding = m_parts.weights.embedding;
        EmbedLaunch launch{};
        launch.type = embedding.type;
        launch.rows = static_cast<const std::byte*>(embedding.data.const_data_ptr());
        launch.rowBytes = rowBytesOf(embedding);
        launch.token = m_buffers.token();
        launch.scale = static_cast<float>(m_config.embeddingScale);
        launch.x = m_buffers.x.mutable_data_ptr<float>();
        launch.width = static_cast<int>(m_config.modelWidth);
        m_made.launches.emplace_back(launch);
    }

    StepProductLaunch product(const Input& input, const WeightMatrix& like) const
    {
        StepProductLaunch launch{};
        launch.type = like.type;
        launch.cols = static_cast<int>(like.cols);
        launch.rowBytes = rowBytesOf(like);
        launch.x = floatsOf(input.x);
        launch.xStride = input.stride;
        launch.gain = floatsOf(input.gain);
        launch.epsilon = static_cast<float>(m_config.normEpsilon);
        launch.up = floatsOf(input.up);
        launch.gating = cudaGating(m_config.activation);
        launch.visits = 1;
        return launch;
    }

    /// One launch for all outputs, or several where their weights are not stored alike.
    void multiply(const Input& input, std::initializer_list<Output> outputs,
                  std::int64_t visits = 1)
    {
        StepProductLaunch launch{};
        for (const Output& output : outputs) {
            const WeightMatrix& weight = output.weights.weight;
            if (launch.numParts > 0 &&
                (launch.type != weight.type || launch.numParts == kMostStepParts)) {
                m_made.launches.emplace_back(launch);
                launch.numParts = 0;
            }
            if (launch.numParts == 0)
                launch = product(input, weight);
            const bool areExperts = output.table.defined();
            launch.visits = static_cast<int>(visits);
            launch.experts = areExperts ? m_buffers.chosen.const_data_ptr<int>() : nullptr;
            launch.parts[launch.numParts++] = {
                areExperts ? StepMatrix{} : matrixOf(output.weights),
                areExperts ? static_cast<const StepMatrix*>(output.table.const_data_ptr())
                           : nullptr,
                static_cast<int>(weight.rows), output.y};
        }
        m_made.launches.emplace_back(launch);
    }

    /// What a product gives to the residual, by way of a norm where there is one.
    void multiplyAndAdd(const Input& input, const LinearWeights& weights,
                        const NormWeights& postNorm)
    {
        if (postNorm.gain.defined()) {
            multiply(input, {{weights, m_buffers.parts.mutable_data_ptr<float>()}});
            addParts(1, nullptr, postNorm);
            return;
        }
        StepProductLaunch launch = product(input, weights.weight);
        launch.parts[0] = {matrixOf(weights), nullptr, static_cast<int>(weights.weight.rows),
                           m_buffers.x.mutable_data_ptr<float>()};
        launch.numParts = 1;
        launch.adds = true;
        launch.scale = static_cast<float>(m_config.residualScale);
        m_made.launches.emplace_back(launch);
    }

    void addParts(std::int64_t numParts, const float* weights, const NormWeights& postNorm)
    {
        AddPartsLaunch launch{};
        launch.residual = m_buffers.x.mutable_data_ptr<float>();
        launch.parts = floatsOf(m_buffers.parts);
        launch.numParts = static_cast<int>(numParts);
        launch.weights = weights;
        launch.gain = floatsOf(postNorm.gain);
        launch.epsilon = static_cast<float>(m_config.normEpsilon);
        launch.scale = static_cast<float>(m_config.residualScale);
        launch.width = static_cast<int>(m_config.modelWidth);
        m_made.launches.emplace_back(launch);
    }

    void attend(std::size_t layer, const LayerWeights& w)
    {
        multiply({m_buffers.x, w.attentionNorm.gain},
                 {{w.query, m_buffers.q.mutable_data_ptr<float>()},
                  {w.key, m_buffers.k.mutable_data_ptr<float>()},
                  {w.value, m_buffers.v.mutable_data_ptr<float>()}});
        const KVSlots slots = m_cache.slots(static_cast<std::int64_t>(layer));
        storeHeads(layer, w, slots);
        readSlots(layer, w, slots);
        multiplyAndAdd({m_buffers.mixed}, w.output, w.attentionPostNorm);
    }

    void storeHeads(std::size_t layer, const LayerWeights& w, const KVSlots& slots)
    {
        StoreHeadsLaunch launch{};
        launch.token = m_buffers.token();
        launch.q = floatsOf(m_buffers.q);
        launch.k = floatsOf(m_buffers.k);
        launch.v = floatsOf(m_buffers.v);
        launch.queryGain = floatsOf(w.queryNorm.gain);
        launch.keyGain = floatsOf(w.keyNorm.gain);
        launch.normsAll = m_config.queryKeyNorm == QueryKeyNorm::All;
        launch.epsilon = static_cast<float>(m_config.normEpsilon);
        const LayerConfig& kind = m_config.layers[layer];
        if (kind.isRotated) {
            const auto rotation = m_buffers.rotation(m_parts.rotaryOfLayer[layer]);
            launch.cos = rotation.cos;
            launch.sin = rotation.sin;
            launch.pairs = static_cast<int>(rotation.pairs);
            launch.isAdjacent = m_config.rotaryOf(kind).pairing == RotaryPairing::Adjacent;
        }
        launch.turned = m_buffers.turned.mutable_data_ptr<float>();
        launch.cache = cachedNumberOf(slots.keys);
        launch.keys = slots.keys.mutable_data_ptr();
        launch.values = slots.values.mutable_data_ptr();
        launch.keyHeadStride = slots.keys.stride(1);
        launch.valueHeadStride = slots.values.stride(1);
        launch.capacity = slots.capacity();
        launch.numHeads = static_cast<int>(m_config.numHeads);
        launch.numKvHeads = static_cast<int>(m_config.numKvHeads);
        launch.headDim = static_cast<int>(m_config.headDim);
        m_made.launches.emplace_back(launch);
    }

    void readSlots(std::size_t layer, const LayerWeights& w, const KVSlots& slots)
    {
        const LayerConfig& kind = m_config.layers[layer];
        DecodeAttentionLaunch launch{};
        launch.queryType = CudaNumber::Float32;
        launch.q = m_buffers.turned.const_data_ptr();
        launch.out = m_buffers.mixed.mutable_data_ptr();
        launch.sinks = floatsOf(w.sink);
        launch.keyType = cachedNumberOf(slots.keys);
        launch.pieces[0].keys = slots.keys.const_data_ptr();
        launch.pieces[0].values = slots.values.const_data_ptr();
        for (int i = 0; i < 3; ++i) {
            launch.pieces[0].keyStrides[i] = slots.keys.stride(i);
            launch.pieces[0].valueStrides[i] = slots.values.stride(i);
        }
        launch.numPieces = 1;
        launch.capacity = slots.capacity();
        launch.position = &m_buffers.token()->position;
        launch.window = kind.kind == LayerKind::Windowed ? kind.window : 0;
        launch.batch = 1;
        launch.numKvHeads = static_cast<int>(m_config.numKvHeads);
        launch.group = static_cast<int>(m_config.numHeads / m_config.numKvHeads);
        launch.headDim = static_cast<int>(m_config.headDim);
        launch.scale = static_cast<float>(m_config.scoreScale());
        planSlotSplits(launch, m_parts.multiprocessors);
        m_made.launches.emplace_back(launch);
    }

    void feedForward(const LayerWeights& w)
    {
        multiply({m_buffers.x, w.feedForwardNorm.gain},
                 {{w.dense.gate, m_buffers.gate.mutable_data_ptr<float>()},
                  {w.dense.up, m_buffers.up.mutable_data_ptr<float>()}});
        multiplyAndAdd({m_buffers.gate, {}, m_buffers.up}, w.dense.down, w.feedForwardPostNorm);
    }

    void visitExperts(const LayerWeights& w, const ExpertTables& tables)
    {
        const MoEWeights& moe = w.experts;
        const Input x{m_buffers.x, w.feedForwardNorm.gain};
        chooseExperts(moe, x);
        const auto numActive = static_cast<std::size_t>(m_config.experts->numActive);
        const FeedForwardWeights& any = moe.experts.front();
        auto* gate = m_buffers.gate.mutable_data_ptr<float>();
        auto* up = m_buffers.up.mutable_data_ptr<float>();
        auto* part = m_buffers.parts.mutable_data_ptr<float>();
        multiply(x, {{any.gate, gate, tables.gate}, {any.up, up, tables.up}},
                 m_config.experts->numActive);
        multiply({m_buffers.gate, {}, m_buffers.up, any.down.weight.cols},
                 {{any.down, part, tables.down}}, m_config.experts->numActive);
        part += numActive * static_cast<std::size_t>(m_config.modelWidth);
        for (const FeedForwardWeights& shared : moe.shared) {
            multiply(x, {{shared.gate, gate}, {shared.up, up}});
            multiply({m_buffers.gate, {}, m_buffers.up}, {{shared.down, part}});
            part += m_config.modelWidth;
        }
        addParts(static_cast<std::int64_t>(numActive + moe.shared.size()),
                 floatsOf(m_buffers.shares), w.feedForwardPostNorm);
    }

    void chooseExperts(const MoEWeights& moe, const Input& x)
    {
        const MoEConfig& config = *m_config.experts;
        auto* logits = m_buffers.router.mutable_data_ptr<float>();
        multiply(x, {{moe.router, logits}});
        const bool hasGate = moe.sharedGate.rows > 0;
        if (hasGate)
            multiply(x, {{LinearWeights{moe.sharedGate, {}}, logits + config.numExperts}});
        ChooseExpertsLaunch launch{};
        launch.logits = logits;
        launch.numExperts = static_cast<int>(config.numExperts);
        launch.numActive = static_cast<int>(config.numActive);
        launch.normalises = config.normalisesWeights;
        launch.sharedGate = hasGate ? logits + config.numExperts : nullptr;
        launch.numShared = static_cast<int>(moe.shared.size());
        launch.experts = m_buffers.chosen.mutable_data_ptr<int>();
        launch.weights = m_buffers.shares.mutable_data_ptr<float>();
        m_made.launches.emplace_back(launch);
    }

    /// Layers attend one after the other, so that they share what their splits leave.
    void shareScratch()
    {
        std::int64_t mostSplits = 1;
        for (const StepLaunch& launch : m_made.launches)
            if (const auto* attention = std::get_if<DecodeAttentionLaunch>(&launch))
                mostSplits = std::max<std::int64_t>(mostSplits, attention->numSplits);
        const std::int64_t rows = mostSplits * m_config.numHeads;
        m_made.scratch = at::empty({rows * (m_config.headDim + 2)}, m_buffers.x.options());
        auto* first = m_made.scratch.mutable_data_ptr<float>();
        for (StepLaunch& launch : m_made.launches)
            if (auto* attention = std::get_if<DecodeAttentionLaunch>(&launch)) {
                attention->partialValues = first;
                attention->partialStates = first + rows * m_config.headDim;
            }
    }

    const CudaStepParts& m_parts;
    const ModelConfig& m_config;
    const CudaStepBuffers& m_buffers;
    const MixedKVCache& m_cache;
    CudaStepLaunches m_made;
};

} // namespace

ExpertTables expertTables(const LayerWeights& weights)
{
    const std::vector<FeedForwardWeights>& experts = weights.experts.experts;
    if (experts.empty())
        return {};
    return {expertTable(experts, &FeedForwardWeights::gate),
            expertTable(experts, &FeedForwardWeights::up),
            expertTable(experts, &FeedForwardWeights::down)};
}

CudaStepLaunches cudaStepLaunches(const CudaStepParts& parts, const MixedKVCache& cache)
{
    return Builder(parts, cache).build();
}

} // namespace kvscope
