#include "widgets/ring_marks.h"

#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QPainter>

#include <algorithm>
#include <optional>

namespace kvscope {
namespace {

/// What a mark stands for: the newest held position of its slots, or why there is none.
struct MarkContent
{
    std::optional<std::int64_t> newest;
    SlotState state = SlotState::Empty;
};

MarkContent contentOf(const RingPositions& ring, std::int64_t mark, std::int64_t slots)
{
    MarkContent content;
    const std::int64_t end = std::min((mark + 1) * slots, ring.capacity());
    for (std::int64_t slot = mark * slots; slot < end; ++slot) {
        const SlotState state = ring.state(slot);
        if (state == SlotState::Empty)
            continue;
        if (state == SlotState::Held) {
            content.newest = std::max(content.newest.value_or(-1), *ring.positionIn(slot));
            content.state = SlotState::Held;
        } else if (content.state == SlotState::Empty) {
            content.state = SlotState::Outside;
        }
    }
    return content;
}

} // namespace

RingMarks::RingMarks(const RingFrame& frame, std::int64_t capacity)
    : m_frame(frame)
    , m_capacity(capacity)
{
    const std::int64_t marks = markCount(capacity);
    // Marks without a gap reach a pixel into the next, which is painted over it: two antialiased
    // edges side by side would leave a seam.
    const double gap = slotGap(frame, marks);
    const double overlap = gap > 0 || frame.outer <= 0 ? 0.0 : 57.3 / frame.outer;
    m_hasGap = gap > 0;
    m_paths.reserve(static_cast<std::size_t>(marks));
    for (std::int64_t mark = 0; mark < marks; ++mark)
        m_paths.push_back(
            sectorPath(frame, angleAt(mark) + gap / 2, angleAt(mark + 1) - gap / 2 + overlap));
}

bool RingMarks::isFor(const RingFrame& frame, std::int64_t capacity) const
{
    return m_frame == frame && m_capacity == capacity;
}

double RingMarks::angleAt(std::int64_t mark) const
{
    return slotAngle(std::min(mark * slotsPerMark(m_capacity), m_capacity), m_capacity);
}

QPainterPath RingMarks::unfilled(std::int64_t from, std::int64_t to) const
{
    QPainterPath path;
    if (!m_hasGap)
        return sectorPath(m_frame, angleAt(from), angleAt(to));
    for (std::int64_t mark = from; mark < to; ++mark)
        path.addPath(m_paths[static_cast<std::size_t>(mark)]);
    return path;
}

void RingMarks::paint(QPainter& painter, const RingPositions& ring, const Theme& theme) const
{
    const std::int64_t slots = slotsPerMark(m_capacity);
    const auto marks = static_cast<std::int64_t>(m_paths.size());
    QPainterPath empty;
    QPainterPath outside;
    std::int64_t runStart = 0; ///< marks in the same state since
    SlotState runState = SlotState::Held;
    const auto endRun = [&](std::int64_t end) {
        if (runState != SlotState::Held && end > runStart)
            (runState == SlotState::Empty ? empty : outside).addPath(unfilled(runStart, end));
    };
    painter.setPen(Qt::NoPen);
    for (std::int64_t mark = 0; mark < marks; ++mark) {
        const MarkContent content = contentOf(ring, mark, slots);
        if (content.state != runState) {
            endRun(mark);
            runStart = mark;
            runState = content.state;
        }
        if (content.newest)
            painter.fillPath(m_paths[static_cast<std::size_t>(mark)],
                             theme.ageColor(ring.ageFraction(*content.newest)));
    }
    endRun(marks);
    paintUnfilled(painter, empty, outside, theme);
}

void RingMarks::paintUnfilled(QPainter& painter, const QPainterPath& empty,
                              const QPainterPath& outside, const Theme& theme) const
{
    painter.setBrush(Qt::NoBrush);
    // The oldest colours are as pale as the panel; a thin edge says that the slots are there.
    painter.setPen(QPen(theme.line, 1.0));
    for (const double radius : {m_frame.inner - 0.5, m_frame.outer + 0.5})
        painter.drawEllipse(m_frame.center, radius, radius);
    if (!outside.isEmpty()) {
        painter.save();
        painter.setClipPath(outside, Qt::IntersectClip);
        paintSlack(painter, outside.boundingRect().adjusted(-2, -2, 2, 2), theme);
        painter.restore();
        painter.setPen(QPen(theme.global, 1.0));
        painter.drawPath(outside);
    }
    painter.setPen(QPen(theme.evicted, m_hasGap ? 0.8 : 1.0));
    painter.drawPath(empty);
}

} // namespace kvscope
