#include "engine/lab/positions.h"
#include "engine/lab/sample_mean.h"
#include "engine/model/rotary_override.h"

#include <algorithm>

namespace kvscope {
namespace {

SampleMean meanOver(const std::vector<double>& nll, std::int64_t first, std::int64_t end)
{
    return sampleMean(std::span(nll).subspan(static_cast<std::size_t>(first),
                                             static_cast<std::size_t>(end - first)));
}

std::vector<std::int64_t> sortedOnce(std::vector<std::int64_t> edges)
{
    std::sort(edges.begin(), edges.end());
    edges.erase(std::unique(edges.begin(), edges.end()), edges.end());
    return edges;
}

/// Losses exist up to position length - 2, so the last bin ends one short of the length.
std::vector<PositionBin> binned(const std::vector<double>& nll, std::vector<std::int64_t> edges,
                                std::int64_t trainedPositions)
{
    const auto numPositions = std::ssize(nll);
    if (trainedPositions > 0 && trainedPositions < numPositions)
        edges.push_back(trainedPositions);
    edges = sortedOnce(std::move(edges));
    std::vector<PositionBin> bins;
    for (std::size_t i = 0; i + 1 < edges.size(); ++i) {
        PositionBin bin;
        bin.first = edges[i];
        bin.end = std::min(edges[i + 1], numPositions);
        if (bin.first >= bin.end)
            continue;
        bin.nll = meanOver(nll, bin.first, bin.end);
        bin.isBeyondTrained = trainedPositions > 0 && bin.first >= trainedPositions;
        bins.push_back(bin);
    }
    return bins;
}

std::int64_t longestWindow(const ModelConfig& config)
{
    std::int64_t window = 0;
    for (const LayerConfig& layer : config.layers)
        if (layer.kind == LayerKind::Windowed)
            window = std::max(window, layer.window);
    return window;
}

} // namespace

std::vector<std::int64_t> octaveEdges(std::int64_t length)
{
    constexpr std::int64_t kFinerFrom = 8192; // the chapter's first bin is N/8 at 4K, N/16 at 16K
    std::vector<std::int64_t> edges = {0, length, length - length / 4};
    for (std::int64_t part = 2; part <= (length >= kFinerFrom ? 16 : 8); part *= 2)
        edges.push_back(length / part);
    return sortedOnce(std::move(edges));
}

std::vector<std::int64_t> equalEdges(std::int64_t length, std::int64_t count)
{
    count = std::min(count, length);
    const std::int64_t size = length / count;
    const std::int64_t longer = length % count; // the first ones hold one more
    std::vector<std::int64_t> edges;
    for (std::int64_t i = 0; i <= count; ++i)
        edges.push_back(i * size + std::min(i, longer));
    return edges;
}

PositionsSeries positionsSeries(const ModelConfig& config, std::vector<double> nll,
                                const PositionsOptions& options)
{
    const auto numPositions = std::ssize(nll);
    PositionsSeries series;
    series.rotary = rotaryText(config);
    series.trainedPositions = config.trainedPositions;
    series.extendedPositions = config.extendedPositions;
    series.window = longestWindow(config);
    series.isWhole = options.isWhole;
    series.chunkTokens = options.chunkTokens;
    series.nll = std::move(nll);
    series.bins = binned(series.nll,
                         options.numBins > 0 ? equalEdges(numPositions + 1, options.numBins)
                                             : octaveEdges(numPositions + 1),
                         config.trainedPositions);
    if (numPositions > 0) {
        series.firstHalf =
            meanOver(series.nll, 0, std::max<std::int64_t>(1, (numPositions + 1) / 2));
        series.lastBin = series.bins.back().nll;
    }
    return series;
}

PositionsReport positionsReport(std::vector<PositionsSeries> series)
{
    PositionsReport report;
    report.series = std::move(series);
    if (!report.series.empty())
        report.tokens = std::ssize(report.series.front().nll) + 1;
    if (report.series.size() != 2)
        return report;
    const std::vector<double>& first = report.series[0].nll;
    const std::vector<double>& second = report.series[1].nll;
    std::vector<double> difference(std::min(first.size(), second.size()));
    for (std::size_t i = 0; i < difference.size(); ++i)
        difference[i] = second[i] - first[i];
    for (const PositionBin& bin : report.series[0].bins)
        report.differences.push_back(
            {bin.first, bin.end, meanOver(difference, bin.first, bin.end)});
    return report;
}

} // namespace kvscope
