#include "engine/lab/peak_memory.h"

#include "engine/base/errors.h"
#include "engine/base/heap.h"
#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/generate/prefill.h"
#include "engine/lab/fits.h"
#include "engine/lab/latency_load.h"
#include "engine/lab/memory_costs.h"

#include <c10/core/InferenceMode.h>

#include <algorithm>
#include <malloc.h>
#include <random>
#include <set>

namespace kvscope {
namespace {

constexpr std::int64_t kWarmUpTokens = 32;
/// Score tensors that attentionReference() holds at once: before and after masking, or softmax.
constexpr double kScoreTensors = 2.0;
constexpr double kMostBytes = 4e18; // what an integer still holds

void requireMeasurable(const Decoder& decoder, const PeakOptions& options)
{
    if (options.lengths.empty() || options.ways.empty())
        throw ArgumentError("peak memory needs at least one length and one way");
    for (const std::int64_t length : options.lengths)
        if (length < 1)
            throw ArgumentError("length " + std::to_string(length) + " is not positive");
    if (options.chunkTokens < 1)
        throw ArgumentError("peak memory needs a chunk of at least one token");
    if (!decoder.device().is_cpu())
        throw ArgumentError("peak memory is measured on the CPU alone, the model is on " +
                            decoder.device().str());
    if (!resetPeakMemory())
        throw ArgumentError("this system does not let a process reset its peak memory "
                            "(/proc/self/clear_refs), so peaks cannot be told apart");
}

/// One run over all lengths and ways.
class PeakRun
{
public:
    PeakRun(Decoder& decoder, const PeakOptions& options, const PeakObserver& observer,
            std::stop_token stop)
        : m_decoder(decoder)
        , m_options(options)
        , m_observer(observer)
        , m_stop(std::move(stop))
        , m_random(options.seed)
    {
    }

    PeakReport run()
    {
        prefillOnce(PrefillWay::Chunked, std::min(kWarmUpTokens, longestLength()));
        ::malloc_trim(0);
        m_report.freeBytes = readFreeHostMemory().value_or(0);
        m_report.residentBytes = readProcessMemory().resident;
        m_report.weightBytes = m_decoder.weightBytes();
        m_report.cacheNumbers = m_decoder.cacheNumbers();
        m_report.chunkTokens = m_options.chunkTokens;
        for (const std::int64_t tokens :
             std::set<std::int64_t>(m_options.lengths.begin(), m_options.lengths.end()))
            for (const PrefillWay way : m_options.ways)
                add(measure(way, tokens));
        sumUpGrowth(m_report);
        return m_report;
    }

private:
    std::int64_t longestLength() const
    {
        return *std::max_element(m_options.lengths.begin(), m_options.lengths.end());
    }

    void add(const PeakRow& row)
    {
        m_report.rows.push_back(row);
        if (m_observer)
            m_observer(row);
    }

    PeakRow measure(PrefillWay way, std::int64_t tokens)
    {
        PeakRow row;
        row.way = way;
        row.tokens = tokens;
        const bool isWhole = way == PrefillWay::OneShot || way == PrefillWay::Scores;
        row.chunkTokens = isWhole ? 0 : m_options.chunkTokens;
        row.cacheBytes = kvBytes(m_decoder.config(), tokens, m_report.cacheNumbers).total();
        row.predictedBytes = predictedPeak(m_decoder, way, tokens, m_options.chunkTokens);
        row.skipReason = reasonToSkip(row);
        if (row.isSkipped())
            return row;
        // The system may have dropped pages of the mapped weights: they are brought back before,
        // and what comes back meanwhile is not the prefill's.
        prefillOnce(PrefillWay::Chunked, std::min(kWarmUpTokens, tokens));
        ::malloc_trim(0);
        resetPeakMemory();
        const ProcessMemory before = readProcessMemory();
        const LoadWatch watch;
        prefillOnce(way, tokens);
        row.seconds = watch.seconds();
        const ProcessMemory after = readProcessMemory();
        const std::uint64_t start =
            before.resident + (std::max(before.fileBacked, after.fileBacked) - before.fileBacked);
        row.measuredBytes = std::max(after.peakResident, start) - start;
        return row;
    }

    std::string reasonToSkip(const PeakRow& row) const
    {
        const ModelConfig& config = m_decoder.config();
        if (config.hasLearnedPositions && row.tokens > config.trainedPositions)
            return "beyond the " + formatCount(config.trainedPositions) + " learned positions";
        if (m_options.contextLimit > 0 && row.tokens > m_options.contextLimit)
            return formatCount(m_options.contextLimit) + " positions may be used";
        if (row.way == PrefillWay::Scores && row.tokens > m_options.mostScoresTokens)
            return "scores are materialised up to " + formatCount(m_options.mostScoresTokens) +
                   " tokens";
        const auto freeBytes = readFreeHostMemory();
        // Plain operators hold more than is counted (masks, positions): twice as much must be free.
        const std::uint64_t wanted = row.predictedBytes * (row.way == PrefillWay::Scores ? 2 : 1);
        if (freeBytes && wanted > *freeBytes)
            return "needs about " + formatBytes(wanted) + ", " + formatBytes(*freeBytes) +
                   " are free";
        return {};
    }

    void prefillOnce(PrefillWay way, std::int64_t tokens)
    {
        std::uniform_int_distribution<TokenId> anyId(0, m_decoder.config().vocabularySize - 1);
        std::vector<TokenId> ids(static_cast<std::size_t>(tokens));
        std::generate(ids.begin(), ids.end(), [&] { return anyId(m_random); });
        MixedKVCache cache = m_decoder.makeCache();
        cache.reserve(tokens); // as prefill() does
        const std::int64_t chunk = way == PrefillWay::OneShot || way == PrefillWay::Scores
                                       ? tokens
                                       : m_options.chunkTokens;
        std::vector<at::Tensor> kept;
        for (std::int64_t first = 0; first < tokens; first += chunk) {
            const std::int64_t count = std::min(chunk, tokens - first);
            const at::Tensor logits =
                m_decoder.forward(idsTensor(ids.data() + first, count), &cache,
                                  forwardOptions(way, tokens, first + count == tokens));
            if (logits.defined())
                kept.push_back(logits);
        }
    }

    ForwardOptions forwardOptions(PrefillWay way, std::int64_t tokens, bool isLast) const
    {
        ForwardOptions options;
        options.stop = m_stop;
        options.plannedLength = tokens;
        options.logits = isLast ? LogitPositions::Last : LogitPositions::None;
        if (way == PrefillWay::AllLogits)
            options.logits = LogitPositions::All;
        if (way == PrefillWay::Scores) {
            options.path = KernelPath::Reference;
            options.logits = LogitPositions::None; // or the head's expanded weights are the peak
        }
        return options;
    }

    Decoder& m_decoder;
    const PeakOptions& m_options;
    const PeakObserver& m_observer;
    std::stop_token m_stop;
    std::mt19937_64 m_random;
    PeakReport m_report;
};

} // namespace

std::uint64_t predictedPeak(const Decoder& decoder, PrefillWay way, std::int64_t tokens,
                            std::int64_t chunkTokens)
{
    const ModelConfig& config = decoder.config();
    constexpr std::int64_t kFloat = 4;
    const bool isWhole = way == PrefillWay::OneShot || way == PrefillWay::Scores;
    const std::int64_t atOnce = isWhole ? tokens : std::min(tokens, chunkTokens);
    const std::uint64_t activations = activationBytes(config, atOnce);
    // The cache is reserved for the whole prompt, so no array is held twice.
    std::uint64_t bytes = kvBytes(config, tokens, decoder.cacheNumbers()).total() + activations +
                          std::min(activations, kKeptFreedBytes);
    if (way == PrefillWay::AllLogits)
        bytes += allLogitsBytes(config, tokens, kFloat);
    if (way == PrefillWay::Scores)
        bytes += static_cast<std::uint64_t>(
            std::min(kScoreTensors * scoresBytes(config, tokens, kFloat), kMostBytes));
    return bytes;
}

void sumUpGrowth(PeakReport& report)
{
    report.growth.clear();
    for (std::size_t way = 0; way < kNumPrefillWays; ++way) {
        std::vector<double> tokens;
        std::vector<double> bytes;
        for (const PeakRow& row : report.rows)
            if (static_cast<std::size_t>(row.way) == way && !row.isSkipped()) {
                tokens.push_back(static_cast<double>(row.tokens));
                bytes.push_back(static_cast<double>(row.besideCacheBytes()));
            }
        if (tokens.size() < 2)
            continue;
        const LineFit line = fitLine(tokens, bytes);
        report.growth.push_back({static_cast<PrefillWay>(way), line.slope, line.explained});
    }
}

PeakReport measurePeaks(Decoder& decoder, const PeakOptions& options, const PeakObserver& observer,
                        std::stop_token stop)
{
    const c10::InferenceMode inference;
    requireMeasurable(decoder, options);
    return PeakRun(decoder, options, observer, std::move(stop)).run();
}

} // namespace kvscope
