#pragma once

#include "engine/session/engine_snapshot.h"

#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace kvscope {

/// Memory at one moment as it is drawn, in MiB. What was not measured is NaN.
struct MemoryFigures
{
    double weights = 0.0;
    double cacheLive = 0.0;
    double cacheSlack = 0.0;
    double growthCopy = 0.0;
    double stacked = 0.0;  ///< weights + live + slack: what stays between two steps
    double measured = 0.0; ///< resident above the baseline taken before the model was opened
    double unaccounted =
        0.0; ///< measured - stacked; negative where weights are mapped but not yet read
};

/// The growth copy is not in `stacked`: it is over when the resident size is read.
MemoryFigures memoryFigures(const MemorySample& sample);

struct MemoryPoint
{
    MemorySample sample;
    Phase phase = Phase::Idle;
};

/// What the memory plot's x axis counts.
enum class MemoryAxis { Position, Time };

/// Points along one x axis, and the columns that thinning looks at.
struct MemorySeries
{
    MemoryAxis axis = MemoryAxis::Position;
    std::vector<MemoryPoint> points;
    std::vector<double> xs;         ///< ascending: seconds or positions
    std::vector<double> stacked;    ///< MiB
    std::vector<double> measured;   ///< MiB, NaN where not measured
    std::vector<double> growthCopy; ///< MiB

    std::size_t size() const { return points.size(); }
    void add(const MemoryPoint& point, double x);
    void removeLast();
    void clear();
    /// The last point at or before x.
    std::optional<std::size_t> at(double x) const;
};

/// Everything measured so far, by time and by position.
///
/// The series by position is the context as it is now: going back (a new chat, a shorter prefix)
/// removes what lay after it. Both keep at most maxPoints, thinned by their extremes, so that hours
/// of samples cost the same as minutes.
class MemoryHistory
{
public:
    explicit MemoryHistory(std::size_t maxPoints = 65'536);

    /// A sample older than the newest is not taken: the time axis only goes forward.
    void add(const MemoryPoint& point);
    void clear();

    const MemorySeries& byTime() const { return m_byTime; }
    const MemorySeries& byPosition() const { return m_byPosition; }
    /// The first point at which this position was cached; none where it is not (yet).
    const MemoryPoint* whenCached(std::int64_t position) const;
    bool isThinned() const { return m_isThinned; }

private:
    void addByPosition(const MemoryPoint& point);
    void keepSmall(MemorySeries& series);

    MemorySeries m_byTime{MemoryAxis::Time, {}, {}, {}, {}, {}};
    MemorySeries m_byPosition{MemoryAxis::Position, {}, {}, {}, {}, {}};
    std::size_t m_maxPoints;
    bool m_isThinned = false;
};

} // namespace kvscope
