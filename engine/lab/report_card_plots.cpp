// What each claim's plots hold. How they look is the view's.

#include "engine/base/units.h"
#include "engine/lab/report_card.h"
#include "engine/lab/report_card_text.h"

#include <algorithm>
#include <set>

namespace kvscope {
namespace {

CardPoint pointOf(double x, double y)
{
    return {x, y, y, y};
}

double mebibytes(std::uint64_t bytes)
{
    return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

CardPlot plotOf(CardPlotKind kind, std::string title, std::string xName)
{
    CardPlot plot;
    plot.kind = kind;
    plot.title = std::move(title);
    plot.xName = std::move(xName);
    return plot;
}

void addSeries(CardPlot& plot, CardSeries series)
{
    std::sort(series.points.begin(), series.points.end(),
              [](const CardPoint& a, const CardPoint& b) { return a.x < b.x; });
    if (!series.points.empty())
        plot.series.push_back(std::move(series));
}

std::vector<std::string> partsOf(const std::string& name)
{
    std::vector<std::string> parts{""};
    for (std::size_t i = 0; i < name.size(); ++i)
        if (name.compare(i, 2, ", ") == 0) {
            parts.emplace_back();
            ++i;
        } else {
            parts.back() += name[i];
        }
    return parts;
}

/// What of a scheme's name is not in every scheme's, for a label's little room: of "plain, base
/// 100000, adjacent pairs" and "linear x2, base 100000, adjacent pairs" the first words. Of a
/// scheme by itself the first words, too.
std::string shortName(const std::vector<PositionsSeries>& all, std::size_t index)
{
    const std::vector<std::string> parts = partsOf(all[index].name());
    std::string name;
    for (const std::string& part : parts) {
        const bool isShared =
            std::all_of(all.begin(), all.end(), [&](const PositionsSeries& other) {
                const auto others = partsOf(other.name());
                return std::find(others.begin(), others.end(), part) != others.end();
            });
        if (!isShared)
            name += (name.empty() ? "" : ", ") + part;
    }
    return name.empty() ? parts.front() : name;
}

CardSeries binsOf(const PositionsSeries& series, std::string name, std::size_t index)
{
    CardSeries line{
        std::move(name), index == 0 ? CardTone::Main : CardTone::Second, CardStyle::Marks, {}};
    for (const PositionBin& bin : series.bins)
        line.points.push_back({static_cast<double>(bin.first + bin.end) / 2.0, bin.nll.mean,
                               bin.nll.low, bin.nll.high});
    return line;
}

CardSeries peaksOf(const PeakReport& report, PrefillWay way, const char* name, CardTone tone)
{
    CardSeries line{name, tone, CardStyle::Marks, {}};
    for (const PeakRow& row : report.rows)
        if (row.way == way && !row.isSkipped())
            line.points.push_back(
                pointOf(static_cast<double>(row.tokens), mebibytes(row.measuredBytes)));
    return line;
}

CardSeries firstTokensOf(const LatencyReport& report, bool isOneShot)
{
    CardSeries line{isOneShot ? "one shot" : "in chunks",
                    isOneShot ? CardTone::Second : CardTone::Main,
                    CardStyle::Marks,
                    {}};
    for (const FirstTokenRow& row : report.firstToken)
        if (!row.isSkipped() && (row.chunkTokens == 0) == isOneShot)
            line.points.push_back(pointOf(static_cast<double>(row.tokens), row.bestSeconds));
    return line;
}

CardPlot decodePlot(const LatencyReport& report)
{
    CardPlot plot = plotOf(CardPlotKind::Lines, "Decode step, ms", "cached tokens");
    CardSeries steps{"measured", CardTone::Main, CardStyle::Marks, {}};
    CardSeries floors{"bytes alone", CardTone::Neutral, CardStyle::Dashed, {}};
    for (const DecodeStepRow& row : report.decode) {
        const auto cached = static_cast<double>(row.cachedTokens);
        steps.points.push_back(pointOf(cached, row.medianSeconds * 1e3));
        if (row.floorSeconds > 0.0)
            floors.points.push_back(pointOf(cached, row.floorSeconds * 1e3));
    }
    addSeries(plot, std::move(steps));
    addSeries(plot, std::move(floors));
    return plot;
}

CardCell cellOf(const SweepCell& cell)
{
    return {cell.score.correct, cell.score.trials};
}

CardPlot mapPlot(const SweepReport& needle)
{
    CardPlot plot = plotOf(CardPlotKind::Map, "Found, by depth and length", "tokens");
    for (const SweepColumn& column : needle.columns)
        plot.columnNames.push_back(formatCount(column.tokens));
    for (std::size_t row = 0; row < needle.depths.size(); ++row) {
        plot.rowNames.push_back(decimals(needle.depths[row], 0) + " %");
        std::vector<CardCell> cells;
        for (const SweepColumn& column : needle.columns)
            cells.push_back(row < column.cells.size() ? cellOf(column.cells[row]) : CardCell{});
        plot.cells.push_back(std::move(cells));
    }
    plot.rowNames.emplace_back("control");
    std::vector<CardCell> control;
    for (const SweepColumn& column : needle.columns)
        control.push_back(cellOf(column.control));
    plot.cells.push_back(std::move(control));
    return plot;
}

CardPlot depthsPlot(const SweepReport& needle)
{
    CardPlot plot = plotOf(CardPlotKind::Depths, "Found, by depth, %", "");
    CardSeries dots{"found", CardTone::Main, CardStyle::Marks, {}};
    const std::size_t count = std::min(needle.depths.size(), needle.byDepth.size());
    for (std::size_t i = 0; i < count; ++i) {
        const SweepCell& cell = needle.byDepth[i];
        if (cell.score.trials > 0)
            dots.points.push_back({100.0 * cell.score.rate(), needle.depths[i],
                                   100.0 * cell.interval.low, 100.0 * cell.interval.high});
    }
    if (!dots.points.empty())
        plot.series.push_back(std::move(dots));
    return plot;
}

CardPlot gainPlot(const UseReport& use)
{
    CardPlot plot = plotOf(CardPlotKind::Columns, "Loss saved by the past, nats",
                           "segment of " + formatCount(use.segmentTokens));
    CardSeries columns{"gain", CardTone::Main, CardStyle::Marks, {}};
    for (const UseSegment& segment : use.segments)
        columns.points.push_back({static_cast<double>(segment.segment), segment.gain.mean,
                                  segment.gain.low, segment.gain.high});
    addSeries(plot, std::move(columns));
    return plot;
}

} // namespace

std::vector<CardPlot> acceptsPlots(const CardEvidence& evidence)
{
    CardPlot plot = plotOf(CardPlotKind::Bars, "", "tokens, logarithmic");
    const auto add = [&plot](const char* name, std::int64_t tokens, const std::string& text,
                             CardTone tone) {
        if (tokens > 0)
            plot.bars.push_back({name, static_cast<double>(tokens), text, tone});
    };
    add("trained", evidence.trainedPositions,
        formatCount(evidence.trainedPositions) + " positions, from the file", CardTone::Main);
    const std::int64_t ran = longestRun(evidence);
    const bool isBeyond = evidence.trainedPositions > 0 && ran > evidence.trainedPositions;
    add("ran", ran, formatCount(ran) + (isBeyond ? ", past the trained length" : ""),
        CardTone::Second);
    if (evidence.limits && evidence.limits->budget && !evidence.limits->budget->isUnbounded)
        add("fits", evidence.limits->budget->longestContext,
            formatCount(evidence.limits->budget->longestContext) + " by arithmetic",
            CardTone::Neutral);
    if (plot.bars.empty())
        return {};
    return {plot};
}

std::vector<CardPlot> behavesPlots(const CardEvidence& evidence)
{
    CardPlot plot = plotOf(CardPlotKind::Lines, "Loss, nats per token", "position");
    const auto& series = evidence.positions->series;
    for (std::size_t i = 0; i < series.size(); ++i)
        addSeries(plot, binsOf(series[i], shortName(series, i), i));
    const std::int64_t trained = series.empty() ? 0 : series.front().trainedPositions;
    if (trained > 0 && trained <= evidence.positions->tokens)
        plot.lines.push_back({true, static_cast<double>(trained), "trained " + formatCount(trained),
                              CardTone::Neutral});
    return {plot};
}

std::vector<CardPlot> fitsPlots(const CardEvidence& evidence)
{
    if (!evidence.peaks)
        return {};
    CardPlot plot =
        plotOf(CardPlotKind::Lines, "Peak above the loaded model, MiB", "prompt tokens");
    const PeakReport& report = *evidence.peaks;
    addSeries(plot, peaksOf(report, PrefillWay::Chunked, "in chunks", CardTone::Main));
    addSeries(plot, peaksOf(report, PrefillWay::OneShot, "one shot", CardTone::Second));
    addSeries(plot, peaksOf(report, PrefillWay::AllLogits, "all logits kept", CardTone::Third));
    CardSeries cache{"cache alone", CardTone::Neutral, CardStyle::Dashed, {}};
    std::set<std::int64_t> lengths;
    for (const PeakRow& row : report.rows)
        if (!row.isSkipped() && lengths.insert(row.tokens).second)
            cache.points.push_back(
                pointOf(static_cast<double>(row.tokens), mebibytes(row.cacheBytes)));
    addSeries(plot, std::move(cache));
    if (plot.series.empty())
        return {};
    return {plot};
}

std::vector<CardPlot> inTimePlots(const CardEvidence& evidence)
{
    const LatencyReport& report = *evidence.latency;
    CardPlot first = plotOf(CardPlotKind::Lines, "First token, s", "prompt tokens");
    addSeries(first, firstTokensOf(report, false));
    addSeries(first, firstTokensOf(report, true));
    for (const HeldOutFit& fit : report.fits)
        if (fit.chunkTokens > 0 || report.fits.size() == 1)
            addSeries(first,
                      {"fit said",
                       CardTone::Main,
                       CardStyle::Hollow,
                       {pointOf(static_cast<double>(fit.heldOutTokens), fit.predictedSeconds)}});
    first.lines.push_back({false, evidence.limitSeconds,
                           "limit " + decimals(evidence.limitSeconds, 0) + " s", CardTone::Limit});
    std::vector<CardPlot> plots = {first};
    if (!report.decode.empty())
        plots.push_back(decodePlot(report));
    return plots;
}

std::vector<CardPlot> usesPlots(const CardEvidence& evidence)
{
    std::vector<CardPlot> plots;
    if (evidence.needle && !evidence.needle->columns.empty()) {
        plots.push_back(mapPlot(*evidence.needle));
        plots.push_back(depthsPlot(*evidence.needle));
    }
    if (evidence.use && !evidence.use->segments.empty())
        plots.push_back(gainPlot(*evidence.use));
    return plots;
}

} // namespace kvscope
