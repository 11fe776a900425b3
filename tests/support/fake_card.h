#pragma once

#include "engine/lab/report_card.h"

namespace kvscope {

/// A mean with an interval of +-reach.
inline SampleMean meanOf(double mean, double reach)
{
    return {100, mean, reach / 1.98, mean - reach, mean + reach};
}

inline PositionsReport fakePositions(std::int64_t tokens, double lastBin, double reach = 0.05)
{
    PositionsSeries series;
    series.rotary = "plain";
    series.trainedPositions = 8192;
    series.chunkTokens = 512;
    series.firstHalf = meanOf(2.8, 0.02);
    for (std::int64_t i = 0; i < 8; ++i) {
        PositionBin bin;
        bin.first = i * tokens / 8;
        bin.end = (i + 1) * tokens / 8;
        bin.nll = meanOf(i == 7 ? lastBin : 2.8 + (i == 0 ? 0.6 : 0.02 * double(i % 3)), reach);
        series.bins.push_back(bin);
    }
    series.lastBin = series.bins.back().nll;
    return {tokens, {series}, {}};
}

inline FirstTokenRow firstToken(std::int64_t tokens, std::int64_t chunk, double seconds,
                                bool isDisturbed = false)
{
    FirstTokenRow row;
    row.tokens = tokens;
    row.chunkTokens = chunk;
    row.runs = {{seconds, isDisturbed ? 0.5 : 0.0}};
    row.bestSeconds = seconds;
    row.isDisturbed = isDisturbed;
    return row;
}

inline LatencyReport fakeLatency(std::int64_t tokens, double seconds)
{
    LatencyReport report;
    report.bandwidthBytesPerSecond = 17.4e9;
    report.threads = 2;
    for (const std::int64_t part : {8, 4, 2, 1}) {
        const double share = 1.0 / double(part);
        report.firstToken.push_back(
            firstToken(tokens / part, 0, seconds * share * (0.5 + 0.6 * share)));
        report.firstToken.push_back(
            firstToken(tokens / part, 512, seconds * share * (0.5 + 0.5 * share)));
        DecodeStepRow step;
        step.cachedTokens = tokens / part;
        step.numSteps = 16;
        step.medianSeconds = 0.0095 + 0.0085 * share;
        step.bestSeconds = step.medianSeconds;
        step.floorSeconds = 0.0055 + 0.009 * share;
        report.decode.push_back(step);
    }
    HeldOutFit fit;
    fit.chunkTokens = 512;
    fit.heldOutTokens = tokens;
    fit.throughputs = {3.3e11, 1.6e11, true};
    fit.measuredSeconds = seconds;
    fit.predictedSeconds = seconds * 1.04;
    fit.singlePredictedSeconds = seconds * 0.9;
    report.fits = {fit};
    return report;
}

inline PeakRow peakRow(PrefillWay way, std::int64_t tokens, double mebibytes)
{
    PeakRow row;
    row.way = way;
    row.tokens = tokens;
    row.chunkTokens = way == PrefillWay::OneShot ? 0 : 512;
    row.cacheBytes = static_cast<std::uint64_t>(tokens) * 23040;
    row.measuredBytes = static_cast<std::uint64_t>(mebibytes * 1048576.0);
    row.predictedBytes = row.measuredBytes * 11 / 10;
    return row;
}

inline PeakReport fakePeaks(std::int64_t tokens, double mebibytes, std::uint64_t freeBytes)
{
    PeakReport report;
    report.freeBytes = freeBytes;
    report.chunkTokens = 512;
    for (const std::int64_t part : {8, 4, 2, 1}) {
        report.rows.push_back(
            peakRow(PrefillWay::Chunked, tokens / part, 20.0 + (mebibytes - 20.0) / double(part)));
        report.rows.push_back(
            peakRow(PrefillWay::OneShot, tokens / part, 2.2 * mebibytes / double(part)));
    }
    report.growth = {{PrefillWay::Chunked, 300.0, 0.4}, {PrefillWay::OneShot, 34000.0, 0.999}};
    return report;
}

inline UseReport fakeUse(std::int64_t tokens, double gain, double reach)
{
    UseReport report;
    report.segmentTokens = tokens / 8;
    report.tokens = report.segmentTokens * 8;
    report.chunkTokens = 512;
    for (std::int64_t i = 0; i < 8; ++i) {
        UseSegment segment;
        segment.segment = i;
        segment.firstTarget = i * report.segmentTokens + report.segmentTokens / 2;
        segment.numTargets = report.segmentTokens / 2;
        segment.gain = i == 0 ? SampleMean{100, 0, 0, 0, 0}
                              : meanOf(gain * (0.8 + 0.1 * double(i % 4)), 2.5 * reach);
        segment.alone = meanOf(3.1, 0.1);
        segment.whole = meanOf(3.1 - segment.gain.mean, 0.1);
        segment.largestDifference = i == 0 ? 0.0 : 1.0;
        report.segments.push_back(segment);
    }
    report.gain = meanOf(gain, reach);
    report.gain.count = std::ssize(report.segments) - 1;
    return report;
}

/// \param found  of twelve, in the middle of the longest column
inline SweepReport fakeNeedle(std::int64_t tokens, std::int64_t effective, std::int64_t most)
{
    SweepReport report;
    report.experiment = "needle";
    report.conditions = "12 facts, chat template, greedy, answers of 12 tokens";
    report.depths = {0, 25, 50, 75, 100};
    report.absolute.threshold = 0.856;
    report.absolute.tokens = effective;
    report.absolute.mostTokens = most;
    report.relative = report.absolute;
    report.relative.threshold = 0.779;
    report.endsAgainstMiddle = {{44, 48}, {38, 72}, 2.5e-5, {20, 24}, {24, 24}};
    report.oracle.score = {11, 12};
    for (const std::int64_t part : {8, 4, 2, 1}) {
        SweepColumn column;
        column.tokens = tokens / part;
        for (int depth = 0; depth < 5; ++depth) {
            SweepCell cell;
            const bool isEnd = depth == 0 || depth == 4;
            cell.score = {
                std::max<std::int64_t>(2, (isEnd ? 12 : 8) - (isEnd ? 1 : 2) * (8 / part) / 2), 12};
            column.cells.push_back(cell);
        }
        column.control.score = {0, 12};
        report.absolute.lengths.push_back({column.tokens, {}, {}, PassVerdict::Passes});
        report.columns.push_back(column);
    }
    for (int depth = 0; depth < 5; ++depth) {
        SweepCell cell;
        cell.score = {depth == 0 || depth == 4 ? 44 : 26, 48};
        const double rate = cell.score.rate();
        cell.interval = {std::max(0.0, rate - 0.1), std::min(1.0, rate + 0.07)};
        report.byDepth.push_back(cell);
    }
    return report;
}

inline LimitsReport fakeLimits()
{
    LimitsReport report;
    report.numLayers = 30;
    report.cacheBytesPerLayer = 768;
    report.budget = BudgetFit{std::uint64_t{3328} << 20, true, true, false, 120'300};
    return report;
}

/// Everything measured at 8,192 tokens, and all well but for the middle of the needle search.
inline CardEvidence fakeEvidence()
{
    CardEvidence evidence;
    evidence.model = "SmolLM2-135M-Instruct";
    evidence.tokens = 8192;
    evidence.trainedPositions = 8192;
    evidence.facts = {{"File", "SmolLM2-135M-Instruct.Q4_1.gguf"},
                      {"Hash", "fnv1a64:4f1c09ae77d20011"},
                      {"Model", "llama, 134.5 M parameters, 30 global layers"},
                      {"Numbers", "Q4_1 with float32 sums, rotation plain, seed 42"},
                      {"Machine", "made-up processor, 2 threads, 3.10 GiB free"},
                      {"Made", "kvscope, made-up numbers"}};
    evidence.command = "kvscope-cli report smollm2.gguf --seed 42";
    evidence.positions = fakePositions(8192, 2.82);
    evidence.limits = fakeLimits();
    evidence.peaks = fakePeaks(8192, 322.0, std::uint64_t{3174} << 20);
    evidence.latency = fakeLatency(8192, 18.3);
    evidence.use = fakeUse(8192, 0.29, 0.03);
    evidence.needle = fakeNeedle(8192, 1024, 2048);
    return evidence;
}

} // namespace kvscope
