#include "engine/base/errors.h"
#include "engine/base/path_name.h"
#include "engine/lab/failure_text.h"
#include "engine/lab/latency.h"
#include "engine/lab/report_run.h"
#include "engine/session/experiment_command_line.h"
#include "engine/session/experiment_run.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <numeric>
#include <utility>

namespace kvscope {
namespace {

CardRunOptions optionsOf(const OpenModel& model, const CardExperiment& experiment,
                         std::uint64_t seed)
{
    if (!std::isfinite(experiment.limitSeconds) || experiment.limitSeconds <= 0.0)
        throw ArgumentError("the time that a first token may take must be above 0");
    if (experiment.tokens < 0 || experiment.chunkTokens <= 0)
        throw ArgumentError("a card's length and chunk must be positive");
    CardRunOptions options;
    options.tokens = experiment.tokens;
    options.limitSeconds = experiment.limitSeconds;
    options.isQuick = experiment.isQuick;
    options.chunkTokens = experiment.chunkTokens;
    options.seed = seed;
    options.contextLimit = model.opened.contextLimit;
    return options;
}

/// The command that makes the card anew; a card goes to others, so it names no folder.
std::string commandOf(const OpenModel& model, const ExperimentRequest& request)
{
    OpenRequest opened = model.opened;
    opened.path = lastName(opened.path);
    opened.tokenizerFile = lastName(opened.tokenizerFile);
    return experimentCommandLine(opened, request);
}

std::int64_t tokensOf(const OpenModel& model, const CardExperiment& experiment)
{
    return experiment.tokens > 0 ? experiment.tokens
                                 : usualCardTokens(model.decoder->config(), experiment.isQuick);
}

/// What is searched for needles: as many tokens as its lengths that can be run have.
PlanRow needleRow(const OpenModel& model, const CardRunOptions& options, PlanRow row,
                  std::int64_t tokens)
{
    row.label = "needle search";
    const SweepRequest request = cardNeedles(options, tokens);
    try {
        for (const SweepColumn& column : plannedSweep(model, request, {}).columns) {
            if (!column.skipReason.empty())
                continue;
            const std::int64_t trials =
                request.numItems * (1 + static_cast<std::int64_t>(request.depths.size()));
            row.tokens += trials * column.tokens;
            row.seconds +=
                static_cast<double>(trials) *
                model.timedPrefills.seconds(model.decoder->config(), column.tokens).value_or(0.0);
        }
    } catch (const EngineError& error) {
        row.skipReason = error.what();
    }
    return row;
}

/// How far a card is: every part weighs what its plan says.
class CardProgress
{
public:
    CardProgress(ExperimentContext& context, const std::vector<PlanRow>& rows)
        : m_context(context)
    {
        const bool hasPeaks = context.model().decoder->device().is_cpu(); // else its row is missing
        for (std::size_t i = 0; i < rows.size(); ++i)
            m_seconds.at(i + (hasPeaks ? 0 : 1)) =
                rows[i].skipReason.empty() ? std::max(rows[i].seconds, kLeastSeconds) : 0.0;
    }

    void begin(CardPart part)
    {
        m_part = static_cast<std::size_t>(part);
        m_share = 0.0;
        m_row.clear();
        tell(&ExperimentContext::tellNow);
    }
    void tellRow(const std::string& row)
    {
        m_row = row;
        tell();
    }
    void tellShare(double share)
    {
        m_share = share;
        tell();
    }

private:
    static constexpr double kLeastSeconds = 0.01; // where no time is known, parts are equal

    void tell(void (ExperimentContext::*how)(double, double,
                                             const std::string&) = &ExperimentContext::tell)
    {
        const auto part = m_seconds.begin() + static_cast<std::ptrdiff_t>(m_part);
        const double before = std::accumulate(m_seconds.begin(), part, 0.0);
        const double whole = std::accumulate(part, m_seconds.end(), before);
        const double share = whole > 0.0 ? (before + m_share * *part) / whole : 0.0;
        const double gone = m_context.secondsGone();
        (m_context.*how)(share, share > 0.0 ? gone * (1.0 - share) / share : 0.0,
                         partTitle(static_cast<CardPart>(m_part)) +
                             (m_row.empty() ? "" : ": " + m_row));
        m_context.between();
    }

    ExperimentContext& m_context;
    std::array<double, 5> m_seconds{}; ///< by part
    std::size_t m_part = 0;
    double m_share = 0.0; ///< of the part
    std::string m_row;
};

/// Measures all five parts.
void measureAll(ExperimentContext& context, CardEvidence& evidence, const CardRunOptions& options,
                CardProgress& progress)
{
    OpenModel& model = context.model();
    CardObserver observer;
    observer.begun = [&](CardPart part) { progress.begin(part); };
    observer.told = [&](const std::string& row) { progress.tellRow(row); };
    observer.progressed = [&](double share) { progress.tellShare(share); };
    observer.stepped = [&](const MixedKVCache& cache) { context.showCache(cache); };
    measureCard(evidence, *model.decoder, model.tokenizer.get(), options, observer, context.stop());
    progress.begin(CardPart::Needles);
    try {
        evidence.needle = searchNeedles(context, cardNeedles(options, evidence.tokens),
                                        [&](double share, const std::string& trial) {
                                            progress.tellShare(share);
                                            progress.tellRow(trial);
                                        });
    } catch (const std::exception&) { // memory that ran out among them; Stopped is none
        evidence.refusals.push_back({CardPart::Needles, failureFromCurrentException().message});
    }
}

} // namespace

std::vector<PlanRow> cardRows(const OpenModel& model, const CardExperiment& experiment)
{
    const CardRunOptions options = optionsOf(model, experiment, 0); // complains of what is wrong
    const ModelConfig& config = model.decoder->config();
    const std::int64_t tokens = tokensOf(model, experiment);
    const auto seconds = [&](std::int64_t length) {
        return model.timedPrefills.seconds(config, length).value_or(0.0);
    };
    PlanRow common;
    common.isBeyondTrained = config.trainedPositions > 0 && tokens > config.trainedPositions;
    common.skipReason = reasonToSkip(*model.decoder, tokens, experiment.chunkTokens);
    PlanRow peaks = common;
    peaks.label = "peak memory";
    PlanRow latency = common;
    latency.label = "first token";
    peaks.skipReason.clear(); // the shorter lengths say what fits
    latency.skipReason.clear();
    for (const std::int64_t length : cardLengths(options, tokens)) {
        const std::int64_t ways = experiment.chunkTokens < length ? 2 : 1;
        const std::int64_t runs = ways * (experiment.isQuick ? 1 : 3);
        peaks.tokens += ways * length;
        peaks.seconds += static_cast<double>(ways) * seconds(length);
        latency.tokens += runs * length;
        latency.seconds += static_cast<double>(runs) * seconds(length);
    }
    std::vector<PlanRow> rows;
    if (model.decoder->device().is_cpu())
        rows.push_back(std::move(peaks));
    rows.push_back(std::move(latency));
    if (model.tokenizer == nullptr)
        return rows;
    PlanRow loss = common;
    loss.label = "loss by position";
    loss.tokens = tokens;
    loss.seconds = seconds(tokens);
    PlanRow use = common;
    use.label = "use";
    use.tokens = 2 * tokens;
    use.seconds = 2.0 * seconds(tokens);
    rows.push_back(std::move(loss));
    rows.push_back(std::move(use));
    rows.push_back(needleRow(model, options, std::move(common), tokens));
    return rows;
}

ExperimentReport runCard(ExperimentContext& context, const CardExperiment& experiment)
{
    OpenModel& model = context.model();
    const CardRunOptions options = optionsOf(model, experiment, context.request().seed);
    CardEvidence evidence = cardSubject(*model.checkpoint, options, model.decoder->cacheNumbers(),
                                        memoryBudget(model, 0.0));
    evidence.command = commandOf(model, context.request());
    context.begin(*model.decoder, std::nullopt);
    if (reasonToSkip(*model.decoder, evidence.tokens, options.chunkTokens).empty())
        context.planCache(cacheBytesNeeded(model.context->cache(), evidence.tokens));
    CardProgress progress(context, cardRows(model, experiment));
    measureAll(context, evidence, options, progress);
    evidence.facts.push_back(madeNote(KVSCOPE_VERSION));
    return std::make_shared<const ReportCard>(reportCard(evidence));
}

} // namespace kvscope
