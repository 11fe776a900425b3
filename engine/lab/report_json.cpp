#include "engine/lab/report_json.h"

namespace kvscope {

RecordJson meanJson(const SampleMean& mean)
{
    const auto orNull = [&mean](double value) {
        return mean.hasInterval() ? RecordJson(value) : RecordJson();
    };
    return {{"count", mean.count},
            {"mean", mean.mean},
            {"standard_error", orNull(mean.standardError)},
            {"low", orNull(mean.low)},
            {"high", orNull(mean.high)}};
}

namespace {

RecordJson binJson(const PositionBin& bin)
{
    RecordJson json = {{"first", bin.first}, {"end", bin.end}};
    json.update(meanJson(bin.nll));
    json["perplexity"] = bin.perplexity();
    json["beyond_trained"] = bin.isBeyondTrained;
    return json;
}

RecordJson seriesJson(const PositionsSeries& series, Losses losses)
{
    RecordJson json = {
        {"rope", series.rotary},
        {"cache_dtype", series.cacheDtype.empty() ? RecordJson() : RecordJson(series.cacheDtype)},
        {"trained_positions", series.trainedPositions},
        {"extended_positions", series.extendedPositions},
        {"window", series.window},
        {"whole", series.isWhole},
        {"chunk", series.chunkTokens},
        {"seconds", series.seconds > 0.0 ? RecordJson(series.seconds) : RecordJson()},
        {"first_half", meanJson(series.firstHalf)},
        {"last_bin", meanJson(series.lastBin)},
        {"rise", series.rise()},
        {"behaves", series.behaves()},
        {"decided", series.isDecided()},
        {"bins", RecordJson::array()}};
    for (const PositionBin& bin : series.bins)
        json["bins"].push_back(binJson(bin));
    if (losses == Losses::Kept)
        json["nll"] = series.nll;
    return json;
}

} // namespace

RecordJson positionsJson(const PositionsReport& report, Losses losses)
{
    RecordJson json = {{"tokens", report.tokens}, {"series", RecordJson::array()}};
    for (const PositionsSeries& series : report.series)
        json["series"].push_back(seriesJson(series, losses));
    json["differences"] = RecordJson::array();
    for (const PositionsDifference& bin : report.differences) {
        RecordJson row = {{"first", bin.first}, {"end", bin.end}};
        row.update(meanJson(bin.nll));
        json["differences"].push_back(row);
    }
    return json;
}

RecordJson timedRunJson(const TimedRun& run)
{
    return {
        {"seconds", run.seconds}, {"wait_share", run.waitShare}, {"disturbed", run.isDisturbed()}};
}

RecordJson firstTokenJson(const FirstTokenRow& row)
{
    RecordJson json = {{"tokens", row.tokens},
                       {"chunk", row.chunkTokens},
                       {"seconds", row.isSkipped() ? RecordJson() : RecordJson(row.bestSeconds)},
                       {"disturbed", row.isDisturbed},
                       {"attention_share", row.attentionShare},
                       {"beyond_trained", row.isBeyondTrained},
                       {"runs", RecordJson::array()},
                       {"skipped", row.isSkipped() ? RecordJson(row.skipReason) : RecordJson()}};
    for (const TimedRun& run : row.runs)
        json["runs"].push_back(timedRunJson(run));
    return json;
}

RecordJson decodeStepJson(const DecodeStepRow& row)
{
    return {
        {"cached", row.cachedTokens},
        {"steps", row.numSteps},
        {"disturbed_steps", row.numDisturbed},
        {"disturbed", row.isDisturbed()},
        {"median_seconds", row.medianSeconds},
        {"best_seconds", row.bestSeconds},
        {"weight_bytes", row.weightBytes},
        {"cache_bytes", row.cacheBytes},
        {"floor_seconds", row.floorSeconds > 0.0 ? RecordJson(row.floorSeconds) : RecordJson()}};
}

namespace {

RecordJson fitJson(const HeldOutFit& fit)
{
    return {{"chunk", fit.chunkTokens},
            {"fitted_tokens", fit.fittedTokens},
            {"degrees_of_freedom", fit.degreesOfFreedom()},
            {"disturbed", fit.isDisturbed},
            {"dense_flops_per_second", fit.throughputs.densePerSecond},
            {"attention_flops_per_second", fit.throughputs.attentionPerSecond},
            {"separates", fit.throughputs.separates},
            {"held_out_tokens", fit.heldOutTokens},
            {"measured_seconds", fit.measuredSeconds},
            {"predicted_seconds", fit.predictedSeconds},
            {"error", fit.error()},
            {"single_throughput_predicted_seconds", fit.singlePredictedSeconds},
            {"single_throughput_error", fit.singleError()}};
}

} // namespace

RecordJson latencyJson(const LatencyReport& report)
{
    const auto orNull = [](const std::optional<double>& value) {
        return value ? RecordJson(*value) : RecordJson();
    };
    RecordJson json = {
        {"read_bandwidth_bytes_per_second", report.bandwidthBytesPerSecond > 0.0
                                                ? RecordJson(report.bandwidthBytesPerSecond)
                                                : RecordJson()},
        {"read_bandwidth_disturbed", report.isBandwidthDisturbed},
        {"threads", report.threads},
        {"disturbed_above_wait_share", kDisturbedShare},
        {"first_token", RecordJson::array()},
        {"decode", RecordJson::array()},
        {"fits", RecordJson::array()},
        {"step_seconds_per_1000_cached", orNull(report.stepSecondsPer1000)},
        {"floor_seconds_per_1000_cached", orNull(report.floorSecondsPer1000)}};
    for (const FirstTokenRow& row : report.firstToken)
        json["first_token"].push_back(firstTokenJson(row));
    for (const DecodeStepRow& row : report.decode)
        json["decode"].push_back(decodeStepJson(row));
    for (const HeldOutFit& fit : report.fits)
        json["fits"].push_back(fitJson(fit));
    return json;
}

RecordJson useSegmentJson(const UseSegment& segment)
{
    return {{"segment", segment.segment},
            {"first_target", segment.firstTarget},
            {"targets", segment.numTargets},
            {"whole", meanJson(segment.whole)},
            {"alone", meanJson(segment.alone)},
            {"gain", meanJson(segment.gain)},
            {"largest_difference", segment.largestDifference}};
}

RecordJson useJson(const UseReport& report)
{
    RecordJson json = {{"tokens", report.tokens},
                       {"segment_tokens", report.segmentTokens},
                       {"chunk", report.chunkTokens},
                       {"segments", RecordJson::array()},
                       {"gain", meanJson(report.gain)},
                       {"smallest_segment_gain", report.smallestSegmentGain},
                       {"largest_segment_gain", report.largestSegmentGain},
                       {"perplexity_ratio", report.perplexityRatio()},
                       {"first_segment_agrees", report.firstSegmentAgrees()},
                       {"uses_context", report.usesContext()},
                       {"seconds", report.seconds}};
    for (const UseSegment& segment : report.segments)
        json["segments"].push_back(useSegmentJson(segment));
    return json;
}

RecordJson peakRowJson(const PeakRow& row)
{
    const bool isRun = !row.isSkipped();
    return {{"way", kPrefillWayNames.at(static_cast<std::size_t>(row.way))},
            {"tokens", row.tokens},
            {"chunk", row.chunkTokens},
            {"cache_bytes", row.cacheBytes},
            {"predicted_bytes", row.predictedBytes},
            {"measured_bytes", isRun ? RecordJson(row.measuredBytes) : RecordJson()},
            {"seconds", isRun ? RecordJson(row.seconds) : RecordJson()},
            {"skipped", isRun ? RecordJson() : RecordJson(row.skipReason)}};
}

RecordJson peakJson(const PeakReport& report)
{
    RecordJson json = {{"kind", "measured"},
                       {"free_bytes", report.freeBytes},
                       {"resident_bytes", report.residentBytes},
                       {"weight_bytes", report.weightBytes},
                       {"cache_bytes_per_element", report.cacheNumbers.elementBytes},
                       {"cache_scale_bytes", report.cacheNumbers.scaleBytes},
                       {"chunk", report.chunkTokens},
                       {"rows", RecordJson::array()},
                       {"growth", RecordJson::array()}};
    for (const PeakRow& row : report.rows)
        json["rows"].push_back(peakRowJson(row));
    for (const PeakGrowth& growth : report.growth)
        json["growth"].push_back(
            {{"way", kPrefillWayNames.at(static_cast<std::size_t>(growth.way))},
             {"bytes_per_token_beside_cache", growth.bytesPerToken},
             {"r_squared", growth.explained}});
    return json;
}

} // namespace kvscope
