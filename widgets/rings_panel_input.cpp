// Mouse, keyboard and tooltips of the Rings panel.
#include "widgets/number_format.h"
#include "widgets/rings_panel.h"
#include "widgets/token_history.h"
#include "widgets/token_keys.h"
#include "widgets/token_selection.h"
#include "widgets/token_text.h"

#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QToolTip>

namespace kvscope {
namespace {

constexpr double kReach = 4.0; ///< pixels beside the ring that still hit it

} // namespace

std::optional<std::int64_t> RingsPanel::positionAt(const QPointF& point) const
{
    const Ring* ring = chosen();
    if (!ring)
        return std::nullopt;
    const RingPositions positions(ring->state);
    const auto slot = slotAt(layoutFor(rect()).main, positions.capacity(), point, kReach);
    if (!slot || positions.state(*slot) == SlotState::Empty)
        return std::nullopt;
    return positions.positionIn(*slot);
}

const RingsPanel::Ring* RingsPanel::smallRingAt(const QPointF& point) const
{
    const RingsLayout layout = layoutFor(rect());
    const auto rings = others();
    for (std::size_t i = 0; i < layout.small.size() && i < rings.size(); ++i)
        if (layout.small[i].cell.contains(point))
            return rings[i];
    return nullptr;
}

QString RingsPanel::slotTooltip(std::int64_t slot) const
{
    const RingPositions positions(chosen()->state);
    if (positions.state(slot) == SlotState::Empty)
        return tr("slot %1, empty").arg(countText(slot));
    const std::int64_t position = *positions.positionIn(slot);
    const QString place =
        tr("position %1, slot %2, age %3")
            .arg(countText(position), countText(slot), countText(positions.ageOf(position)));
    if (!positions.holds(position))
        return tokenTooltip(m_history, position,
                            {place, tr("left the window at %1, not overwritten yet")
                                        .arg(countText(positions.leavesAt(position)))});
    const std::int64_t left = positions.leavesIn(position);
    return tokenTooltip(m_history, position,
                        {place, left == 1 ? tr("leaves with the next token")
                                          : tr("leaves in %1 tokens").arg(countText(left))});
}

QString RingsPanel::tooltipAt(const QPointF& point) const
{
    const Ring* ring = chosen();
    if (!ring)
        return {};
    const auto slot = slotAt(layoutFor(rect()).main, ring->state.capacity, point, kReach);
    if (slot)
        return slotTooltip(*slot);
    const Ring* small = smallRingAt(point);
    if (!small)
        return {};
    const RingPositions positions(small->state);
    return tr("Layer %1, windowed, W = %2\n%3 of %4 slots held, head at slot %5\n%6 allocated\n"
              "Click to draw it large")
        .arg(QString::number(small->layer), countText(positions.window()),
             countText(positions.retained()), countText(positions.capacity()),
             countText(positions.head()), bytesText(small->state.allocatedBytes));
}

void RingsPanel::mouseMoveEvent(QMouseEvent* event)
{
    const auto position = positionAt(event->position());
    setCursor(!position && smallRingAt(event->position()) ? Qt::PointingHandCursor
                                                          : Qt::ArrowCursor);
    if (m_selection) {
        if (position && event->buttons().testFlag(Qt::LeftButton))
            m_selection->extendTo(*position);
        position ? m_selection->hover(*position) : m_selection->clearHover();
    }
    QToolTip::showText(event->globalPosition().toPoint() + QPoint(8, 8),
                       tooltipAt(event->position()), this);
}

void RingsPanel::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    if (const auto position = positionAt(event->position())) {
        if (!m_selection)
            return;
        if (event->modifiers().testFlag(Qt::ShiftModifier))
            m_selection->extendTo(*position);
        else
            m_selection->pin(*position);
    } else if (const Ring* small = smallRingAt(event->position())) {
        chooseLayer(small->layer);
    }
}

void RingsPanel::leaveEvent(QEvent*)
{
    if (m_selection)
        m_selection->clearHover();
}

void RingsPanel::resizeEvent(QResizeEvent*)
{
    forgetDrawn();
}

void RingsPanel::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_BracketLeft)
        chooseNeighbour(-1);
    else if (event->key() == Qt::Key_BracketRight)
        chooseNeighbour(1);
    else if (!m_selection || !handleTokenKey(*event, *m_selection))
        PaintedPanel::keyPressEvent(event);
}

void RingsPanel::extendContextMenu(QMenu& menu)
{
    for (const Ring& ring : m_rings) {
        const int layer = ring.layer;
        QAction* action = menu.addAction(tr("Layer %1 large").arg(layer), this,
                                         [this, layer] { chooseLayer(layer); });
        action->setCheckable(true);
        action->setChecked(chosenLayer() == layer);
    }
}

} // namespace kvscope
