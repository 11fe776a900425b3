// Mouse, keyboard and tooltips of a sweep's map.
#include "widgets/elided_label.h"
#include "widgets/number_format.h"
#include "widgets/sweep_map_panel.h"

#include <QAccessible>
#include <QActionGroup>
#include <QCoreApplication>
#include <QKeyEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>
#include <QWheelEvent>

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope {

std::optional<std::size_t> SweepMapPanel::columnHeadAt(const QPointF& point) const
{
    const SweepMapLayout layout = currentLayout();
    const bool isHead = layout.header.contains(point);
    const bool isMarginal = layout.byLength.united(layout.byLengthScores).contains(point) &&
                            layout.view.contains(point);
    if ((!isHead && !isMarginal) || point.x() < layout.gridLeft || point.x() >= layout.gridRight)
        return std::nullopt;
    const auto column =
        static_cast<std::size_t>((point.x() - layout.firstColumn) / layout.columnWidth);
    return column < m_report->columns.size() ? std::optional(column) : std::nullopt;
}

QString SweepMapPanel::columnTooltip(std::size_t index) const
{
    const SweepColumn& column = m_report->columns[index];
    QStringList lines{tr("%1 tokens").arg(countText(column.tokens))};
    if (!column.skipReason.empty())
        lines << tr("cannot fit: %1").arg(QString::fromStdString(column.skipReason));
    if (column.isBeyondTrained)
        lines << tr("beyond the trained %1 positions").arg(countText(m_report->trainedPositions));
    if (column.secondsPerTrial > 0)
        lines << tr("%1 a trial").arg(secondsText(column.secondsPerTrial));
    if (column.pooled.score.trials > 0)
        lines << tr("all depths: %1, Wilson 95 % %2, %3 the line")
                     .arg(scoreText(column.pooled.score), intervalText(column.pooled.interval),
                          verdictWord(column.pooled.verdict));
    return lines.join(u'\n');
}

QString SweepMapPanel::cellTooltip(const SweepCellKey& key) const
{
    const SweepCell& cell = *cellOf(*m_report, key);
    const SweepColumn* column = columnOf(*m_report, key);
    QStringList lines{cellName(*m_report, key)};
    if (column && !column->skipReason.empty()) {
        lines << tr("cannot fit: %1").arg(QString::fromStdString(column->skipReason));
        return lines.join(u'\n');
    }
    if (cell.trials.empty()) {
        lines << tr("%1, %2 trials").arg(stateName(cell.state)).arg(cell.plannedTrials);
        return lines.join(u'\n');
    }
    if (cell.score.trials == 0)
        lines << tr("none counts: the control answered what they ask");
    else
        lines << tr("%1 found, Wilson 95 % %2")
                     .arg(scoreText(cell.score), intervalText(cell.interval));
    if (key.role == TrialRole::Asked && cell.score.trials > 0)
        lines.back() += tr(": %1 %2 at %3 %")
                            .arg(verdictGlyph(cell.verdict), verdictWord(cell.verdict),
                                 percentText(m_report->absolute.threshold));
    if (key.role == TrialRole::Control && cell.score.correct > 0)
        lines << tr("! answered without the fact: what is found need not come from the prompt");
    if (cell.state != CellState::Done)
        lines << tr("%1: %2 of %3 trials")
                     .arg(stateName(cell.state))
                     .arg(cell.trials.size())
                     .arg(cell.plannedTrials);
    for (const KindSegment& segment : kindSegments(cell, false))
        lines << tr("%1 %2").arg(segment.count).arg(kindName(segment.kind));
    lines << tr("mean nll of the right answer %1 nats").arg(lossText(cell.meanAnswerNll));
    lines << tr("Click, or Enter, shows its trials");
    return lines.join(u'\n');
}

QString SweepMapPanel::tooltipAt(const QPointF& point) const
{
    if (isEmpty())
        return {};
    if (const auto key = currentLayout().keyAt(point))
        return plainTooltip(cellTooltip(*key));
    if (const auto column = columnHeadAt(point))
        return plainTooltip(columnTooltip(*column));
    return {};
}

void SweepMapPanel::mouseMoveEvent(QMouseEvent* event)
{
    const auto hovered = isEmpty() ? std::nullopt : currentLayout().keyAt(event->position());
    setCursor(hovered ? Qt::PointingHandCursor : Qt::ArrowCursor);
    if (hovered != m_hovered) {
        m_hovered = hovered;
        update();
    }
    QToolTip::showText(event->globalPosition().toPoint() + QPoint(8, 8),
                       tooltipAt(event->position()), this);
}

void SweepMapPanel::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || isEmpty())
        return;
    if (const auto key = currentLayout().keyAt(event->position()))
        choose(*key);
}

void SweepMapPanel::leaveEvent(QEvent*)
{
    m_hovered.reset();
    update();
}

void SweepMapPanel::wheelEvent(QWheelEvent* event)
{
    const bool isSideways = event->modifiers().testFlag(Qt::ShiftModifier) ||
                            std::abs(event->angleDelta().x()) > std::abs(event->angleDelta().y());
    QScrollBar* bar = isSideways || m_down->isHidden() ? m_sideways : m_down;
    if (bar->isHidden()) {
        event->ignore();
        return;
    }
    const QPoint delta = event->angleDelta();
    const int turned = std::abs(delta.x()) > std::abs(delta.y()) ? delta.x() : delta.y();
    bar->setValue(bar->value() - turned * 60 / 120); // half a cell a notch
    event->accept();
}

void SweepMapPanel::keyPressEvent(QKeyEvent* event)
{
    const int everything = isEmpty() ? 0 : static_cast<int>(m_report->columns.size());
    switch (event->key()) {
    case Qt::Key_Left:
        return moveCursor(-1, 0);
    case Qt::Key_Right:
        return moveCursor(1, 0);
    case Qt::Key_Up:
        return moveCursor(0, -1);
    case Qt::Key_Down:
        return moveCursor(0, 1);
    case Qt::Key_Home:
        return moveCursor(-everything, 0);
    case Qt::Key_End:
        return moveCursor(everything, 0);
    case Qt::Key_Return:
    case Qt::Key_Enter:
        return choose(m_cursor);
    case Qt::Key_PageUp:
        return m_down->triggerAction(QAbstractSlider::SliderPageStepSub);
    case Qt::Key_PageDown:
        return m_down->triggerAction(QAbstractSlider::SliderPageStepAdd);
    default:
        PaintedPanel::keyPressEvent(event);
    }
}

void SweepMapPanel::moveCursor(int columns, int rows)
{
    if (isEmpty())
        return;
    m_cursor = neighbourOf(m_cursor, columns, rows, sweepMapShape(*m_report));
    scrollTo(m_cursor);
    tellScreenReader();
    update();
}

void SweepMapPanel::scrollTo(const SweepCellKey& key)
{
    const SweepMapLayout layout = currentLayout();
    const QRectF cell = layout.rectOf(key);
    const auto nudge = [](QScrollBar* bar, double before, double after) {
        if (before > 0)
            bar->setValue(bar->value() - static_cast<int>(std::ceil(before)));
        else if (after > 0)
            bar->setValue(bar->value() + static_cast<int>(std::ceil(after)));
    };
    nudge(m_down, layout.view.top() - cell.top(), cell.bottom() - layout.view.bottom());
    if (key.role != TrialRole::Oracle)
        nudge(m_sideways, layout.gridLeft - cell.left(), cell.right() - layout.gridRight);
}

void SweepMapPanel::tellScreenReader() const
{
    const std::vector<SweepCellKey> keys = allCells(*m_report);
    SweepCellKey cursor = m_cursor;
    if (cursor.role == TrialRole::Oracle)
        cursor.column = 0;
    const auto row = std::find(keys.begin(), keys.end(), cursor) - keys.begin();
    QAccessibleEvent focus(const_cast<SweepMapPanel*>(this), QAccessible::Focus);
    focus.setChild(static_cast<int>(row * accessibleTable().columns.size()));
    QAccessible::updateAccessibility(&focus);
}

void SweepMapPanel::extendContextMenu(QMenu& menu)
{
    auto* group = new QActionGroup(&menu);
    const std::array names{tr("Cells: found of asked"), tr("Loss of the right answer"),
                           tr("Kinds of answers")};
    for (std::size_t i = 0; i < names.size(); ++i) {
        const auto mode = static_cast<SweepMapMode>(i);
        QAction* action = menu.addAction(names[i], this, [this, mode] { setMode(mode); });
        action->setCheckable(true);
        action->setChecked(mode == m_mode);
        group->addAction(action);
    }
}

} // namespace kvscope
