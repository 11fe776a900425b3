#include "engine/model/decoder.h"

#include "engine/base/cut_files.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/cache/open_chunk.h"
#include "engine/cache/scaled_rows.h"
#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/kernels/last_cache.h"
#include "engine/kernels/linear/linear.h"
#include "engine/model/ablation.h"
#include "engine/model/decoder_impl.h"
#include "engine/model/decoder_types.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <map>
#include <utility>
#include <vector>

namespace kvscope {

void Decoder::Impl::checkIds(const at::Tensor& ids) const
{
    if (ids.dim() != 2 || ids.numel() == 0 || ids.scalar_type() != at::kLong || !ids.is_cpu())
        throw ArgumentError(
            "token ids must be a non-empty [batch, tokens] array of 64-bit integers");
    const at::Tensor flat = ids.contiguous();
    const auto* first = flat.const_data_ptr<std::int64_t>();
    const auto* bad = std::find_if(first, first + flat.numel(), [&](std::int64_t id) {
        return id < 0 || id >= config().vocabularySize;
    });
    if (bad != first + flat.numel())
        throw ArgumentError("token id " + std::to_string(*bad) + " is outside the vocabulary of " +
                            formatCount(config().vocabularySize) + " ids");
}

void Decoder::Impl::makeRotaryTables()
{
    std::map<std::pair<const RotaryConfig*, std::int64_t>, std::size_t> known;
    for (const LayerConfig& layer : config().layers) {
        const RotaryConfig& own = config().rotaryOf(layer);
        const auto [place, isNew] = known.try_emplace({&own, layer.identityPairs}, rotary.size());
        if (isNew)
            rotary.emplace_back(own, config().headDim, layer.identityPairs);
        rotaryOfLayer.push_back(place->second);
    }
}

std::vector<RotaryRows> Decoder::Impl::rotaryRows(std::int64_t firstPosition, std::int64_t count,
                                                  std::int64_t plannedLength,
                                                  at::Device where) const
{
    std::vector<RotaryRows> rows;
    if (config().hasLearnedPositions)
        return rows;
    const std::int64_t length = std::max(plannedLength, firstPosition + count);
    for (const RotaryTable& table : rotary) {
        RotaryRows made = table.rows(firstPosition, count, length);
        rows.push_back({made.cos.to(where), made.sin.to(where)});
    }
    return rows;
}

std::int64_t Decoder::Impl::checkedPosition(const at::Tensor& ids, const MixedKVCache* cache,
                                            const ForwardOptions& options) const
{
    checkIds(ids);
    const std::int64_t B = ids.size(0);
    const std::int64_t T = ids.size(1);
    if (cache != nullptr && cache->shape().batch != B)
        throw ArgumentError("the cache was made for batch " + std::to_string(cache->shape().batch) +
                            ", the ids have batch " + std::to_string(B));
    const std::int64_t firstPosition = cache != nullptr ? cache->seqLen() : options.firstPosition;
    if (config().hasLearnedPositions && firstPosition + T > config().trainedPositions)
        throw ArgumentError("position " + formatCount(firstPosition + T - 1) + " lies beyond the " +
                            formatCount(config().trainedPositions) + " positions that " +
                            config().architecture + " has learned");
    return firstPosition;
}

bool Decoder::Impl::isStep(const at::Tensor& ids, const MixedKVCache* cache,
                           const ForwardOptions& options) const
{
    if (cache == nullptr || ids.dim() != 2 || ids.size(0) != 1 || ids.size(1) != 1 ||
        options.path != KernelPath::Fast || options.hooks != nullptr)
        return false;
    return step != nullptr || (cudaStep != nullptr && CudaStep::canFill(*cache));
}

at::Tensor Decoder::Impl::runStep(const at::Tensor& ids, MixedKVCache& cache,
                                  const ForwardOptions& options) const
{
    at::Tensor logits =
        cudaStep != nullptr ? stepOnCuda(ids, cache, options) : stepOnCpu(ids, cache, options);
    if (logits.defined())
        scaleLogits(logits);
    return logits;
}

at::Tensor Decoder::Impl::stepOnCuda(const at::Tensor& ids, MixedKVCache& cache,
                                     const ForwardOptions& options) const
{
    const std::int64_t position = checkedPosition(ids, &cache, options);
    const at::Tensor logits = cudaStep->run(
        ids.const_data_ptr<std::int64_t>()[0],
        rotaryRows(position, 1, options.plannedLength, at::kCPU), cache, options.stop);
    return options.logits != LogitPositions::None ? logits : at::Tensor();
}

at::Tensor Decoder::Impl::stepOnCpu(const at::Tensor& ids, MixedKVCache& cache,
                                    const ForwardOptions& options) const
{
    const std::int64_t position = checkedPosition(ids, &cache, options);
    const std::vector<RotaryRows> tables = rotaryRows(position, 1, options.plannedLength, at::kCPU);
    std::vector<const RotaryRows*> rows;
    for (const std::size_t table : rotaryOfLayer)
        rows.push_back(tables.empty() ? nullptr : &tables[table]);
    at::Tensor x = embedded(ids, position);
    at::Tensor logits;
    if (options.logits != LogitPositions::None)
        logits = at::empty({1, 1, config().vocabularySize}, at::kFloat);
    OpenChunk chunk(&cache, 1);
    step->run(x.mutable_data_ptr<float>(), position, rows, cache,
              logits.defined() ? logits.mutable_data_ptr<float>() : nullptr, options.stop);
    requireWholeFiles();
    chunk.commit();
    return logits;
}

void Decoder::Impl::scaleLogits(at::Tensor& logits) const
{
    if (config().logitScale != 1.0)
        logits.mul_(config().logitScale);
    if (config().finalSoftCap > 0.0)
        softCap(logits, config().finalSoftCap);
}

Decoder::Decoder(std::shared_ptr<const Checkpoint> checkpoint, DecoderOptions options)
    : m_impl(std::make_unique<Impl>())
{
    const c10::InferenceMode inference;
    m_impl->device = parsedDevice(options.device);
    m_impl->checkpoint = std::move(checkpoint);
    m_impl->compute = resolvedType(*m_impl->checkpoint, options.computeType);
    m_impl->cacheType = cacheScalarType(options.cacheType, m_impl->compute);
    m_impl->weights = loadWeights(*m_impl->checkpoint, m_impl->device, m_impl->compute, options);
    requireWholeFiles();
    m_impl->makeRotaryTables();
    m_impl->stepSettings = {.precision = m_impl->settingsOf(KernelPath::Fast).precision,
                            .weightBytes = activeWeightBytes(),
                            .lastCacheBytes = lastCacheBytes(at::get_num_threads())};
    if (m_impl->device.is_cpu() && DecodeStep::supports(config()))
        m_impl->step =
            std::make_unique<DecodeStep>(config(), m_impl->weights, m_impl->stepSettings);
    if (m_impl->device.is_cuda() && CudaStep::supports(config(), m_impl->weights))
        m_impl->cudaStep = std::make_unique<CudaStep>(
            config(), m_impl->weights, m_impl->rotaryOfLayer,
            cudaKernels()->makeStepRunner(m_impl->weights.embedding.data.device()));
}

Decoder::~Decoder() = default;

const ModelConfig& Decoder::config() const
{
    return m_impl->config();
}

const Checkpoint& Decoder::checkpoint() const
{
    return *m_impl->checkpoint;
}

at::Device Decoder::device() const
{
    return m_impl->device;
}

std::string Decoder::computeDescription() const
{
    const std::string cache = cacheTypeName();
    const std::string weights = weightsText(*m_impl->checkpoint, m_impl->compute);
    const std::string changed = ablationText(*m_impl->checkpoint);
    return weights + (m_impl->compute == ComputeType::Float32 ? ", float32 arithmetic, " : ", ") +
           cache + " cache" + (changed.empty() ? "" : ", " + changed);
}

std::string Decoder::cacheTypeName() const
{
    return kvscope::cacheTypeName(m_impl->cacheType);
}

CacheNumbers Decoder::cacheNumbers() const
{
    static_assert(cacheNumbersOf("int8").scaleBytes == kScaleBytes &&
                  cacheNumbersOf("fp8").scaleBytes == kScaleBytes);
    return cacheNumbersOf(cacheTypeName());
}

std::uint64_t Decoder::weightBytes() const
{
    return totalBytes(m_impl->weights);
}

std::uint64_t Decoder::activeWeightBytes() const
{
    const auto& experts = config().experts;
    return activeBytes(m_impl->weights, experts ? experts->numActive : 0);
}

bool Decoder::rotatesByPlan() const
{
    return std::holds_alternative<LongRotary>(config().rotary.scheme);
}

bool Decoder::rotatesAlike(std::int64_t a, std::int64_t b) const
{
    const auto* rotary = std::get_if<LongRotary>(&config().rotary.scheme);
    return rotary == nullptr || (a > rotary->originalPositions) == (b > rotary->originalPositions);
}

MixedKVCache Decoder::makeCache(std::int64_t batch, std::int64_t ringSlack) const
{
    const c10::InferenceMode inference;
    CacheShape shape;
    for (const LayerConfig& layer : config().layers)
        shape.layers.push_back({layer.kind == LayerKind::Windowed, layer.window});
    shape.batch = batch;
    shape.numKvHeads = config().numKvHeads;
    shape.headDim = config().headDim;
    shape.ringSlack = ringSlack;
    return {std::move(shape), at::TensorOptions(m_impl->cacheType).device(m_impl->device)};
}

at::Tensor Decoder::forward(const at::Tensor& ids, MixedKVCache* cache,
                            const ForwardOptions& options)
{
    const c10::InferenceMode inference;
    if (m_impl->isStep(ids, cache, options))
        return m_impl->runStep(ids, *cache, options);
    at::Tensor x = m_impl->runLayers(ids, cache, options, options.logits);
    if (options.logits == LogitPositions::None)
        return {};
    if (options.logits == LogitPositions::Last)
        x = newest(x, 1);
    const at::Tensor rows = x.view({-1, config().modelWidth});
    return head(m_impl->normalised(rows, m_impl->weights.finalNorm, options.path), options.path)
        .view({x.size(0), x.size(1), config().vocabularySize});
}

at::Tensor Decoder::forwardHidden(const at::Tensor& ids, MixedKVCache* cache,
                                  const ForwardOptions& options)
{
    const c10::InferenceMode inference;
    const at::Tensor x = m_impl->runLayers(ids, cache, options, LogitPositions::All);
    return m_impl
        ->normalised(x.view({-1, config().modelWidth}), m_impl->weights.finalNorm, options.path)
        .view_as(x);
}

at::Tensor Decoder::head(const at::Tensor& hidden, KernelPath path) const
{
    const c10::InferenceMode inference;
    at::Tensor logits = productFloat32(hidden, m_impl->weights.head, m_impl->settingsOf(path));
    m_impl->scaleLogits(logits);
    requireWholeFiles();
    return logits;
}

} // namespace kvscope
