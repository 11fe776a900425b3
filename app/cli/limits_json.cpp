#include "app/cli/limits_output.h"

namespace kvscope {
namespace {

Json orNull(const std::optional<double>& value)
{
    return value ? Json(*value) : Json(nullptr);
}

Json orNull(std::int64_t positions)
{
    return positions > 0 ? Json(positions) : Json(nullptr);
}

Json budgetJson(const LimitsReport& report)
{
    if (!report.budget)
        return nullptr;
    const BudgetFit& budget = *report.budget;
    return {{"bytes", budget.budgetBytes},
            {"counts_weights", budget.countsWeights},
            {"weight_bytes", budget.countsWeights ? report.weightBytes : 0},
            {"weights_fit", budget.weightsFit},
            {"unbounded", budget.isUnbounded},
            {"longest_context", budget.isUnbounded ? Json(nullptr) : Json(budget.longestContext)}};
}

Json rowJson(const LimitsRow& row)
{
    const double attention = row.globalAttentionFlops + row.windowedAttentionFlops;
    return {{"tokens", row.tokens},
            {"kv_bytes",
             {{"total", row.cacheBytes},
              {"global", row.globalCacheBytes},
              {"windowed", row.windowedCacheBytes},
              {"all_global", row.fullCacheBytes},
              {"without_gqa", row.unsharedCacheBytes}}},
            {"fits", row.fitsBudget ? Json(*row.fitsBudget) : Json(nullptr)},
            {"prefill_flops",
             {{"dense", row.denseFlops},
              {"attention", attention},
              {"attention_global", row.globalAttentionFlops},
              {"attention_windowed", row.windowedAttentionFlops},
              {"total", row.denseFlops + attention}}},
            {"attention_share", row.attentionShare},
            {"decode",
             {{"bytes", row.decodeBytes},
              {"flops", row.decodeFlops},
              {"flops_per_byte", row.decodeIntensity},
              {"seconds_floor", row.decodeSeconds},
              {"tokens_per_second_ceiling", row.tokensPerSecond}}},
            {"all_logits_bytes", row.allLogitsBytes},
            {"scores_bytes_per_layer", row.scoresBytes},
            {"kv_projection_flops", row.projectionFlops},
            {"recompute_factor", row.recomputeFactor},
            {"concatenation_bytes", row.concatenationBytes}};
}

} // namespace

Json limitsJson(const LimitsReport& report)
{
    Json rows = Json::array();
    for (const LimitsRow& row : report.rows)
        rows.push_back(rowJson(row));
    return {{"kind", "arithmetic"},
            {"name", report.name},
            {"family", report.family},
            {"parameters",
             {{"total", report.totalParameters},
              {"active", report.activeParameters},
              {"multiplied", report.multipliedParameters}}},
            {"shape",
             {{"layers", report.numLayers},
              {"global_layers", report.numGlobalLayers},
              {"windowed_layers", report.numWindowedLayers},
              {"query_heads", report.numHeads},
              {"kv_heads", report.numKvHeads},
              {"head_dim", report.headDim},
              {"attention_width", report.attentionWidth},
              {"vocabulary", report.vocabularySize}}},
            {"trained_positions", orNull(report.trainedPositions)},
            {"extended_positions", orNull(report.extendedPositions)},
            {"weight_bytes", report.weightBytes},
            {"decode_weight_bytes", report.decodeWeightBytes},
            {"cache",
             {{"bytes_per_element", report.cacheNumbers.elementBytes},
              {"scale_bytes", report.cacheNumbers.scaleBytes},
              {"bytes_per_token_per_layer", report.cacheBytesPerLayer},
              {"flops_per_byte", report.cacheIntensity}}},
            {"logit_bytes_per_element", report.logitElementBytes},
            {"machine",
             {{"source", report.machine.source},
              {"bytes_per_second", report.machine.bytesPerSecond},
              {"flops_per_second", report.machine.flopsPerSecond},
              {"ridge_flops_per_byte", report.ridge}}},
            {"budget", budgetJson(report)},
            {"crossover_tokens", orNull(report.crossoverTokens)},
            {"crossover_tokens_dense_masks", orNull(report.denseMaskCrossoverTokens)},
            {"rows", rows}};
}

} // namespace kvscope
