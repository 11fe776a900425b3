#include "engine/generate/generator.h"

#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/generate/prefill.h"
#include "engine/generate/sampler.h"
#include "engine/tokenizer/piece_stream.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace kvscope {
namespace {

using Clock = std::chrono::steady_clock;

double secondsSince(Clock::time_point start)
{
    return std::chrono::duration<double>(Clock::now() - start).count();
}

bool contains(const std::vector<TokenId>& ids, TokenId id)
{
    return std::find(ids.begin(), ids.end(), id) != ids.end();
}

/// Positions that may be used; 0: no limit. Where positions are learned there is no vector for any
/// further one.
std::int64_t positionLimit(const ModelConfig& config, const GenerationRequest& request)
{
    const std::int64_t limit = request.contextLimit;
    const bool isCut =
        config.hasLearnedPositions && (limit == 0 || limit > config.trainedPositions);
    return isCut ? config.trainedPositions : limit;
}

/// One generation: what decoding needs to carry from step to step.
class Run
{
public:
    Run(Decoder& decoder, Context& context, const Tokenizer* tokenizer,
        const GenerationRequest& request, const GenerationObserver& observer)
        : m_decoder(decoder)
        , m_context(context)
        , m_tokenizer(tokenizer)
        , m_request(request)
        , m_observer(observer)
        , m_sampler(request.sampling)
        , m_sequence(request.prompt)
        , m_contextLimit(positionLimit(decoder.config(), request))
        , m_plannedLength(plannedLength(decoder, request))
    {
    }

    GenerationSummary run(const std::stop_token& stop)
    {
        m_summary.promptTokens = static_cast<std::int64_t>(m_request.prompt.size());
        const auto begin = Clock::now();
        std::optional<Clock::time_point> decodeBegin;
        try {
            at::Tensor logits = promptLogits(stop);
            decodeBegin = Clock::now();
            m_summary.finish = decode(std::move(logits), stop);
        } catch (const Stopped&) {
            m_summary.finish = FinishReason::Cancelled;
        }
        // Also of a run that was stopped: the time was spent.
        const auto end = Clock::now();
        m_summary.prefillSeconds =
            std::chrono::duration<double>(decodeBegin.value_or(end) - begin).count();
        m_summary.decodeSeconds =
            std::chrono::duration<double>(end - decodeBegin.value_or(end)).count();
        if (m_request.usesCache && !decodeBegin)
            m_summary.prefilledTokens = m_context.cache().seqLen() - m_summary.reusedTokens;
        else
            m_summary.prefilledTokens =
                decodeBegin ? m_summary.promptTokens - m_summary.reusedTokens : 0;
        m_summary.text += m_stream.flush();
        return std::move(m_summary);
    }

private:
    at::Tensor promptLogits(const std::stop_token& stop)
    {
        if (!m_request.usesCache)
            return replayedLogits(stop);
        requireCacheFits(m_decoder, m_context.cache(), m_summary.promptTokens);
        m_context.plan(m_decoder, m_plannedLength);
        m_summary.reusedTokens = m_context.reusePrefix(m_request.prompt);
        return prefill(m_decoder, m_context, m_request, m_observer, stop);
    }

    /// The reference path: the whole sequence by plain operators, nothing cached.
    at::Tensor replayedLogits(const std::stop_token& stop)
    {
        ForwardOptions options;
        options.path = KernelPath::Reference;
        options.stop = stop;
        options.plannedLength = m_decoder.rotatesByPlan() ? m_plannedLength : 0;
        const at::Tensor ids =
            idsTensor(m_sequence.data(), static_cast<std::int64_t>(m_sequence.size()));
        return m_decoder.forward(ids, nullptr, options).reshape({-1}).cpu();
    }

    FinishReason decode(at::Tensor logits, const std::stop_token& stop)
    {
        const SamplingSettings& sampling = m_request.sampling;
        auto stepStart = Clock::now();
        for (std::int64_t made = 0;;) {
            const auto [id, nll] = m_sampler.next(logits);
            m_sequence.push_back(id);
            const bool isEnd = contains(m_request.endTokens, id);
            report(id, nll, secondsSince(stepStart), isEnd);
            stepStart = Clock::now();
            if (isEnd && sampling.stopsAtEndTokens)
                return FinishReason::EndToken;
            if (++made == sampling.maxNewTokens)
                return FinishReason::MaxNewTokens;
            // The new token takes the position m_sequence.size() - 1 when it is run.
            if (m_contextLimit > 0 && static_cast<std::int64_t>(m_sequence.size()) > m_contextLimit)
                return FinishReason::ContextFull;
            if (stop.stop_requested())
                throw Stopped{};
            logits = m_request.usesCache ? step(id, stop) : replayedLogits(stop);
        }
    }

    at::Tensor step(TokenId id, const std::stop_token& stop)
    {
        ForwardOptions options;
        options.stop = stop;
        options.plannedLength = m_context.plannedLength();
        at::Tensor logits = m_decoder.forward(idsTensor(&id, 1), &m_context.cache(), options);
        m_context.add(&id, 1);
        if (m_observer.stepped)
            m_observer.stepped();
        return logits.reshape({-1}); // stays where it is: the sampler copies what it needs
    }

    void report(TokenId id, double nll, double seconds, bool isEnd)
    {
        TokenRecord record;
        record.id = id;
        record.position = static_cast<std::int64_t>(m_sequence.size()) - 1;
        record.nll = nll;
        record.stepSeconds = seconds;
        record.cacheBytes = m_request.usesCache ? m_context.cache().liveBytes() : 0;
        if (m_tokenizer != nullptr) {
            const std::string piece = m_tokenizer->piece(id);
            record.piece = toValidUtf8(piece);
            record.isControl = m_tokenizer->isControl(id);
            if (!isEnd)
                record.text = m_stream.add(piece);
        }
        m_summary.ids.push_back(id);
        m_summary.nll.push_back(nll);
        m_summary.stepSeconds.push_back(seconds);
        m_summary.cacheBytes.push_back(record.cacheBytes);
        m_summary.text += record.text;
        if (m_observer.generated)
            m_observer.generated(record);
    }

    Decoder& m_decoder;
    Context& m_context;
    const Tokenizer* m_tokenizer;
    const GenerationRequest& m_request;
    const GenerationObserver& m_observer;
    Sampler m_sampler;
    std::vector<TokenId> m_sequence;
    std::int64_t m_contextLimit;  ///< positions; 0: no limit
    std::int64_t m_plannedLength; ///< tokens
    PieceStream m_stream;
    GenerationSummary m_summary;
};

} // namespace

std::int64_t Context::reusePrefix(const std::vector<TokenId>& prompt)
{
    const auto differs = std::mismatch(m_ids.begin(), m_ids.end(), prompt.begin(), prompt.end());
    const auto common = static_cast<std::int64_t>(differs.first - m_ids.begin());
    const std::int64_t kept =
        m_cache.truncate(std::min(common, static_cast<std::int64_t>(prompt.size()) - 1));
    m_ids.resize(static_cast<std::size_t>(kept));
    return kept;
}

void Context::plan(const Decoder& decoder, std::int64_t length)
{
    if (!decoder.rotatesAlike(m_plannedLength, length))
        reset();
    m_plannedLength = decoder.rotatesByPlan() ? length : 0;
}

void Context::reset()
{
    m_cache.reset();
    m_ids.clear();
}

std::int64_t plannedLength(const Decoder& decoder, const GenerationRequest& request)
{
    const auto asked =
        static_cast<std::int64_t>(request.prompt.size()) + request.sampling.maxNewTokens;
    const std::int64_t limit = positionLimit(decoder.config(), request);
    return limit > 0 ? std::min(asked, limit) : asked;
}

GenerationSummary generate(Decoder& decoder, Context& context, const Tokenizer* tokenizer,
                           const GenerationRequest& request, const GenerationObserver& observer,
                           std::stop_token stop)
{
    const c10::InferenceMode inference;
    if (request.prompt.empty())
        throw ArgumentError("the prompt is empty: there is no token to begin from");
    return Run(decoder, context, tokenizer, request, observer).run(stop);
}

std::uint64_t cacheBytesNeeded(const MixedKVCache& cache, std::int64_t numTokens)
{
    const CacheShape& shape = cache.shape();
    const std::uint64_t bytesPerToken =
        BufferShape{shape.batch, shape.numKvHeads, shape.headDim}.bytesPerToken(cache.options());
    std::uint64_t slots = 0;
    for (const CacheLayerShape& layer : shape.layers)
        slots += static_cast<std::uint64_t>(
            layer.isWindowed ? std::min(numTokens, layer.window + shape.ringSlack) : numTokens);
    // Layers grow one after another, so at most one old array of two thirds the size is held twice.
    return bytesPerToken * (slots + static_cast<std::uint64_t>(numTokens));
}

void requireCacheFits(const Decoder& decoder, const MixedKVCache& cache, std::int64_t numTokens)
{
    if (!decoder.device().is_cpu())
        return; // LibTorch's allocator answers for the device
    const std::uint64_t needed = cacheBytesNeeded(cache, numTokens);
    const auto freeNow = readFreeHostMemory();
    if (!freeNow)
        return; // not known, so nothing is refused on its account
    const std::uint64_t available = *freeNow + cache.touchedBytes();
    if (needed > available)
        throw MemoryError("a context of " + formatCount(numTokens) + " tokens needs " +
                          formatBytes(needed) + " of cache, this machine has " +
                          formatBytes(available) + " free");
}

} // namespace kvscope
