#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace kvscope {

enum class AxisScale { Linear, Log };

/// A stretch of the x axis and the pixel columns it is drawn on.
struct ColumnRange
{
    double lower = 0.0;
    double upper = 1.0;
    int columns = 1;
    AxisScale scale = AxisScale::Linear;
};

/// The pixel rows of a plot, for dots.
struct RowRange
{
    double lower = 0.0;
    double upper = 1.0;
    int rows = 1;
};

/// How many pixels there are to draw on: what data is thinned to.
struct PlotResolution
{
    ColumnRange columns;
    RowRange rows;
};

/// Which points of a line have to be drawn so that it looks the same at this resolution: per column
/// the first, the last, and every series' smallest and largest. One point on either side of the
/// range is kept, so that lines run on to the edge. A point whose value is NaN is a gap; the first
/// of each run of gaps inside a column is kept.
/// Several series share their points, so that stacked areas stay aligned.
/// \param xs      ascending, the same length as each of `series`
/// \returns ascending indices, at most (4 + 2 * series) per column
std::vector<std::size_t> thinToColumns(std::span<const double> xs,
                                       const std::vector<std::span<const double>>& series,
                                       const ColumnRange& range);

/// Which dots have to be drawn: the first that falls into each pixel. Values outside `rows` are
/// drawn on its edge and so never vanish; NaN is no dot.
/// \param xs  ascending, the same length as `ys`
std::vector<std::size_t> thinToPixels(std::span<const double> xs, std::span<const double> ys,
                                      const ColumnRange& columns, const RowRange& rows);

/// Mean of the last `window` values up to each point, over those that are not NaN. A point that is
/// NaN stays NaN, and the mean starts again after it: a gap is not smoothed over.
/// \param window  at least 1
std::vector<double> runningMean(std::span<const double> values, std::size_t window);

/// The end of an axis that grows in steps: `current` multiplied by 1.25 until it holds `needed`.
double steppedMaximum(double current, double needed);

} // namespace kvscope
