#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/positions.h"
#include "engine/lab/positions_record.h"
#include "engine/lab/positions_scheme.h"
#include "engine/lab/prompt_room.h"
#include "engine/lab/report_json.h"
#include "engine/lab/run_record_identity.h"
#include "engine/model/decoder_types.h"
#include "engine/model/rotary_override.h"
#include "engine/session/experiment_command_line.h"
#include "engine/session/experiment_run.h"
#include "engine/session/experiment_text.h"

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

/// The schemes of a text, one after the other.
class PositionsRun
{
public:
    PositionsRun(ExperimentContext& context, const PositionsExperiment& experiment)
        : m_context(context)
        , m_schemes(schemesOf(context.model().opened, experiment))
        , m_comparesCaches(experiment.cacheDtypes.size() == 2)
    {
        m_options.chunkTokens = experiment.chunkTokens;
        m_options.numBins = experiment.numBins;
        m_options.isWhole = experiment.isWhole;
        const OpenModel& model = context.model();
        requireDifferentSchemes(model.checkpoint, model.opened.dtype, model.opened.cacheDtype,
                                m_schemes);
        for (const PositionsScheme& scheme : m_schemes) // a wrong one is told before the first runs
            withRotary(model.checkpoint, scheme.rotary);
        m_ids = experimentIds(context.model(), experiment.text);
    }

    PositionsReport run()
    {
        const OpenModel& model = m_context.model();
        requirePositionsRunnable(*model.decoder, std::ssize(m_ids));
        std::uint64_t cacheBytes = 0;
        for (const PositionsScheme& scheme : m_schemes) {
            const MixedKVCache cache = cacheFor(model, scheme.cacheDtype);
            requirePromptFits(*model.decoder, cache, std::ssize(m_ids), m_options.chunkTokens);
            cacheBytes = std::max(cacheBytes, cacheBytesNeeded(cache, std::ssize(m_ids)));
        }
        m_context.planCache(cacheBytes);
        for (std::size_t i = 0; i < m_schemes.size(); ++i) {
            const auto other = otherDecoder(m_schemes[i]);
            Decoder& decoder = other ? *other : *model.decoder;
            if (i == 0)
                m_context.begin(decoder, settings());
            m_series.push_back(scheme(decoder, i));
        }
        return positionsReport(std::move(m_series));
    }

private:
    /// Null where the open model's is the one.
    std::unique_ptr<Decoder> otherDecoder(const PositionsScheme& scheme) const
    {
        const OpenModel& model = m_context.model();
        OpenRequest opened = model.opened;
        const auto cacheOf = [&](const std::string& name) {
            return cacheTypeIn(*model.checkpoint, opened.dtype, name);
        };
        const bool isOpenCache =
            scheme.cacheDtype.empty() || cacheOf(scheme.cacheDtype) == cacheOf(opened.cacheDtype);
        if (scheme.rotary == opened.rotary && isOpenCache)
            return nullptr;
        opened.rotary = scheme.rotary;
        if (!scheme.cacheDtype.empty())
            opened.cacheDtype = scheme.cacheDtype;
        return anotherDecoder(model, opened, m_context.stop());
    }

    RecordJson settings() const
    {
        RecordJson rotaries = RecordJson::array();
        for (const PositionsScheme& scheme : m_schemes)
            rotaries.push_back(scheme.rotary);
        RecordJson json = {{"length", m_ids.size()},
                           {"ids_hash", idsHash(m_ids)},
                           {"chunk", m_options.chunkTokens},
                           {"whole", m_options.isWhole},
                           {"ropes", rotaries}};
        if (m_comparesCaches)
            for (const PositionsScheme& scheme : m_schemes)
                json["cache_dtypes"].push_back(scheme.cacheDtype);
        return json;
    }

    PositionsSeries scheme(Decoder& decoder, std::size_t index)
    {
        const ModelConfig& config = decoder.config();
        PositionsSeries frame = positionsSeries(config, {}, m_options);
        if (m_comparesCaches)
            frame.cacheDtype = decoder.cacheTypeName();
        m_context.emit(PositionsBegun{index, std::ssize(m_ids), frame.name(),
                                      frame.trainedPositions, frame.extendedPositions,
                                      frame.window});
        if (m_context.record() != nullptr)
            if (auto nll = recordedLosses(*m_context.record(), index, m_ids.size() - 1)) {
                m_context.emit(PositionsScored{index, {0, *nll, 0.0}});
                PositionsSeries series = positionsSeries(config, std::move(*nll), m_options);
                series.seconds = recordedSeconds(*m_context.record(), index);
                series.cacheDtype = frame.cacheDtype;
                return series;
            }
        const double away = m_context.secondsAway();
        PositionsSeries series =
            measurePositions(decoder, m_ids, m_options, observer(index, frame), m_context.stop());
        series.seconds = std::max(0.0, series.seconds - (m_context.secondsAway() - away));
        series.cacheDtype = frame.cacheDtype;
        m_context.model().timedScoring.add(config, std::ssize(m_ids), series.seconds);
        return series;
    }

    PositionsObserver observer(std::size_t index, const PositionsSeries& frame)
    {
        PositionsObserver observer;
        observer.scored = [this, index, frame](const ScoredPositions& part) {
            m_context.append(kPositionsKind, scoredJson(index, frame, part));
            m_context.emit(PositionsScored{index, part});
        };
        observer.stepped = [this](const MixedKVCache& cache) { m_context.showCache(cache); };
        observer.progressed = [this, index, name = frame.name()](const PrefillProgress& progress) {
            // The schemes to come take as long as this one.
            const double whole = progress.secondsElapsed + progress.secondsLeft;
            const double count = static_cast<double>(m_schemes.size());
            const double left =
                progress.secondsLeft + whole * (count - 1.0 - static_cast<double>(index));
            const double share = (static_cast<double>(index) +
                                  (whole > 0.0 ? progress.secondsElapsed / whole : 1.0)) /
                                 count;
            m_context.tell(share, left,
                           name + ": " + formatCount(progress.doneTokens) + " of " +
                               formatCount(progress.totalTokens) + " tokens");
            m_context.between();
        };
        return observer;
    }

    ExperimentContext& m_context;
    std::vector<PositionsScheme> m_schemes;
    bool m_comparesCaches; ///< else rotations, or nothing
    PositionsOptions m_options;
    std::vector<TokenId> m_ids;
    std::vector<PositionsSeries> m_series;
};

} // namespace

ExperimentReport runPositions(ExperimentContext& context, const PositionsExperiment& experiment)
{
    const auto report =
        std::make_shared<const PositionsReport>(PositionsRun(context, experiment).run());
    context.finishRecord(positionsJson(*report, Losses::LeftOut));
    return report;
}

} // namespace kvscope
