// Mouse, keyboard and tooltips of the Global layers panel.
#include "widgets/global_layers_panel.h"
#include "widgets/number_format.h"
#include "widgets/token_history.h"
#include "widgets/token_keys.h"
#include "widgets/token_selection.h"
#include "widgets/token_text.h"

#include <QCoreApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>

namespace kvscope {

std::optional<int> GlobalLayersPanel::rowAt(const QPointF& point) const
{
    const GlobalLayersLayout layout = layoutFor(rect());
    if (!layout.rows.contains(point) || layout.rowHeight <= 0)
        return std::nullopt;
    const int row =
        static_cast<int>((point.y() - layout.rows.top() + scrolled()) / layout.rowHeight);
    return row < static_cast<int>(m_rows.size()) ? std::optional<int>(row) : std::nullopt;
}

std::optional<std::int64_t> GlobalLayersPanel::positionAt(const QPointF& point) const
{
    const auto row = rowAt(point);
    if (!row)
        return std::nullopt;
    const auto position = barPosition(layoutFor(rect()), point.x(), capacity());
    const LayerCacheState& state = m_rows[static_cast<std::size_t>(*row)].state;
    return position && *position < state.retained ? position : std::nullopt;
}

QString GlobalLayersPanel::tooltipAt(const QPointF& point) const
{
    const auto row = rowAt(point);
    if (!row)
        return {};
    const GlobalRow& content = m_rows[static_cast<std::size_t>(*row)];
    const LayerCacheState& state = content.state;
    if (const auto position = positionAt(point))
        return tokenTooltip(m_history, *position,
                            {tr("position %1, index %1 in %n global layers", nullptr,
                                static_cast<int>(m_layers.size()))
                                 .replace(QStringLiteral("%1"), countText(*position)),
                             tr("never leaves a global layer")});
    if (barPosition(layoutFor(rect()), point.x(), capacity()))
        return tr("%1 slots allocated and unused in each of %2")
            .arg(countText(state.slack()), layerNames(content.layers));
    QString text =
        tr("%1: %2 of %3 tokens, %4 live, %5 allocated")
            .arg(layerNames(content.layers), countText(state.retained), countText(state.capacity),
                 bytesText(content.liveBytes), bytesText(content.allocatedBytes));
    if (content.lastCopySeconds >= 0)
        text += tr(", last copy %1").arg(secondsText(content.lastCopySeconds));
    if (canExpand())
        text += m_isExpanded ? tr("\nClick to fold layers that are alike")
                             : tr("\nClick to show each layer");
    return text;
}

void GlobalLayersPanel::mouseMoveEvent(QMouseEvent* event)
{
    const auto position = positionAt(event->position());
    if (m_selection) {
        if (position && event->buttons().testFlag(Qt::LeftButton))
            m_selection->extendTo(*position);
        position ? m_selection->hover(*position) : m_selection->clearHover();
    }
    QToolTip::showText(event->globalPosition().toPoint() + QPoint(8, 8),
                       tooltipAt(event->position()), this);
}

void GlobalLayersPanel::mousePressEvent(QMouseEvent* event)
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
    } else if (canExpand() && rowAt(event->position()) &&
               event->position().x() < layoutFor(rect()).barsLeft) {
        setExpanded(!m_isExpanded);
    }
}

void GlobalLayersPanel::wheelEvent(QWheelEvent* event)
{
    if (m_scrollBar->isVisible())
        QCoreApplication::sendEvent(m_scrollBar, event);
    else
        event->ignore();
}

void GlobalLayersPanel::leaveEvent(QEvent*)
{
    if (m_selection)
        m_selection->clearHover();
}

void GlobalLayersPanel::resizeEvent(QResizeEvent*)
{
    forgetDrawn();
    placeScrollBar();
}

void GlobalLayersPanel::keyPressEvent(QKeyEvent* event)
{
    const bool expands = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (expands && canExpand())
        setExpanded(!m_isExpanded);
    else if (event->key() == Qt::Key_Up)
        m_scrollBar->triggerAction(QAbstractSlider::SliderSingleStepSub);
    else if (event->key() == Qt::Key_Down)
        m_scrollBar->triggerAction(QAbstractSlider::SliderSingleStepAdd);
    else if (!m_selection || !handleTokenKey(*event, *m_selection))
        PaintedPanel::keyPressEvent(event);
}

void GlobalLayersPanel::extendContextMenu(QMenu& menu)
{
    if (!canExpand())
        return;
    QAction* action =
        menu.addAction(tr("Show each layer"), this, [this] { setExpanded(!m_isExpanded); });
    action->setCheckable(true);
    action->setChecked(m_isExpanded);
}

} // namespace kvscope
