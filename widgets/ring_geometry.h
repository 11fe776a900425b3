#pragma once

#include "engine/cache/cache_snapshot.h"

#include <QPainterPath>
#include <QPointF>

#include <cstdint>
#include <optional>

namespace kvscope {

/// Positions, slots, angles and pixels of a drawn ring. Angles are in degrees, clockwise from the
/// top; slot 0 begins at 0. All functions are plain arithmetic.

/// More marks than this are thinner than a pixel on any ring that fits a screen.
constexpr std::int64_t kMaxRingMarks = 512;

/// Slots drawn as one mark: 1 up to 512 slots, then the smallest power of two that keeps to 512
/// marks.
std::int64_t slotsPerMark(std::int64_t capacity);
/// Marks on a ring; the last may stand for fewer slots.
std::int64_t markCount(std::int64_t capacity);
/// Slots between tick labels: a power of two or 1, 2, 5 times a power of ten, at most ten labels.
std::int64_t tickStep(std::int64_t capacity);

/// What a slot holds.
enum class SlotState {
    Empty,   ///< never written, or taken back
    Held,    ///< a position inside the window
    Outside, ///< written, outside the window, not overwritten yet (a ring with slack)
};

/// Where a ring stands: the arithmetic that both drawing and tooltips use.
class RingPositions
{
public:
    explicit RingPositions(const LayerCacheState& layer);

    std::int64_t capacity() const { return m_capacity; }
    std::int64_t window() const { return m_window; }
    std::int64_t first() const { return m_first; } ///< oldest position in the window
    std::int64_t end() const { return m_end; }     ///< one past the newest
    std::int64_t retained() const { return m_end - m_first; }
    std::int64_t head() const { return m_capacity > 0 ? m_end % m_capacity : 0; }
    /// Whole turns of the head.
    std::int64_t turn() const { return m_capacity > 0 ? m_end / m_capacity : 0; }
    bool isFull() const { return m_capacity > 0 && retained() >= m_window; }

    std::int64_t slotOf(std::int64_t position) const { return position % m_capacity; }
    bool holds(std::int64_t position) const { return position >= m_first && position < m_end; }
    /// The newest position ever written to a slot, whether or not it is still in the window.
    std::optional<std::int64_t> positionIn(std::int64_t slot) const;
    SlotState state(std::int64_t slot) const;
    /// Tokens since it was written: 0 for the newest.
    std::int64_t ageOf(std::int64_t position) const { return m_end - 1 - position; }
    /// 0 newest to 1 oldest in the window.
    double ageFraction(std::int64_t position) const;
    /// Tokens until a held position leaves the window.
    std::int64_t leavesIn(std::int64_t position) const { return m_window - ageOf(position); }
    /// The context length at which a position left or will leave the window.
    std::int64_t leavesAt(std::int64_t position) const { return position + m_window; }

private:
    std::int64_t m_capacity = 0;
    std::int64_t m_window = 0;
    std::int64_t m_first = 0;
    std::int64_t m_end = 0;
};

/// A ring on the screen, in device-independent pixels.
struct RingFrame
{
    QPointF center;
    double inner = 0.0;
    double outer = 0.0;

    bool operator==(const RingFrame&) const = default;
};

/// Where `slot` begins; slot == capacity gives 360.
double slotAngle(std::int64_t slot, std::int64_t capacity);
QPointF pointOnRing(const QPointF& center, double radius, double angle);
/// Clockwise from the top, 0 <= angle < 360.
double angleOf(const QPointF& center, const QPointF& point);
/// The slot under a point between the radii, each widened by `reach` pixels.
std::optional<std::int64_t> slotAt(const RingFrame& frame, std::int64_t capacity,
                                   const QPointF& point, double reach = 0.0);
/// The piece of ring between two angles, a closed path.
QPainterPath sectorPath(const RingFrame& frame, double fromAngle, double toAngle);
/// One slot's piece of ring, widened about its middle to at least `minimumWidth` pixels at the
/// outer radius: a slot thinner than its outline would be all outline.
QPainterPath slotPath(const RingFrame& frame, std::int64_t capacity, std::int64_t slot,
                      double minimumWidth);
/// The gap that slots keep, in degrees: one pixel while a mark is at least four pixels wide, else
/// none.
double slotGap(const RingFrame& frame, std::int64_t marks);

} // namespace kvscope
