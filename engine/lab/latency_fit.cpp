#include "engine/lab/latency_fit.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

double multipliedParameters(const ModelConfig& config)
{
    std::int64_t count = config.activeParameters();
    if (!config.hasTiedHead)
        count -= config.vocabularySize * config.modelWidth;
    if (config.hasLearnedPositions)
        count -= config.trainedPositions * config.modelWidth;
    return static_cast<double>(count);
}

} // namespace

PrefillWork prefillWork(const ModelConfig& config, std::int64_t tokens)
{
    const auto count = static_cast<double>(tokens);
    const auto width = static_cast<double>(config.numHeads * config.headDim);
    const double triangle = 2.0 * width * count * count;
    PrefillWork work;
    work.dense = 2.0 * multipliedParameters(config) * count;
    for (const LayerConfig& layer : config.layers)
        work.attention +=
            layer.kind == LayerKind::Global
                ? triangle
                : std::min(triangle, 4.0 * width * static_cast<double>(layer.window) * count);
    return work;
}

TwoThroughputs fitOneThroughput(std::span<const PrefillPoint> points)
{
    double sum = 0.0;
    double squares = 0.0;
    for (const PrefillPoint& point : points) {
        const double relative = point.work.total() / point.seconds;
        sum += relative;
        squares += relative * relative;
    }
    return {squares / sum, squares / sum, false};
}

TwoThroughputs fitTwoThroughputs(std::span<const PrefillPoint> points)
{
    // Least squares of a u + b v = 1, with u and v the work over the measured seconds.
    double uu = 0.0;
    double uv = 0.0;
    double vv = 0.0;
    double u = 0.0;
    double v = 0.0;
    for (const PrefillPoint& point : points) {
        const double dense = point.work.dense / point.seconds;
        const double attention = point.work.attention / point.seconds;
        uu += dense * dense;
        uv += dense * attention;
        vv += attention * attention;
        u += dense;
        v += attention;
    }
    const double determinant = uu * vv - uv * uv;
    constexpr double kTellsApart =
        1e-9; // far above rounding, far below lengths that differ by 10 %
    if (determinant <= kTellsApart * uu * vv)
        return fitOneThroughput(points);
    const double densePrice = (u * vv - v * uv) / determinant;
    const double attentionPrice = (v * uu - u * uv) / determinant;
    if (densePrice <= 0.0 || attentionPrice <= 0.0)
        return fitOneThroughput(points);
    return {1.0 / densePrice, 1.0 / attentionPrice, true};
}

std::optional<HeldOutFit> heldOutFit(const ModelConfig& config,
                                     const std::vector<FirstTokenRow>& rows,
                                     std::int64_t chunkTokens)
{
    std::vector<const FirstTokenRow*> used;
    for (const FirstTokenRow& row : rows)
        if (!row.isSkipped() && row.chunkTokens == chunkTokens)
            used.push_back(&row);
    constexpr std::size_t kFewestLengths = 3; // two constants, and one to hold out
    if (used.size() < kFewestLengths)
        return std::nullopt;
    std::sort(used.begin(), used.end(),
              [](const auto* a, const auto* b) { return a->tokens < b->tokens; });
    const FirstTokenRow& heldOut = *used.back();
    HeldOutFit fit;
    fit.chunkTokens = chunkTokens;
    fit.isDisturbed = heldOut.isDisturbed;
    std::vector<PrefillPoint> points;
    for (const FirstTokenRow* row : std::span(used).first(used.size() - 1)) {
        points.push_back({prefillWork(config, row->tokens), row->bestSeconds});
        fit.fittedTokens.push_back(row->tokens);
        fit.isDisturbed = fit.isDisturbed || row->isDisturbed;
    }
    const PrefillWork longest = prefillWork(config, heldOut.tokens);
    fit.throughputs = fitTwoThroughputs(points);
    fit.heldOutTokens = heldOut.tokens;
    fit.measuredSeconds = heldOut.bestSeconds;
    fit.predictedSeconds = fit.throughputs.seconds(longest);
    fit.singlePredictedSeconds = fitOneThroughput(points).seconds(longest);
    return fit;
}

double slopeOf(std::span<const double> x, std::span<const double> y)
{
    const auto count = static_cast<double>(x.size());
    double sumX = 0.0;
    double sumY = 0.0;
    double sumXX = 0.0;
    double sumXY = 0.0;
    for (std::size_t i = 0; i < x.size(); ++i) {
        sumX += x[i];
        sumY += y[i];
        sumXX += x[i] * x[i];
        sumXY += x[i] * y[i];
    }
    const double spread = count * sumXX - sumX * sumX;
    return spread > 0.0 ? (count * sumXY - sumX * sumY) / spread : 0.0;
}

} // namespace kvscope
