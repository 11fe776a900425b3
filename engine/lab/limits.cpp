#include "engine/lab/limits.h"

#include "engine/base/errors.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/memory_costs.h"

#include <cmath>

namespace kvscope {
namespace {

void checkMachine(const MachineSpeed& machine)
{
    for (const double speed : {machine.bytesPerSecond, machine.flopsPerSecond})
        if (!std::isfinite(speed) || speed <= 0.0)
            throw ArgumentError("A machine's bandwidth and its FLOPs per second must be above 0.");
}

void setMemory(const ModelConfig& config, const LimitsRequest& request, LimitsRow& row)
{
    const KVBytes cache = kvBytes(config, row.tokens, request.cache);
    row.globalCacheBytes = cache.global;
    row.windowedCacheBytes = cache.windowed;
    row.cacheBytes = cache.total();
    row.fullCacheBytes = cache.everyLayerFull;
    row.unsharedCacheBytes = cache.unshared;
    row.allLogitsBytes = allLogitsBytes(config, row.tokens, request.logitElementBytes);
    row.scoresBytes = scoresBytes(config, row.tokens, request.logitElementBytes);
    row.concatenationBytes = concatenationBytes(config, row.tokens, request.cache);
}

void setPrefill(const ModelConfig& config, LimitsRow& row)
{
    const PrefillFlops prefill = prefillFlops(config, row.tokens);
    row.denseFlops = prefill.dense;
    row.globalAttentionFlops = prefill.globalAttention;
    row.windowedAttentionFlops = prefill.windowedAttention;
    row.attentionShare = prefill.attentionShare();
    const ProjectionFlops projection = projectionFlops(config, row.tokens);
    row.projectionFlops = projection.cached;
    row.recomputeFactor = projection.factor();
}

void setDecode(const ModelConfig& config, const LimitsRequest& request, LimitsRow& row)
{
    const DecodeCost step =
        decodeCost(config, row.tokens, request.weights.perDecodeStep, request.cache);
    row.decodeBytes = step.bytes();
    row.decodeFlops = step.flops;
    row.decodeIntensity = step.intensity();
    row.decodeSeconds = step.seconds(request.machine.bytesPerSecond);
    row.tokensPerSecond = 1.0 / row.decodeSeconds;
}

BudgetFit budgetFit(const ModelConfig& config, const LimitsRequest& request)
{
    const std::uint64_t weights = request.countsWeights ? request.weights.total : 0;
    const ContextFit fit = longestContext(config, *request.budgetBytes, weights, request.cache);
    return {.budgetBytes = *request.budgetBytes,
            .countsWeights = request.countsWeights,
            .weightsFit = fit.weightsFit,
            .isUnbounded = fit.isUnbounded,
            .longestContext = fit.tokens};
}

LimitsReport describe(const ModelConfig& config, const LimitsRequest& request)
{
    LimitsReport report;
    report.name = config.name;
    report.family = config.architecture;
    report.totalParameters = config.totalParameters();
    report.activeParameters = config.activeParameters();
    report.multipliedParameters = multipliedParameters(config);
    report.numLayers = config.numLayers();
    report.numGlobalLayers = config.numLayers(LayerKind::Global);
    report.numWindowedLayers = config.numLayers(LayerKind::Windowed);
    report.numHeads = config.numHeads;
    report.numKvHeads = config.numKvHeads;
    report.headDim = config.headDim;
    report.attentionWidth = attentionWidth(config);
    report.vocabularySize = config.vocabularySize;
    report.trainedPositions = config.trainedPositions;
    report.extendedPositions = config.extendedPositions;
    report.weightBytes = request.weights.total;
    report.decodeWeightBytes = request.weights.perDecodeStep;
    report.cacheNumbers = request.cache;
    report.logitElementBytes = request.logitElementBytes;
    report.cacheBytesPerLayer =
        static_cast<std::uint64_t>(config.cacheBytesPerToken(request.cache));
    return report;
}

} // namespace

std::vector<std::int64_t> usualLengths(const ModelConfig& config)
{
    const std::int64_t last = config.extendedPositions > 0 ? config.extendedPositions : 131072;
    std::vector<std::int64_t> lengths;
    for (std::int64_t length = 1024; length < last; length *= 2)
        lengths.push_back(length);
    lengths.push_back(last);
    return lengths;
}

LimitsReport limitsReport(const ModelConfig& config, const LimitsRequest& request)
{
    checkMachine(request.machine);
    LimitsReport report = describe(config, request);
    report.machine = request.machine;
    report.ridge = ridge(request.machine.flopsPerSecond, request.machine.bytesPerSecond);
    report.cacheIntensity = cacheIntensity(config, request.cache);
    report.crossoverTokens = crossoverTokens(config, MaskedWork::Skipped);
    report.denseMaskCrossoverTokens = crossoverTokens(config, MaskedWork::Done);
    if (request.budgetBytes)
        report.budget = budgetFit(config, request);
    for (const std::int64_t length : request.lengths) {
        LimitsRow row;
        row.tokens = length;
        setMemory(config, request, row);
        setPrefill(config, row);
        setDecode(config, request, row);
        if (report.budget)
            row.fitsBudget = length <= report.budget->longestContext;
        report.rows.push_back(row);
    }
    return report;
}

} // namespace kvscope
