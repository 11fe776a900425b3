#include "widgets/ring_marks.h"

#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QPainter>

#include <algorithm>
#include <optional>

namespace kvscope {

RingMarks::RingMarks(const RingFrame& frame, std::int64_t capacity)
    : m_frame(frame)
    , m_capacity(capacity)
{
    const std::int64_t marks = markCount(capacity);
    const std::int64_t slots = slotsPerMark(capacity);
    const double gap = slotGap(frame, marks);
    m_paths.reserve(static_cast<std::size_t>(marks));
    for (std::int64_t mark = 0; mark < marks; ++mark)
        m_paths.push_back(
            sectorPath(frame, slotAngle(mark * slots, capacity) + gap / 2,
                       slotAngle(std::min((mark + 1) * slots, capacity), capacity) - gap / 2));
}

bool RingMarks::isFor(const RingFrame& frame, std::int64_t capacity) const
{
    return m_frame == frame && m_capacity == capacity;
}

void RingMarks::paint(QPainter& painter, const RingPositions& ring, const Theme& theme) const
{
    const std::int64_t slots = slotsPerMark(m_capacity);
    const bool hasGap = slotGap(m_frame, static_cast<std::int64_t>(m_paths.size())) > 0;
    QPainterPath empty;
    QPainterPath outside;
    painter.setPen(Qt::NoPen);
    for (std::size_t mark = 0; mark < m_paths.size(); ++mark) {
        const std::int64_t firstSlot = static_cast<std::int64_t>(mark) * slots;
        std::optional<std::int64_t> newest;
        bool isOutside = false;
        for (std::int64_t slot = firstSlot; slot < std::min(firstSlot + slots, m_capacity);
             ++slot) {
            const SlotState state = ring.state(slot);
            if (state == SlotState::Held)
                newest = std::max(newest.value_or(-1), *ring.positionIn(slot));
            isOutside = isOutside || state == SlotState::Outside;
        }
        if (newest) {
            // Marks without a gap get an outline in their own colour, or antialiasing leaves seams.
            const QColor color = theme.ageColor(ring.ageFraction(*newest));
            painter.setPen(hasGap ? QPen(Qt::NoPen) : QPen(color, 0.5));
            painter.setBrush(color);
            painter.drawPath(m_paths[mark]);
        } else {
            (isOutside ? outside : empty).addPath(m_paths[mark]);
        }
    }
    if (!outside.isEmpty()) {
        painter.save();
        painter.setClipPath(outside, Qt::IntersectClip);
        paintSlack(painter, outside.boundingRect().adjusted(-2, -2, 2, 2), theme);
        painter.restore();
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.global, 1.0));
        painter.drawPath(outside);
    }
    if (empty.isEmpty())
        return;
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.evicted, hasGap ? 0.8 : 1.0));
    painter.drawPath(hasGap ? empty : empty.simplified());
}

} // namespace kvscope
