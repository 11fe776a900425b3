#include "widgets/memory_plot_history.h"

#include "widgets/series_thinning.h"

#include <algorithm>
#include <limits>

namespace kvscope {
namespace {

double inMiB(std::uint64_t bytes)
{
    return static_cast<double>(bytes) / (1024.0 * 1024.0);
}

template <typename T>
void keepOnly(std::vector<T>& values, const std::vector<std::size_t>& indices)
{
    for (std::size_t i = 0; i < indices.size(); ++i)
        values[i] = values[indices[i]];
    values.resize(indices.size());
}

} // namespace

MemoryFigures memoryFigures(const MemorySample& sample)
{
    MemoryFigures figures;
    figures.weights = inMiB(sample.weights);
    figures.cacheLive = inMiB(sample.cacheLive);
    figures.cacheSlack = inMiB(sample.cacheSlack);
    figures.growthCopy = inMiB(sample.growthCopy);
    figures.stacked = figures.weights + figures.cacheLive + figures.cacheSlack;
    figures.measured = sample.processResident == 0
                           ? std::numeric_limits<double>::quiet_NaN()
                           : inMiB(sample.processResident) - inMiB(sample.processBaseline);
    figures.unaccounted = figures.measured - figures.stacked;
    return figures;
}

void MemorySeries::add(const MemoryPoint& point, double x)
{
    const MemoryFigures figures = memoryFigures(point.sample);
    points.push_back(point);
    xs.push_back(x);
    stacked.push_back(figures.stacked);
    measured.push_back(figures.measured);
    growthCopy.push_back(figures.growthCopy);
}

void MemorySeries::removeLast()
{
    points.pop_back();
    xs.pop_back();
    stacked.pop_back();
    measured.pop_back();
    growthCopy.pop_back();
}

void MemorySeries::clear()
{
    const MemoryAxis kept = axis;
    *this = MemorySeries();
    axis = kept;
}

std::optional<std::size_t> MemorySeries::at(double x) const
{
    const auto after = std::upper_bound(xs.begin(), xs.end(), x);
    if (after == xs.begin())
        return std::nullopt;
    return static_cast<std::size_t>(after - xs.begin()) - 1;
}

MemoryHistory::MemoryHistory(std::size_t maxPoints)
    : m_maxPoints(std::max<std::size_t>(maxPoints, 64))
{
}

void MemoryHistory::add(const MemoryPoint& point)
{
    if (m_byTime.size() > 0 && point.sample.seconds < m_byTime.xs.back())
        return;
    m_byTime.add(point, point.sample.seconds);
    addByPosition(point);
    keepSmall(m_byTime);
    keepSmall(m_byPosition);
}

void MemoryHistory::addByPosition(const MemoryPoint& point)
{
    const auto length = static_cast<double>(point.sample.contextLength);
    while (m_byPosition.size() > 0 && m_byPosition.xs.back() > length)
        m_byPosition.removeLast();
    // While nothing is cached anew the newest sample stands for the position, but a growth copy
    // that was seen there is kept beside it.
    if (m_byPosition.size() > 0 && m_byPosition.xs.back() == length &&
        m_byPosition.points.back().sample.growthCopy <= point.sample.growthCopy)
        m_byPosition.removeLast();
    m_byPosition.add(point, length);
}

void MemoryHistory::keepSmall(MemorySeries& series)
{
    if (series.size() <= m_maxPoints)
        return;
    // Three series keep at most ten points a column: this leaves at most half.
    ColumnRange all;
    all.lower = series.xs.front();
    all.upper = series.xs.back();
    all.columns = static_cast<int>(std::max<std::size_t>(m_maxPoints / 20, 1));
    const auto kept =
        thinToColumns(series.xs, {series.stacked, series.measured, series.growthCopy}, all);
    if (kept.empty())
        return; // every sample carries the same x; nothing can be told apart anyway
    keepOnly(series.points, kept);
    keepOnly(series.xs, kept);
    keepOnly(series.stacked, kept);
    keepOnly(series.measured, kept);
    keepOnly(series.growthCopy, kept);
    m_isThinned = true;
}

void MemoryHistory::clear()
{
    m_byTime.clear();
    m_byPosition.clear();
    m_isThinned = false;
}

const MemoryPoint* MemoryHistory::whenCached(std::int64_t position) const
{
    if (position < 0)
        return nullptr;
    const auto length = static_cast<double>(position + 1);
    const auto first = std::lower_bound(m_byPosition.xs.begin(), m_byPosition.xs.end(), length);
    if (first == m_byPosition.xs.end())
        return nullptr;
    return &m_byPosition.points[static_cast<std::size_t>(first - m_byPosition.xs.begin())];
}

} // namespace kvscope
