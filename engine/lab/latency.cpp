#include "engine/lab/latency.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/generate/generator.h"
#include "engine/generate/prefill.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/decode_steps.h"
#include "engine/lab/fits.h"
#include "engine/lab/latency_fit.h"
#include "engine/lab/latency_load.h"
#include "engine/lab/prompt_room.h"

#include <ATen/Parallel.h>
#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <optional>
#include <random>
#include <span>

namespace kvscope {

std::string reasonToSkip(const Decoder& decoder, std::int64_t tokens, std::int64_t chunkTokens)
{
    const ModelConfig& config = decoder.config();
    if (config.hasLearnedPositions && tokens > config.trainedPositions)
        return "beyond the " + formatCount(config.trainedPositions) + " learned positions";
    return reasonAgainstPrompt(decoder, decoder.makeCache(), tokens, chunkTokens);
}

void requireLatencyRunnable(const LatencyOptions& options)
{
    if (options.lengths.empty())
        throw ArgumentError("latency needs at least one length");
    for (const std::int64_t length : options.lengths)
        if (length < 1)
            throw ArgumentError("length " + std::to_string(length) + " is not positive");
    if (options.repeats < 1 || options.decodeSteps < 1 || options.chunkTokens < 0)
        throw ArgumentError("latency needs positive repeats and steps, and no negative chunk");
}

namespace {

/// With the points of its line.
HeldOutFit withCurve(const ModelConfig& config, HeldOutFit fit)
{
    constexpr std::int64_t kPoints = 64; // straight between them as far as a screen shows
    fit.curve.push_back({});
    for (std::int64_t i = 1; i <= kPoints; ++i) {
        const std::int64_t tokens = fit.heldOutTokens * i / kPoints;
        if (tokens < 1)
            continue;
        const PrefillFlops flops = prefillFlops(config, tokens);
        fit.curve.push_back({static_cast<double>(tokens),
                             flops.dense / fit.throughputs.densePerSecond +
                                 flops.attention() / fit.throughputs.attentionPerSecond});
    }
    return fit;
}

/// One run over all lengths.
class LatencyRun
{
public:
    LatencyRun(Decoder& decoder, const LatencyOptions& options, const LatencyObserver& observer,
               std::stop_token stop)
        : m_decoder(decoder)
        , m_options(options)
        , m_observer(observer)
        , m_stop(std::move(stop))
        , m_threads(at::get_num_threads())
        , m_random(options.seed)
    {
        std::sort(m_options.lengths.begin(), m_options.lengths.end());
        const auto repeated = std::unique(m_options.lengths.begin(), m_options.lengths.end());
        m_options.lengths.erase(repeated, m_options.lengths.end());
    }

    LatencyReport run()
    {
        m_report.threads = m_threads;
        if (m_decoder.device().is_cpu()) {
            const MeasuredBandwidth bandwidth = measureBandwidthAlone(m_options.bandwidthBytes);
            m_report.bandwidthBytesPerSecond = bandwidth.bytesPerSecond;
            m_report.isBandwidthDisturbed = bandwidth.isDisturbed;
        }
        for (std::size_t i = 0; i < m_options.lengths.size(); ++i) {
            runLength(m_options.lengths[i]);
            if (m_observer.estimated)
                m_observer.estimated(secondsLeft(i + 1));
        }
        sumUp();
        return m_report;
    }

private:
    void runLength(std::int64_t tokens)
    {
        std::optional<Context> context;
        const bool hasChunks = m_options.chunkTokens > 0 && m_options.chunkTokens < tokens;
        runRow(tokens, 0, context);
        if (hasChunks)
            runRow(tokens, m_options.chunkTokens, context);
        if (context)
            runDecode(*context);
    }

    /// \param context  that of the last timed run, for the decode steps; as it was where skipped
    void runRow(std::int64_t tokens, std::int64_t chunkTokens, std::optional<Context>& context)
    {
        FirstTokenRow row;
        row.tokens = tokens;
        row.chunkTokens = chunkTokens;
        row.attentionShare = prefillFlops(m_decoder.config(), tokens).attentionShare();
        const std::int64_t trained = m_decoder.config().trainedPositions;
        row.isBeyondTrained = trained > 0 && tokens > trained;
        row.skipReason = skipReason(tokens, chunkTokens, context ? &context->cache() : nullptr);
        for (std::int64_t i = 0; row.skipReason.empty() && i < m_options.repeats; ++i) {
            context.reset(); // the old one's memory goes first
            context.emplace(m_decoder.makeCache());
            row.runs.push_back(timeFirstToken(*context, tokens, chunkTokens));
            m_timedSeconds += row.runs.back().seconds;
            if (m_observer.stepped)
                m_observer.stepped(context->cache());
            if (m_observer.prefilled)
                m_observer.prefilled(tokens, chunkTokens, row.runs.back());
        }
        m_report.firstToken.push_back(summedUp(std::move(row)));
        if (m_observer.rowDone)
            m_observer.rowDone(m_report.firstToken.back());
    }

    /// \param cache  of the row before, whose memory goes before this one takes its own
    std::string skipReason(std::int64_t tokens, std::int64_t chunkTokens,
                           const MixedKVCache* cache) const
    {
        if (m_options.contextLimit > 0 && tokens > m_options.contextLimit)
            return formatCount(m_options.contextLimit) + " positions may be used";
        if (cache == nullptr)
            return reasonToSkip(m_decoder, tokens, chunkTokens);
        return reasonAgainstPrompt(m_decoder, *cache, tokens, chunkTokens);
    }

    TimedRun timeFirstToken(Context& context, std::int64_t tokens, std::int64_t chunkTokens)
    {
        GenerationRequest request;
        request.chunkTokens = chunkTokens;
        while (static_cast<std::int64_t>(request.prompt.size()) < tokens)
            request.prompt.push_back(anyId());
        context.plan(m_decoder, tokens);
        const LoadWatch watch;
        prefill(m_decoder, context, request, {}, m_stop).argmax().item<std::int64_t>();
        const double seconds = watch.seconds();
        return {seconds, watch.waitShare(m_threads)};
    }

    void runDecode(Context& context)
    {
        const LoadWatch watch;
        const auto row =
            timeDecodeSteps(m_decoder, context.cache(),
                            {m_options.decodeSteps, context.plannedLength(),
                             m_report.bandwidthBytesPerSecond, [this] { return anyId(); }},
                            m_stop);
        m_timedSeconds += watch.seconds();
        if (!row)
            return; // the prompt left no positions to decode at
        m_report.decode.push_back(*row);
        if (m_observer.decodeDone)
            m_observer.decodeDone(*row);
    }

    /// By the FLOPs of the lengths to come at the pace of those done. What observers did between
    /// runs is not in it: it may be a pause, or a chat.
    double secondsLeft(std::size_t numDone) const
    {
        double done = 0.0;
        double left = 0.0;
        for (std::size_t i = 0; i < m_options.lengths.size(); ++i)
            if (skipReason(m_options.lengths[i], m_options.chunkTokens, nullptr).empty())
                (i < numDone ? done : left) +=
                    prefillFlops(m_decoder.config(), m_options.lengths[i]).total();
        return done > 0.0 ? m_timedSeconds * left / done : 0.0;
    }

    void sumUp()
    {
        for (const std::int64_t chunk : {std::int64_t{0}, m_options.chunkTokens}) {
            if (chunk == 0 && !m_report.fits.empty())
                continue; // --chunk 0: there is one way only
            if (auto fit = heldOutFit(m_decoder.config(), m_report.firstToken, chunk))
                m_report.fits.push_back(withCurve(m_decoder.config(), std::move(*fit)));
        }
        sumUpSlopes(m_report);
    }

    TokenId anyId()
    {
        const auto size = m_decoder.config().vocabularySize;
        return std::uniform_int_distribution<TokenId>(0, size - 1)(m_random);
    }

    Decoder& m_decoder;
    LatencyOptions m_options;
    const LatencyObserver& m_observer;
    std::stop_token m_stop;
    int m_threads;
    std::mt19937_64 m_random;
    double m_timedSeconds = 0.0; ///< of prefills and decode steps
    LatencyReport m_report;
};

} // namespace

FirstTokenRow summedUp(FirstTokenRow row)
{
    row.isDisturbed =
        !row.runs.empty() && std::all_of(row.runs.begin(), row.runs.end(),
                                         [](const TimedRun& run) { return run.isDisturbed(); });
    for (const TimedRun& run : row.runs)
        if ((row.isDisturbed || !run.isDisturbed()) &&
            (row.bestSeconds == 0.0 || run.seconds < row.bestSeconds))
            row.bestSeconds = run.seconds;
    return row;
}

void sumUpSlopes(LatencyReport& report)
{
    std::vector<double> cached;
    std::vector<double> medians;
    std::vector<double> floors;
    for (const DecodeStepRow& row : report.decode) {
        if (row.isDisturbed())
            continue;
        cached.push_back(static_cast<double>(row.cachedTokens) / 1000.0);
        medians.push_back(row.medianSeconds);
        floors.push_back(row.floorSeconds);
    }
    report.stepSecondsPer1000.reset();
    report.floorSecondsPer1000.reset();
    if (cached.size() < 2)
        return; // lengths differ, so two of them make a line
    report.stepSecondsPer1000 = fitLine(cached, medians).slope;
    if (report.bandwidthBytesPerSecond > 0.0)
        report.floorSecondsPer1000 = fitLine(cached, floors).slope;
}

LatencyReport measureLatency(Decoder& decoder, const LatencyOptions& options,
                             const LatencyObserver& observer, std::stop_token stop)
{
    const c10::InferenceMode inference;
    requireLatencyRunnable(options);
    return LatencyRun(decoder, options, observer, std::move(stop)).run();
}

} // namespace kvscope
