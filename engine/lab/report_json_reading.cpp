#include "engine/lab/report_json.h"
#include "engine/lab/strict_fields.h"
#include "engine/lab/use.h"

#include <optional>
#include <vector>

namespace kvscope {
namespace {

constexpr std::size_t kMostItems = 100'000;
constexpr std::size_t kMostText = 10'000;

/// Nothing for null, as what was not measured is written.
std::optional<double> numberIfAny(const RecordJson& json, const char* key)
{
    return strictAt(json, key).is_null() ? std::nullopt : std::optional(strictNumber(json, key));
}

double numberOrZero(const RecordJson& json, const char* key)
{
    return numberIfAny(json, key).value_or(0.0);
}

/// Of a field that older records do not have.
bool flagIfAny(const RecordJson& json, const char* key)
{
    return json.contains(key) && strictFlag(json, key);
}

/// Every item of a list, as `from` reads it.
template <typename Read>
auto listFrom(const RecordJson& json, const char* key, Read from)
{
    std::vector<decltype(from(json))> items;
    for (const RecordJson& item : strictList(json, key, kMostItems))
        items.push_back(from(item));
    return items;
}

SampleMean meanFrom(const RecordJson& json)
{
    SampleMean mean;
    mean.count = strictCount(json, "count");
    mean.mean = strictNumber(json, "mean");
    mean.standardError = numberOrZero(json, "standard_error");
    mean.low = numberIfAny(json, "low").value_or(mean.mean);
    mean.high = numberIfAny(json, "high").value_or(mean.mean);
    return mean;
}

std::string textOrEmpty(const RecordJson& json, const char* key)
{
    return strictAt(json, key).is_null() ? "" : strictText(json, key, kMostText);
}

PositionBin binFrom(const RecordJson& json)
{
    PositionBin bin;
    bin.first = strictCount(json, "first");
    bin.end = strictCount(json, "end");
    bin.nll = meanFrom(json);
    bin.isBeyondTrained = strictFlag(json, "beyond_trained");
    return bin;
}

PositionsSeries seriesFrom(const RecordJson& json)
{
    PositionsSeries series;
    series.rotary = strictText(json, "rope", kMostText);
    if (json.contains("cache_dtype") && !json["cache_dtype"].is_null()) // not in older records
        series.cacheDtype = strictText(json, "cache_dtype", kMostText);
    series.trainedPositions = strictCount(json, "trained_positions");
    series.extendedPositions = strictCount(json, "extended_positions");
    series.window = strictCount(json, "window");
    series.isWhole = strictFlag(json, "whole");
    series.chunkTokens = strictCount(json, "chunk");
    series.seconds = numberOrZero(json, "seconds");
    series.firstHalf = meanFrom(strictAt(json, "first_half"));
    series.lastBin = meanFrom(strictAt(json, "last_bin"));
    series.bins = listFrom(json, "bins", binFrom);
    return series;
}

TimedRun runFrom(const RecordJson& json)
{
    return {strictNumber(json, "seconds"), strictNumber(json, "wait_share")};
}

FirstTokenRow firstTokenFrom(const RecordJson& json)
{
    FirstTokenRow row;
    row.tokens = strictCount(json, "tokens");
    row.chunkTokens = strictCount(json, "chunk");
    row.bestSeconds = numberOrZero(json, "seconds");
    row.isDisturbed = strictFlag(json, "disturbed");
    row.attentionShare = strictNumber(json, "attention_share");
    row.skipReason = textOrEmpty(json, "skipped");
    row.isBeyondTrained = flagIfAny(json, "beyond_trained");
    row.runs = listFrom(json, "runs", runFrom);
    return row;
}

DecodeStepRow decodeStepFrom(const RecordJson& json)
{
    DecodeStepRow row;
    row.cachedTokens = strictCount(json, "cached");
    row.numSteps = strictCount(json, "steps");
    row.numDisturbed = strictCount(json, "disturbed_steps");
    row.medianSeconds = strictNumber(json, "median_seconds");
    row.bestSeconds = strictNumber(json, "best_seconds");
    row.weightBytes = static_cast<std::uint64_t>(strictCount(json, "weight_bytes"));
    row.cacheBytes = static_cast<std::uint64_t>(strictCount(json, "cache_bytes"));
    row.floorSeconds = numberOrZero(json, "floor_seconds");
    return row;
}

HeldOutFit fitFrom(const RecordJson& json)
{
    HeldOutFit fit;
    fit.chunkTokens = strictCount(json, "chunk");
    fit.fittedTokens = listFrom(json, "fitted_tokens",
                                [](const RecordJson& tokens) { return strictCount(tokens); });
    fit.isDisturbed = strictFlag(json, "disturbed");
    fit.throughputs = {strictNumber(json, "dense_flops_per_second"),
                       strictNumber(json, "attention_flops_per_second"),
                       strictFlag(json, "separates")};
    fit.heldOutTokens = strictCount(json, "held_out_tokens");
    fit.measuredSeconds = strictNumber(json, "measured_seconds");
    fit.predictedSeconds = strictNumber(json, "predicted_seconds");
    fit.singlePredictedSeconds = strictNumber(json, "single_throughput_predicted_seconds");
    return fit;
}

UseSegment segmentFrom(const RecordJson& json)
{
    UseSegment segment;
    segment.segment = strictCount(json, "segment");
    segment.firstTarget = strictCount(json, "first_target");
    segment.numTargets = strictCount(json, "targets");
    segment.whole = meanFrom(strictAt(json, "whole"));
    segment.alone = meanFrom(strictAt(json, "alone"));
    segment.gain = meanFrom(strictAt(json, "gain"));
    segment.largestDifference = strictNumber(json, "largest_difference");
    return segment;
}

PeakRow peakRowFrom(const RecordJson& json)
{
    PeakRow row;
    row.way = static_cast<PrefillWay>(strictChoice(json, "way", kPrefillWayNames));
    row.skipReason = textOrEmpty(json, "skipped");
    row.tokens = strictCount(json, "tokens");
    row.chunkTokens = strictCount(json, "chunk");
    row.cacheBytes = static_cast<std::uint64_t>(strictCount(json, "cache_bytes"));
    row.predictedBytes = static_cast<std::uint64_t>(strictCount(json, "predicted_bytes"));
    row.measuredBytes = row.skipReason.empty()
                            ? static_cast<std::uint64_t>(strictCount(json, "measured_bytes"))
                            : 0;
    row.seconds = numberOrZero(json, "seconds");
    return row;
}

} // namespace

PositionsReport positionsFrom(const RecordJson& json)
{
    PositionsReport report;
    report.tokens = strictCount(json, "tokens");
    report.series = listFrom(json, "series", seriesFrom);
    return report;
}

LatencyReport latencyFrom(const RecordJson& json)
{
    LatencyReport report;
    report.bandwidthBytesPerSecond = numberOrZero(json, "read_bandwidth_bytes_per_second");
    report.isBandwidthDisturbed = flagIfAny(json, "read_bandwidth_disturbed");
    report.threads = static_cast<int>(strictCount(json, "threads") % 1'000'000);
    report.firstToken = listFrom(json, "first_token", firstTokenFrom);
    report.decode = listFrom(json, "decode", decodeStepFrom);
    report.fits = listFrom(json, "fits", fitFrom);
    report.stepSecondsPer1000 = numberIfAny(json, "step_seconds_per_1000_cached");
    report.floorSecondsPer1000 = numberIfAny(json, "floor_seconds_per_1000_cached");
    return report;
}

UseReport useFrom(const RecordJson& json)
{
    UseReport report;
    report.tokens = strictCount(json, "tokens");
    report.segmentTokens = strictCount(json, "segment_tokens");
    report.chunkTokens = strictCount(json, "chunk");
    report.segments = listFrom(json, "segments", segmentFrom);
    report.gain = meanFrom(strictAt(json, "gain"));
    if (report.gain.count != std::ssize(report.segments) - 1)
        report.gain = pooledGain(report.segments); // version 0.1.0 took targets for its sample
    report.smallestSegmentGain = strictNumber(json, "smallest_segment_gain");
    report.largestSegmentGain = strictNumber(json, "largest_segment_gain");
    report.seconds = strictNumber(json, "seconds");
    return report;
}

PeakReport peakFrom(const RecordJson& json)
{
    PeakReport report;
    report.freeBytes = static_cast<std::uint64_t>(strictCount(json, "free_bytes"));
    report.residentBytes = static_cast<std::uint64_t>(strictCount(json, "resident_bytes"));
    report.weightBytes = static_cast<std::uint64_t>(strictCount(json, "weight_bytes"));
    report.cacheNumbers = strictCount(json, "cache_bytes_per_element");
    if (json.contains("cache_scale_bytes")) // not in older records
        report.cacheNumbers.scaleBytes = strictCount(json, "cache_scale_bytes");
    report.chunkTokens = strictCount(json, "chunk");
    report.rows = listFrom(json, "rows", peakRowFrom);
    for (const RecordJson& growth : strictList(json, "growth", kNumPrefillWays))
        report.growth.push_back(
            {static_cast<PrefillWay>(strictChoice(growth, "way", kPrefillWayNames)),
             strictNumber(growth, "bytes_per_token_beside_cache"),
             strictNumber(growth, "r_squared")});
    return report;
}

} // namespace kvscope
