#include "widgets/series_thinning.h"

#include <algorithm>
#include <cmath>
#include <limits>

namespace kvscope {
namespace {

/// The pixel column of x; outside the range it runs on below 0 and past columns - 1.
std::int64_t columnOf(double x, const ColumnRange& range)
{
    double share = 0.0;
    if (range.scale == AxisScale::Log) {
        const double lower = std::log(std::max(range.lower, std::numeric_limits<double>::min()));
        const double at = std::log(std::max(x, std::numeric_limits<double>::min()));
        share = (at - lower) / (std::log(range.upper) - lower);
    } else {
        share = (x - range.lower) / (range.upper - range.lower);
    }
    // Far outside is all the same; the clamp keeps the conversion to an integer defined.
    return static_cast<std::int64_t>(std::clamp(std::floor(share * range.columns), -1e9, 1e9));
}

bool isDrawable(const ColumnRange& range)
{
    return range.columns > 0 && range.upper > range.lower &&
           (range.scale == AxisScale::Linear || range.upper > 0.0);
}

struct IndexRange
{
    std::size_t begin = 0;
    std::size_t end = 0;
};

/// Points within the range, and `margin` more on either side.
IndexRange visible(std::span<const double> xs, const ColumnRange& range, std::size_t margin)
{
    const auto first = std::lower_bound(xs.begin(), xs.end(), range.lower);
    const auto last = std::upper_bound(first, xs.end(), range.upper);
    const auto begin = static_cast<std::size_t>(first - xs.begin());
    const auto end = static_cast<std::size_t>(last - xs.begin());
    return {begin - std::min(begin, margin), std::min(end + margin, xs.size())};
}

/// What has to be kept of the points [begin, end), all of one column.
void keepColumn(const std::vector<std::span<const double>>& series, IndexRange column,
                std::vector<std::size_t>& kept)
{
    const std::size_t start = kept.size();
    kept.push_back(column.begin);
    kept.push_back(column.end - 1);
    for (const auto& values : series) {
        std::size_t smallest = column.end;
        std::size_t largest = column.end;
        for (std::size_t i = column.begin; i < column.end; ++i) {
            if (std::isnan(values[i])) {
                if (i == column.begin || !std::isnan(values[i - 1]))
                    kept.push_back(i);
                continue;
            }
            if (smallest == column.end || values[i] < values[smallest])
                smallest = i;
            if (largest == column.end || values[i] > values[largest])
                largest = i;
        }
        if (smallest != column.end) {
            kept.push_back(smallest);
            kept.push_back(largest);
        }
    }
    const auto from = kept.begin() + static_cast<std::ptrdiff_t>(start);
    std::sort(from, kept.end());
    kept.erase(std::unique(from, kept.end()), kept.end());
}

} // namespace

std::vector<std::size_t> thinToColumns(std::span<const double> xs,
                                       const std::vector<std::span<const double>>& series,
                                       const ColumnRange& range)
{
    std::vector<std::size_t> kept;
    if (!isDrawable(range))
        return kept;
    const IndexRange shown = visible(xs, range, 1);
    for (std::size_t begin = shown.begin; begin < shown.end;) {
        const std::int64_t column = columnOf(xs[begin], range);
        std::size_t end = begin + 1;
        while (end < shown.end && columnOf(xs[end], range) == column)
            ++end;
        keepColumn(series, {begin, end}, kept);
        begin = end;
    }
    return kept;
}

std::vector<std::size_t> thinToPixels(std::span<const double> xs, std::span<const double> ys,
                                      const ColumnRange& columns, const RowRange& rows)
{
    std::vector<std::size_t> kept;
    if (!isDrawable(columns) || rows.rows <= 0 || !(rows.upper > rows.lower))
        return kept;
    std::vector<bool> isTaken(static_cast<std::size_t>(rows.rows), false);
    std::int64_t column = std::numeric_limits<std::int64_t>::min();
    const IndexRange shown = visible(xs, columns, 0);
    for (std::size_t i = shown.begin; i < shown.end; ++i) {
        if (std::isnan(ys[i]))
            continue;
        if (const std::int64_t at = columnOf(xs[i], columns); at != column) {
            column = at;
            std::fill(isTaken.begin(), isTaken.end(), false);
        }
        const double share = std::clamp((ys[i] - rows.lower) / (rows.upper - rows.lower), 0.0, 1.0);
        const auto row = std::min(static_cast<std::size_t>(share * rows.rows), isTaken.size() - 1);
        if (!isTaken[row]) {
            isTaken[row] = true;
            kept.push_back(i);
        }
    }
    return kept;
}

std::vector<double> runningMean(std::span<const double> values, std::size_t window)
{
    window = std::max<std::size_t>(window, 1);
    std::vector<double> means(values.size(), std::numeric_limits<double>::quiet_NaN());
    double sum = 0.0;
    std::size_t count = 0;
    for (std::size_t i = 0; i < values.size(); ++i) {
        if (std::isnan(values[i])) {
            sum = 0.0;
            count = 0;
            continue;
        }
        sum += values[i];
        if (count == window)
            sum -= values[i - window];
        else
            ++count;
        means[i] = sum / static_cast<double>(count);
    }
    return means;
}

double steppedMaximum(double current, double needed)
{
    if (!(current > 0.0) || !std::isfinite(needed))
        return current;
    while (current < needed)
        current *= 1.25;
    return current;
}

} // namespace kvscope
