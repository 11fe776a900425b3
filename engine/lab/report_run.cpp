#include "engine/lab/report_run.h"

#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/base/path_name.h"
#include "engine/base/units.h"
#include "engine/lab/failure_text.h"
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
#include <ctime>
#include <functional>
#include <set>

namespace kvscope {
namespace {

constexpr std::int64_t kQuickTokens = 2048;
constexpr std::int64_t kTokensWhereNothingIsStated = 4096;
constexpr std::int64_t kShortestPrompt = 16;

bool hasFact(const CardEvidence& evidence, const std::string& label)
{
    return std::any_of(evidence.facts.begin(), evidence.facts.end(),
                       [&](const CardNote& fact) { return fact.label == label; });
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

/// The row that says that a prompt of the length cannot be run; null where none does.
const PeakRow* refusedRow(const PeakReport& report, std::int64_t tokens)
{
    for (const PeakRow& row : report.rows)
        if (row.way == PrefillWay::Chunked && row.tokens == tokens && row.isSkipped())
            return &row;
    return nullptr;
}

/// By tokens, each of which is dearer than the one before.
double shareOf(const PrefillProgress& progress)
{
    return static_cast<double>(progress.doneTokens) / static_cast<double>(progress.totalTokens);
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
            measure(CardPart::Peaks, [this] { m_evidence.peaks = peaks(); });
        if (!m_evidence.latency)
            measure(CardPart::Latency, [this] { m_evidence.latency = latency(); });
        if (!m_evidence.positions)
            measure(CardPart::Positions, [this] { m_evidence.positions = positions(textIds()); });
        if (!m_evidence.use)
            measure(CardPart::Use, [this] { m_evidence.use = use(textIds()); });
    }

private:
    std::int64_t tokens() const { return m_evidence.tokens; }
    void tell(const std::string& row) const
    {
        if (m_observer.told)
            m_observer.told(row);
    }
    void tellShare(double share) const
    {
        if (m_observer.progressed)
            m_observer.progressed(share);
    }

    /// A part that refuses takes none of the others with it.
    void measure(CardPart part, const std::function<void()>& run)
    {
        if (m_observer.begun)
            m_observer.begun(part);
        try {
            run();
        } catch (const std::exception&) { // memory that ran out among them; Stopped is none
            m_evidence.refusals.push_back({part, failureFromCurrentException().message});
            tell("not measured: " + m_evidence.refusals.back().reason);
        }
    }

    /// The built-in text as far as the card's length.
    std::vector<TokenId> textIds() const
    {
        if (m_options.contextLimit > 0 && tokens() > m_options.contextLimit)
            throw ArgumentError(formatCount(m_options.contextLimit) + " positions may be used");
        if (m_tokenizer == nullptr)
            throw ArgumentError("the model has no tokenizer that can be used, so it reads no text");
        if (m_evidence.peaks)
            if (const PeakRow* row = refusedRow(*m_evidence.peaks, tokens()))
                throw MemoryError("not tried, as a prefill " + row->skipReason);
        return firstIds(*m_tokenizer, readBuiltInText(), tokens(), ControlTokens::Literal);
    }

    PeakReport peaks()
    {
        PeakOptions options;
        options.lengths = cardLengths(m_options, tokens());
        options.ways = {PrefillWay::Chunked, PrefillWay::OneShot};
        options.chunkTokens = m_options.chunkTokens;
        options.seed = m_options.seed;
        options.contextLimit = m_options.contextLimit;
        const double numRows = static_cast<double>(options.lengths.size() * options.ways.size());
        double done = 0.0;
        return measurePeaks(
            m_decoder, options,
            [&](const PeakRow& row) {
                tellShare(++done / numRows);
                tell(formatCount(row.tokens) + " tokens, " +
                     (row.chunkTokens == 0 ? "one shot: " : "chunks: ") +
                     (row.isSkipped() ? "skipped, " + row.skipReason
                                      : formatBytes(row.measuredBytes)));
            },
            m_stop);
    }

    LatencyReport latency()
    {
        LatencyOptions options;
        options.lengths = cardLengths(m_options, tokens());
        options.chunkTokens = m_options.chunkTokens;
        options.repeats = m_options.isQuick ? 1 : 3;
        options.decodeSteps = m_options.isQuick ? 8 : 16;
        options.seed = m_options.seed;
        options.contextLimit = m_options.contextLimit;
        LatencyObserver observer;
        double left = 0.0;
        double gone = 0.0; // of runs alone: what watches may pause between them
        const auto tellTime = [&] { tellShare(left > 0.0 ? gone / (gone + left) : 0.0); };
        observer.estimated = [&](double seconds) {
            left = seconds;
            tellTime();
        };
        observer.prefilled = [&](std::int64_t, std::int64_t, const TimedRun& run) {
            gone += run.seconds;
            tellTime();
        };
        observer.decodeDone = [&](const DecodeStepRow& row) {
            gone += row.medianSeconds * static_cast<double>(row.numSteps);
        };
        observer.stepped = m_observer.stepped;
        observer.rowDone = [this](const FirstTokenRow& row) {
            tell(formatCount(row.tokens) + " tokens" +
                 (row.chunkTokens == 0 ? ", one shot: " : ", chunks: ") +
                 (row.isSkipped() ? "skipped, " + row.skipReason : formatSeconds(row.bestSeconds)));
        };
        return measureLatency(m_decoder, options, observer, m_stop);
    }

    PositionsReport positions(const std::vector<TokenId>& ids)
    {
        PositionsOptions options;
        options.chunkTokens = m_options.chunkTokens;
        PositionsObserver observer;
        observer.progressed = [this](const PrefillProgress& progress) {
            tellShare(shareOf(progress));
        };
        observer.stepped = m_observer.stepped;
        return positionsReport({measurePositions(m_decoder, ids, options, observer, m_stop)});
    }

    UseReport use(const std::vector<TokenId>& ids)
    {
        UseOptions options;
        options.numSegments = m_options.isQuick ? 4 : 8;
        options.chunkTokens = m_options.chunkTokens;
        UseObserver observer;
        observer.progressed = [this](const PrefillProgress& progress) {
            tellShare(shareOf(progress));
        };
        observer.stepped = m_observer.stepped;
        observer.measured = [this](const UseSegment& segment) {
            tell("segment " + std::to_string(segment.segment));
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

LimitsReport limitsOf(const Checkpoint& checkpoint, std::int64_t tokens, const CacheNumbers& cache,
                      std::uint64_t budgetBytes)
{
    LimitsRequest request;
    request.weights = weightBytesOf(checkpoint);
    request.cache = cache;
    request.lengths = {tokens};
    if (budgetBytes > 0)
        request.budgetBytes = budgetBytes;
    return limitsReport(checkpoint.config, request);
}

} // namespace

CardNote madeNote(const std::string& version)
{
    const std::time_t now = std::time(nullptr);
    std::tm parts{};
    ::gmtime_r(&now, &parts);
    char text[32];
    std::strftime(text, sizeof(text), "%Y-%m-%d", &parts);
    return {"Made", "kvscope " + version + ", " + text};
}

std::vector<std::int64_t> cardLengths(const CardRunOptions& options, std::int64_t tokens)
{
    return lengthsTo(tokens, options.isQuick ? 2 : 3);
}

std::int64_t usualCardTokens(const ModelConfig& config, bool isQuick)
{
    const std::int64_t made =
        config.extendedPositions > 0 ? config.extendedPositions : kTokensWhereNothingIsStated;
    return isQuick ? std::min(made, kQuickTokens) : made;
}

CardEvidence cardSubject(const Checkpoint& checkpoint, const CardRunOptions& options,
                         const CacheNumbers& cache, std::uint64_t budgetBytes)
{
    const ModelConfig& config = checkpoint.config;
    const std::string file = lastName(checkpoint.path);
    CardEvidence evidence;
    evidence.model = config.name.empty() ? file : config.name;
    evidence.tokens =
        options.tokens > 0 ? options.tokens : usualCardTokens(config, options.isQuick);
    evidence.limitSeconds = options.limitSeconds;
    evidence.trainedPositions = config.trainedPositions;
    evidence.limits = limitsOf(checkpoint, evidence.tokens, cache, budgetBytes);
    evidence.facts = {{"File", file}, {"Hash", modelHash(checkpoint)}, {"Model", summary(config)}};
    return evidence;
}

SweepRequest cardNeedles(const CardRunOptions& options, std::int64_t tokens)
{
    SweepRequest request;
    request.lengths = lengthsTo(tokens, options.isQuick ? 1 : 3);
    request.chunkTokens = options.chunkTokens;
    request.seed = options.seed;
    request.contextLimit = options.contextLimit;
    if (options.isQuick) {
        request.depths = {0.0, 50.0, 100.0};
        request.numItems = 3;
        // A length passes with fewestTrialsToPass() in all its depths, 22 of 22: 9 never do.
        request.maxTrials = 9;
    }
    return request;
}

void measureCard(CardEvidence& evidence, Decoder& decoder, const Tokenizer* tokenizer,
                 const CardRunOptions& options, const CardObserver& observer, std::stop_token stop)
{
    // Where records stand for some parts, their fact names the numbers, which are these.
    if (!hasFact(evidence, "Numbers"))
        evidence.facts.push_back({"Numbers", decoder.computeDescription() + ", rotation " +
                                                 rotaryText(decoder.config()) + ", seed " +
                                                 std::to_string(options.seed)});
    if (!hasFact(evidence, "Machine"))
        evidence.facts.push_back({"Machine", machineText(decoder.device()) + ", " +
                                                 formatBytes(readFreeHostMemory().value_or(0)) +
                                                 " free"});
    CardRun(evidence, decoder, tokenizer, options, observer, std::move(stop)).run();
}

} // namespace kvscope
