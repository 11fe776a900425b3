#include "engine/lab/report_run.h"

#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/lab/lab_resources.h"
#include "engine/lab/latency.h"
#include "engine/lab/limits.h"
#include "engine/lab/peak_memory.h"
#include "engine/lab/positions.h"
#include "engine/lab/run_record_identity.h"
#include "engine/lab/use.h"
#include "engine/model/rotary_override.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <fstream>
#include <set>

namespace kvscope {
namespace {

constexpr std::int64_t kQuickTokens = 2048;
constexpr std::int64_t kTokensWhereNothingIsStated = 4096;
constexpr std::int64_t kShortestPrompt = 16;

std::string processorName()
{
    std::ifstream file("/proc/cpuinfo");
    for (std::string line; std::getline(file, line);)
        if (line.starts_with("model name"))
            if (const auto colon = line.find(": "); colon != std::string::npos)
                return line.substr(colon + 2);
    return "unnamed processor";
}

std::string fileName(const std::filesystem::path& path)
{
    return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

/// The length and its halves, shortest first.
std::vector<std::int64_t> lengthsTo(std::int64_t tokens, int numHalvings)
{
    std::set<std::int64_t> lengths = {tokens};
    for (int i = 1; i <= numHalvings; ++i)
        if ((tokens >> i) >= kShortestPrompt)
            lengths.insert(tokens >> i);
    return {lengths.begin(), lengths.end()};
}

/// Whether the peaks say that a prompt of the length cannot be run.
bool isRefused(const PeakReport& report, std::int64_t tokens)
{
    return std::any_of(report.rows.begin(), report.rows.end(), [tokens](const PeakRow& row) {
        return row.way == PrefillWay::Chunked && row.tokens == tokens && row.isSkipped();
    });
}

/// One card's measurements, in the order in which a refusal saves the most time.
class CardRun
{
public:
    CardRun(CardEvidence& evidence, Decoder& decoder, const Tokenizer* tokenizer,
            const CardRunOptions& options, const CardObserver& observer, std::stop_token stop)
        : m_evidence(evidence)
        , m_decoder(decoder)
        , m_tokenizer(tokenizer)
        , m_options(options)
        , m_observer(observer)
        , m_stop(std::move(stop))
    {
    }

    void run()
    {
        if (!m_evidence.peaks && m_decoder.device().is_cpu())
            m_evidence.peaks = peaks();
        if (!m_evidence.latency)
            m_evidence.latency = latency();
        const bool isRunnable = !m_evidence.peaks || !isRefused(*m_evidence.peaks, tokens());
        if (!isRunnable || m_tokenizer == nullptr)
            return;
        std::vector<TokenId> ids = m_tokenizer->encode(readBuiltInText(), ControlTokens::Literal);
        ids.resize(
            static_cast<std::size_t>(std::min(tokens(), static_cast<std::int64_t>(ids.size()))));
        if (!m_evidence.positions)
            m_evidence.positions = positions(ids);
        if (!m_evidence.use)
            m_evidence.use = use(ids);
    }

private:
    std::int64_t tokens() const { return m_evidence.tokens; }
    void tell(const std::string& line) const
    {
        if (m_observer)
            m_observer(line);
    }

    PeakReport peaks()
    {
        tell("peak memory");
        PeakOptions options;
        options.lengths = lengthsTo(tokens(), m_options.isQuick ? 2 : 3);
        options.ways = {PrefillWay::Chunked, PrefillWay::OneShot};
        options.chunkTokens = m_options.chunkTokens;
        options.seed = m_options.seed;
        return measurePeaks(
            m_decoder, options,
            [this](const PeakRow& row) {
                tell("  " + formatCount(row.tokens) + " tokens, " +
                     (row.chunkTokens == 0 ? "one shot: " : "chunks: ") +
                     (row.isSkipped() ? "skipped, " + row.skipReason
                                      : formatBytes(row.measuredBytes)));
            },
            m_stop);
    }

    LatencyReport latency()
    {
        tell("first token and decode step");
        LatencyOptions options;
        options.lengths = lengthsTo(tokens(), m_options.isQuick ? 2 : 3);
        options.chunkTokens = m_options.chunkTokens;
        options.repeats = m_options.isQuick ? 1 : 3;
        options.decodeSteps = m_options.isQuick ? 8 : 16;
        options.seed = m_options.seed;
        LatencyObserver observer;
        observer.rowDone = [this](const FirstTokenRow& row) {
            tell("  " + formatCount(row.tokens) + " tokens" +
                 (row.chunkTokens == 0 ? ", one shot: " : ", chunks: ") +
                 (row.isSkipped() ? "skipped, " + row.skipReason : formatSeconds(row.bestSeconds)));
        };
        return measureLatency(m_decoder, options, observer, m_stop);
    }

    PositionsReport positions(const std::vector<TokenId>& ids)
    {
        tell("loss by position, " + std::string(kBuiltInTextName));
        PositionsOptions options;
        options.chunkTokens = m_options.chunkTokens;
        return positionsReport({measurePositions(m_decoder, ids, options, {}, m_stop)});
    }

    UseReport use(const std::vector<TokenId>& ids)
    {
        tell("loss with and without the text before");
        UseOptions options;
        options.numSegments = m_options.isQuick ? 4 : 8;
        options.chunkTokens = m_options.chunkTokens;
        UseObserver observer;
        observer.measured = [this](const UseSegment& segment) {
            tell("  segment " + std::to_string(segment.segment));
        };
        return measureUse(m_decoder, ids, options, observer, m_stop);
    }

    CardEvidence& m_evidence;
    Decoder& m_decoder;
    const Tokenizer* m_tokenizer;
    const CardRunOptions& m_options;
    const CardObserver& m_observer;
    std::stop_token m_stop;
};

LimitsReport limitsOf(const Checkpoint& checkpoint, std::int64_t tokens,
                      std::int64_t cacheElementBytes)
{
    LimitsRequest request;
    request.weights = weightBytesOf(checkpoint);
    request.cacheElementBytes = cacheElementBytes;
    request.lengths = {tokens};
    if (const auto freeBytes = readFreeHostMemory())
        request.budgetBytes = *freeBytes;
    return limitsReport(checkpoint.config, request);
}

} // namespace

std::int64_t usualCardTokens(const ModelConfig& config, bool isQuick)
{
    const std::int64_t made =
        config.extendedPositions > 0 ? config.extendedPositions : kTokensWhereNothingIsStated;
    return isQuick ? std::min(made, kQuickTokens) : made;
}

CardEvidence cardSubject(const Checkpoint& checkpoint, const CardRunOptions& options,
                         std::int64_t cacheElementBytes)
{
    const ModelConfig& config = checkpoint.config;
    const std::string file = fileName(checkpoint.path);
    CardEvidence evidence;
    evidence.model = config.name.empty() ? file : config.name;
    evidence.tokens =
        options.tokens > 0 ? options.tokens : usualCardTokens(config, options.isQuick);
    evidence.limitSeconds = options.limitSeconds;
    evidence.trainedPositions = config.trainedPositions;
    evidence.limits = limitsOf(checkpoint, evidence.tokens, cacheElementBytes);
    evidence.facts = {{"File", file}, {"Hash", modelHash(checkpoint)}, {"Model", summary(config)}};
    return evidence;
}

SweepRequest cardNeedles(const CardRunOptions& options, std::int64_t tokens)
{
    SweepRequest request;
    request.lengths = lengthsTo(tokens, options.isQuick ? 1 : 3);
    request.chunkTokens = options.chunkTokens;
    request.seed = options.seed;
    if (options.isQuick) {
        request.depths = {0.0, 50.0, 100.0};
        request.numItems = 3;
    }
    return request;
}

void measureCard(CardEvidence& evidence, Decoder& decoder, const Tokenizer* tokenizer,
                 const CardRunOptions& options, const CardObserver& observer, std::stop_token stop)
{
    evidence.facts.push_back({"Numbers", decoder.computeDescription() + ", rotation " +
                                             rotaryText(decoder.config()) + ", seed " +
                                             std::to_string(options.seed)});
    evidence.facts.push_back(
        {"Machine", (decoder.device().is_cpu() ? processorName() : decoder.device().str()) + ", " +
                        std::to_string(at::get_num_threads()) + " threads, " +
                        formatBytes(readFreeHostMemory().value_or(0)) + " free"});
    CardRun(evidence, decoder, tokenizer, options, observer, std::move(stop)).run();
}

} // namespace kvscope
