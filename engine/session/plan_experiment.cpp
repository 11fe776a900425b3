#include "engine/session/plan_experiment.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/cache/scaled_rows.h"
#include "engine/lab/latency.h"
#include "engine/lab/positions.h"
#include "engine/lab/positions_scheme.h"
#include "engine/lab/prompt_room.h"
#include "engine/lab/use.h"
#include "engine/model/rotary_override.h"
#include "engine/session/experiment_command_line.h"
#include "engine/session/experiment_run.h"
#include "engine/session/experiment_text.h"

#include <algorithm>
#include <string>

namespace kvscope {
namespace {

/// Fills one plan.
class Planner
{
public:
    Planner(const OpenModel& model, const std::stop_token& stop)
        : m_model(model)
        , m_config(model.decoder->config())
        , m_stop(stop)
    {
    }

    ExperimentPlan take() { return std::move(m_plan); }

    void operator()(const LimitsExperiment& limits)
    {
        const LimitsReport report = limitsOf(m_model, limits);
        for (const LimitsRow& row : report.rows) {
            PlanRow planned = rowFor(row.tokens);
            planned.tokens = 0; // nothing is run
            m_plan.rows.push_back(planned);
        }
        m_plan.basis = "arithmetic, at once";
    }

    void operator()(const PositionsExperiment& positions)
    {
        const std::vector<TokenId> ids = textIds(positions.text);
        requirePositionsRunnable(*m_model.decoder, std::ssize(ids));
        const auto schemes = schemesOf(m_model.opened, positions);
        requireDifferentSchemes(m_model.checkpoint, m_model.opened.dtype, m_model.opened.cacheDtype,
                                schemes);
        for (const PositionsScheme& scheme : schemes) {
            const auto checkpoint = withRotary(m_model.checkpoint, scheme.rotary);
            PlanRow row = rowFor(std::ssize(ids));
            row.label = rotaryText(checkpoint->config);
            const MixedKVCache cache = cacheFor(m_model, scheme.cacheDtype);
            if (positions.cacheDtypes.size() == 2)
                row.label += std::string(", ") +
                             cacheTypeName(cache.options().dtype().toScalarType()) + " cache";
            row.skipReason = reasonToSkip(*m_model.decoder, row.tokens, positions.chunkTokens);
            if (row.skipReason.empty())
                row.skipReason =
                    reasonAgainstPrompt(*m_model.decoder, cache, row.tokens, positions.chunkTokens);
            row.seconds = scoring().seconds(m_config, row.tokens).value_or(0.0);
            add(row);
        }
        m_plan.basis = scoring().basis();
        for (const PlanRow& row : m_plan.rows) // nothing is gained by the first alone
            if (m_plan.refusal.empty())
                m_plan.refusal = row.skipReason;
    }

    void operator()(const UseExperiment& use)
    {
        const std::vector<TokenId> ids = textIds(use.text);
        UseOptions options;
        options.numSegments = use.numSegments;
        options.chunkTokens = use.chunkTokens;
        requireUseRunnable(*m_model.decoder, std::ssize(ids), options);
        const std::int64_t segment = std::ssize(ids) / use.numSegments;
        PlanRow whole = rowFor(segment * use.numSegments);
        whole.label = "whole text";
        const std::int64_t atOnce = use.chunkTokens > 0 ? use.chunkTokens : segment;
        whole.skipReason = reasonToSkip(*m_model.decoder, whole.tokens, atOnce);
        whole.seconds = scoring().seconds(m_config, whole.tokens).value_or(0.0);
        m_plan.refusal = whole.skipReason;
        PlanRow alone = whole;
        alone.label = formatCount(use.numSegments) + " segments alone";
        alone.isBeyondTrained = isBeyondTrained(segment);
        alone.seconds = static_cast<double>(use.numSegments) *
                        scoring().seconds(m_config, segment).value_or(0.0);
        add(whole);
        add(alone);
        m_plan.basis = scoring().basis();
        if (const std::int64_t left = std::ssize(ids) % use.numSegments; left > 0)
            m_plan.notes.push_back("The last " + formatCount(left) + " of " +
                                   formatCount(std::ssize(ids)) +
                                   " tokens do not fill a segment and are not used.");
    }

    void operator()(const LatencyExperiment& latency)
    {
        LatencyOptions options;
        options.lengths = latency.lengths;
        options.chunkTokens = latency.chunkTokens;
        options.repeats = latency.repeats;
        options.decodeSteps = latency.decodeSteps;
        requireLatencyRunnable(options);
        std::sort(options.lengths.begin(), options.lengths.end());
        options.lengths.erase(std::unique(options.lengths.begin(), options.lengths.end()),
                              options.lengths.end());
        for (const std::int64_t length : options.lengths) {
            PlanRow row = rowFor(length);
            const std::int64_t ways =
                latency.chunkTokens > 0 && latency.chunkTokens < length ? 2 : 1;
            const std::int64_t allowed = m_model.opened.contextLimit;
            row.skipReason =
                allowed > 0 && length > allowed
                    ? formatCount(allowed) + " positions may be used"
                    : reasonToSkip(*m_model.decoder, length, ways == 2 ? latency.chunkTokens : 0);
            row.tokens = length * ways * latency.repeats;
            row.seconds = static_cast<double>(ways * latency.repeats) *
                          m_model.timedPrefills.seconds(m_config, length).value_or(0.0);
            add(row);
        }
        m_plan.basis = m_model.timedPrefills.basis();
        if (std::all_of(m_plan.rows.begin(), m_plan.rows.end(),
                        [](const PlanRow& row) { return !row.skipReason.empty(); }))
            m_plan.refusal = "No length can be run: " + m_plan.rows.front().skipReason + ".";
    }

    void operator()(const SweepSettings& settings);

    void operator()(const CardExperiment& card)
    {
        for (const PlanRow& row : cardRows(m_model, card))
            add(row);
        m_plan.basis = m_model.timedPrefills.basis();
        m_plan.notes.push_back("What was measured before is measured again: a card's numbers are "
                               "of one moment.");
    }

private:
    /// Scoring is a prefill and a head; where none was timed, prefills stand for it.
    const TimedPrefills& scoring() const
    {
        return m_model.timedScoring.isEmpty() ? m_model.timedPrefills : m_model.timedScoring;
    }

    std::vector<TokenId> textIds(const LabText& text)
    {
        std::vector<TokenId> ids = experimentIds(m_model, text);
        m_plan.notes.push_back("Text: " + textName(text) + ", " + formatCount(std::ssize(ids)) +
                               " tokens from its start.");
        return ids;
    }

    bool isBeyondTrained(std::int64_t tokens) const
    {
        return m_config.trainedPositions > 0 && tokens > m_config.trainedPositions;
    }

    PlanRow rowFor(std::int64_t tokens) const
    {
        PlanRow row;
        row.label = formatCount(tokens);
        row.tokens = tokens;
        row.isBeyondTrained = isBeyondTrained(tokens);
        return row;
    }

    void add(const PlanRow& row)
    {
        m_plan.rows.push_back(row);
        if (!row.skipReason.empty())
            return;
        m_plan.tokens += row.tokens;
        m_plan.seconds += row.seconds;
    }

    const OpenModel& m_model;
    const ModelConfig& m_config;
    const std::stop_token& m_stop;
    ExperimentPlan m_plan;
};

void Planner::operator()(const SweepSettings& settings)
{
    const SweepReport report = plannedSweep(m_model, settings.request, m_stop);
    for (const SweepColumn& column : report.columns) {
        PlanRow row = rowFor(column.tokens);
        row.isBeyondTrained = column.isBeyondTrained;
        row.skipReason = column.skipReason;
        std::int64_t trials = column.control.plannedTrials;
        for (const SweepCell& cell : column.cells)
            trials += cell.plannedTrials;
        row.tokens = trials * column.tokens;
        row.seconds = static_cast<double>(trials) * column.secondsPerTrial;
        add(row);
    }
    m_plan.tokens = report.progress.queued.tokens;
    m_plan.seconds = report.progress.secondsLeft;
    m_plan.basis = m_model.timedPrefills.basis();
    m_plan.notes.push_back(report.conditions);
    m_plan.sweep = std::make_shared<const SweepReport>(report);
}

} // namespace

ExperimentPlan planExperiment(const OpenModel& model, const ExperimentRequest& request,
                              const std::stop_token& stop)
{
    Planner planner(model, stop);
    std::string refusal;
    try {
        std::visit(planner, request.experiment);
    } catch (const EngineError& error) { // what it says is the plan's answer
        refusal = error.what();
    }
    ExperimentPlan plan = planner.take();
    if (!refusal.empty())
        plan.refusal = refusal;
    plan.commandLine = experimentCommandLine(model.opened, request);
    return plan;
}

} // namespace kvscope
