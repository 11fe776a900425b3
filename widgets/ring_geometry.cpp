#include "widgets/ring_geometry.h"

#include <QLineF>
#include <QRectF>

#include <algorithm>
#include <cmath>
#include <numbers>

namespace kvscope {
namespace {

constexpr double kDegrees = 180.0 / std::numbers::pi;

QRectF circle(const QPointF& center, double radius)
{
    return {center.x() - radius, center.y() - radius, 2 * radius, 2 * radius};
}

} // namespace

std::int64_t slotsPerMark(std::int64_t capacity)
{
    std::int64_t slots = 1;
    while ((capacity + slots - 1) / slots > kMaxRingMarks)
        slots *= 2;
    return slots;
}

std::int64_t markCount(std::int64_t capacity)
{
    const std::int64_t slots = slotsPerMark(capacity);
    return (std::max<std::int64_t>(capacity, 0) + slots - 1) / slots;
}

std::int64_t tickStep(std::int64_t capacity)
{
    if (capacity <= 0)
        return 1;
    // Eight labels where they fall evenly, as in windows of 64, 128, 1024 or 4096.
    if (capacity % 8 == 0 && (capacity & (capacity - 1)) == 0)
        return capacity / 8;
    for (std::int64_t decade = 1;; decade *= 10)
        for (const std::int64_t step : {decade, 2 * decade, 5 * decade})
            if ((capacity + step - 1) / step <= 10)
                return step;
}

RingPositions::RingPositions(const LayerCacheState& layer)
    : m_capacity(std::max<std::int64_t>(layer.capacity, 0))
    , m_window(layer.window > 0 ? std::min(layer.window, m_capacity) : m_capacity)
    , m_first(layer.firstPosition)
    , m_end(layer.firstPosition + layer.retained)
{
}

std::optional<std::int64_t> RingPositions::positionIn(std::int64_t slot) const
{
    if (slot < 0 || slot >= m_capacity || m_end <= 0)
        return std::nullopt;
    const std::int64_t newest = m_end - 1;
    const std::int64_t back = (slotOf(newest) - slot + m_capacity) % m_capacity;
    if (back > newest)
        return std::nullopt;
    return newest - back;
}

SlotState RingPositions::state(std::int64_t slot) const
{
    const auto position = positionIn(slot);
    if (!position)
        return SlotState::Empty;
    if (holds(*position))
        return SlotState::Held;
    return retained() >= m_window ? SlotState::Outside : SlotState::Empty;
}

double RingPositions::ageFraction(std::int64_t position) const
{
    if (m_window <= 1)
        return 0.0;
    return std::clamp(static_cast<double>(ageOf(position)) / static_cast<double>(m_window - 1), 0.0,
                      1.0);
}

double slotAngle(std::int64_t slot, std::int64_t capacity)
{
    return capacity > 0 ? 360.0 * static_cast<double>(slot) / static_cast<double>(capacity) : 0.0;
}

QPointF pointOnRing(const QPointF& center, double radius, double angle)
{
    const double radians = angle / kDegrees;
    return {center.x() + radius * std::sin(radians), center.y() - radius * std::cos(radians)};
}

double angleOf(const QPointF& center, const QPointF& point)
{
    const QPointF offset = point - center;
    const double angle = std::atan2(offset.x(), -offset.y()) * kDegrees;
    return angle < 0 ? angle + 360.0 : angle;
}

std::optional<std::int64_t> slotAt(const RingFrame& frame, std::int64_t capacity,
                                   const QPointF& point, double reach)
{
    const double distance = QLineF(frame.center, point).length();
    if (capacity <= 0 || distance < frame.inner - reach || distance > frame.outer + reach)
        return std::nullopt;
    const double slot = angleOf(frame.center, point) / 360.0 * static_cast<double>(capacity);
    return std::min(static_cast<std::int64_t>(slot), capacity - 1);
}

QPainterPath sectorPath(const RingFrame& frame, double fromAngle, double toAngle)
{
    // Qt measures counter-clockwise from three o'clock.
    const double start = 90.0 - fromAngle;
    const double sweep = toAngle - fromAngle;
    QPainterPath path;
    path.arcMoveTo(circle(frame.center, frame.outer), start);
    path.arcTo(circle(frame.center, frame.outer), start, -sweep);
    path.arcTo(circle(frame.center, frame.inner), start - sweep, sweep);
    path.closeSubpath();
    return path;
}

QPainterPath slotPath(const RingFrame& frame, std::int64_t capacity, std::int64_t slot,
                      double minimumWidth)
{
    const double from = slotAngle(slot, capacity);
    const double to = slotAngle(slot + 1, capacity);
    const double smallest = minimumWidth / std::max(1.0, frame.outer) * kDegrees;
    if (to - from >= smallest)
        return sectorPath(frame, from, to);
    const double middle = (from + to) / 2;
    return sectorPath(frame, middle - smallest / 2, middle + smallest / 2);
}

double slotGap(const RingFrame& frame, std::int64_t marks)
{
    if (marks <= 1)
        return 0.0;
    const double middle = (frame.inner + frame.outer) / 2;
    const double width = 2 * std::numbers::pi * middle / static_cast<double>(marks);
    return width >= 4.0 ? kDegrees / middle : 0.0;
}

} // namespace kvscope
