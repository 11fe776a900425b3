#include "engine/session/experiment_run.h"

#include "engine/base/memory_reading.h"
#include "engine/base/units.h"
#include "engine/lab/latency.h"
#include "engine/lab/limits.h"
#include "engine/lab/report_json.h"
#include "engine/lab/run_record_identity.h"
#include "engine/lab/use.h"
#include "engine/model/decoder_types.h"
#include "engine/model/rotary_override.h"
#include "engine/session/experiment_text.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvscope {
namespace {

constexpr double kGib = 1024.0 * 1024.0 * 1024.0;

/// This machine where its speed was measured with this model, else the usual one.
MachineSpeed machineOf(const OpenModel& model)
{
    MachineSpeed machine;
    if (model.bytesPerSecond <= 0.0 || model.timedPrefills.isEmpty())
        return machine;
    machine.bytesPerSecond = model.bytesPerSecond;
    machine.flopsPerSecond = model.timedPrefills.flopsPerSecond();
    machine.source = "this machine: bandwidth measured, the most FLOPs a prefill reached";
    return machine;
}

std::string tokensOf(const PrefillProgress& progress)
{
    return formatCount(progress.doneTokens) + " of " + formatCount(progress.totalTokens) +
           " tokens";
}

} // namespace

ExperimentReport runExperiment(ExperimentContext& context)
{
    struct Run
    {
        ExperimentContext& context;
        ExperimentReport operator()(const LimitsExperiment& one) { return runLimits(context, one); }
        ExperimentReport operator()(const PositionsExperiment& one)
        {
            return runPositions(context, one);
        }
        ExperimentReport operator()(const LatencyExperiment& one)
        {
            return runLatency(context, one);
        }
        ExperimentReport operator()(const UseExperiment& one) { return runUse(context, one); }
        ExperimentReport operator()(const SweepSettings& one) { return runSweep(context, one); }
        ExperimentReport operator()(const CardExperiment& one) { return runCard(context, one); }
    };
    return std::visit(Run{context}, context.request().experiment);
}

std::uint64_t memoryBudget(const OpenModel& model, double budgetGib)
{
    if (budgetGib > 0.0)
        return static_cast<std::uint64_t>(std::floor(std::min(budgetGib, 1e9) * kGib));
    return model.decoder->weightBytes() + readFreeHostMemory().value_or(0);
}

LimitsReport limitsOf(const OpenModel& model, const LimitsExperiment& experiment)
{
    const ModelConfig& config = model.decoder->config();
    const CacheNumbers cache = model.decoder->cacheNumbers();
    LimitsRequest request;
    request.weights = weightBytesOf(*model.checkpoint);
    request.cache = cache;
    request.logitElementBytes =
        logitBytes(resolvedType(*model.checkpoint, computeTypeFrom(model.opened.dtype)),
                   model.decoder->device());
    request.lengths = experiment.lengths.empty() ? usualLengths(config) : experiment.lengths;
    request.budgetBytes = memoryBudget(model, experiment.budgetGib);
    request.machine = machineOf(model);
    return limitsReport(config, request);
}

ExperimentReport runLimits(ExperimentContext& context, const LimitsExperiment& experiment)
{
    context.begin(*context.model().decoder, std::nullopt);
    return std::make_shared<const LimitsReport>(limitsOf(context.model(), experiment));
}

ExperimentReport runLatency(ExperimentContext& context, const LatencyExperiment& experiment)
{
    OpenModel& model = context.model();
    LatencyOptions options;
    options.lengths = experiment.lengths;
    options.chunkTokens = experiment.chunkTokens;
    options.repeats = experiment.repeats;
    options.decodeSteps = experiment.decodeSteps;
    options.seed = context.request().seed;
    options.contextLimit = model.opened.contextLimit;
    requireLatencyRunnable(options);
    context.begin(*model.decoder, RecordJson{{"lengths", options.lengths},
                                             {"chunk", options.chunkTokens},
                                             {"repeats", options.repeats},
                                             {"decode_steps", options.decodeSteps},
                                             {"max_context", options.contextLimit},
                                             {"threads", at::get_num_threads()}});
    std::int64_t longest = 0;
    for (const std::int64_t length : options.lengths)
        if ((options.contextLimit == 0 || length <= options.contextLimit) &&
            reasonToSkip(*model.decoder, length, options.chunkTokens).empty())
            longest = std::max(longest, length);
    if (longest > 0)
        context.planCache(cacheBytesNeeded(model.context->cache(), longest));
    // A length counts as done when its decode steps are; prefills tell in between.
    LatencyObserver observer;
    std::string what = "memory bandwidth";
    double left = 0.0;
    const auto tell = [&] {
        const double gone = context.secondsGone();
        context.tell(left > 0.0 ? gone / (gone + left) : 0.0, left, what);
    };
    observer.stepped = [&](const MixedKVCache& cache) { context.showCache(cache); };
    observer.prefilled = [&](std::int64_t tokens, std::int64_t chunk, const TimedRun& run) {
        RecordJson line = {{"tokens", tokens}, {"chunk", chunk}};
        line.update(timedRunJson(run));
        context.append("prefill", line);
        if (!run.isDisturbed())
            model.timedPrefills.add(model.decoder->config(), tokens, run.seconds);
        what = formatCount(tokens) + " tokens, " + (chunk == 0 ? "one shot" : "in chunks");
        tell();
        context.between();
    };
    observer.rowDone = [&](const FirstTokenRow& row) { context.emit(row); };
    observer.decodeDone = [&](const DecodeStepRow& row) {
        context.append("decode", decodeStepJson(row));
        context.emit(row);
        context.between();
    };
    observer.estimated = [&](double seconds) {
        left = seconds;
        tell();
    };
    tell();
    const auto report = std::make_shared<const LatencyReport>(
        measureLatency(*model.decoder, options, observer, context.stop()));
    if (!report->isBandwidthDisturbed || model.bytesPerSecond <= 0.0) // else the earlier one holds
        model.bytesPerSecond = report->bandwidthBytesPerSecond;
    context.finishRecord(latencyJson(*report));
    return report;
}

ExperimentReport runUse(ExperimentContext& context, const UseExperiment& experiment)
{
    OpenModel& model = context.model();
    const std::vector<TokenId> ids = experimentIds(model, experiment.text);
    UseOptions options;
    options.numSegments = experiment.numSegments;
    options.chunkTokens = experiment.chunkTokens;
    requireUseRunnable(*model.decoder, std::ssize(ids), options);
    context.begin(*model.decoder, RecordJson{{"length", ids.size()},
                                             {"ids_hash", idsHash(ids)},
                                             {"segments", options.numSegments},
                                             {"chunk", options.chunkTokens}});
    context.planCache(cacheBytesNeeded(model.context->cache(), std::ssize(ids)));
    UseObserver observer;
    observer.stepped = [&](const MixedKVCache& cache) { context.showCache(cache); };
    observer.progressed = [&](const PrefillProgress& progress) {
        const double done = static_cast<double>(progress.doneTokens);
        const double share = done / static_cast<double>(progress.totalTokens);
        context.tell(share, context.secondsGone() * (1.0 - share) / share,
                     "both passes: " + tokensOf(progress));
        context.between();
    };
    observer.measured = [&](const UseSegment& segment) {
        context.append("segment", useSegmentJson(segment));
        context.emit(segment);
    };
    UseReport report = measureUse(*model.decoder, ids, options, observer, context.stop());
    report.seconds = std::max(0.0, report.seconds - context.secondsAway());
    context.finishRecord(useJson(report));
    return std::make_shared<const UseReport>(std::move(report));
}

std::unique_ptr<Decoder> anotherDecoder(const OpenModel& model, const OpenRequest& opened,
                                        std::stop_token stop)
{
    DecoderOptions options;
    options.device = opened.device;
    options.computeType = computeTypeFrom(opened.dtype);
    options.cacheType = cacheTypeFrom(opened.cacheDtype);
    options.stop = std::move(stop);
    const bool turnsAlike = opened.rotary == model.opened.rotary; // the open checkpoint has it
    return std::make_unique<Decoder>(
        turnsAlike ? model.checkpoint : withRotary(model.checkpoint, opened.rotary), options);
}

MixedKVCache cacheFor(const OpenModel& model, const std::string& cacheDtype)
{
    MixedKVCache own = model.decoder->makeCache();
    if (cacheDtype.empty())
        return own;
    const at::ScalarType type = cacheTypeIn(*model.checkpoint, model.opened.dtype, cacheDtype);
    return {own.shape(), own.options().dtype(type)};
}

} // namespace kvscope
