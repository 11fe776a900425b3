#include "widgets/painted_panel.h"

#include "widgets/accessible_panel.h"
#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QContextMenuEvent>
#include <QEvent>
#include <QFontMetricsF>
#include <QMenu>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {

PaintedPanel::PaintedPanel(const QString& exportName, const QString& title, QWidget* parent)
    : QWidget(parent)
    , m_exportName(exportName)
{
    installAccessiblePanels();
    setFocusPolicy(Qt::StrongFocus);
    setAccessibleName(title);
    setMouseTracking(true);
    setAttribute(Qt::WA_OpaquePaintEvent);
}

ExportSource PaintedPanel::exportSource() const
{
    ExportSource source;
    source.name = m_exportName;
    source.size = size();
    source.caption = m_exportCaption;
    source.paint = [this](QPainter& painter, const QRectF& area, const Theme& theme) {
        paintTo(painter, area, theme);
    };
    source.csv = [this] { return csv(); };
    source.hasSvg = true;
    extendExport(source);
    return source;
}

void PaintedPanel::setDescription(const QString& description)
{
    if (description == m_description)
        return;
    m_description = description;
    setAccessibleDescription(description);
    Q_EMIT descriptionChanged(description);
}

void PaintedPanel::paintFocus(QPainter& painter) const
{
    if (!hasFocus())
        return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setPen(
        QPen(Theme::current().highlight, 2, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    painter.setBrush(Qt::NoBrush);
    painter.drawRect(rect().adjusted(1, 1, -1, -1));
    painter.restore();
}

void PaintedPanel::contextMenuEvent(QContextMenuEvent* event)
{
    QMenu menu(this);
    extendContextMenu(menu);
    if (!menu.isEmpty())
        menu.addSeparator();
    addExportActions(
        menu, this, [this] { return exportSource(); },
        [this](const QString& path, const std::optional<QString>& error) {
            if (error)
                Q_EMIT exportFailed(*error);
            else
                Q_EMIT exported(path);
        });
    menu.exec(event->globalPos());
}

void PaintedPanel::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange ||
        event->type() == QEvent::ApplicationFontChange || event->type() == QEvent::StyleChange) {
        forgetDrawn();
        update();
    }
    QWidget::changeEvent(event);
}

void PaintedPanel::focusInEvent(QFocusEvent* event)
{
    QWidget::focusInEvent(event);
    update();
}

void PaintedPanel::focusOutEvent(QFocusEvent* event)
{
    QWidget::focusOutEvent(event);
    update();
}

void paintEmptyState(QPainter& painter, const QRectF& area, const Theme& theme,
                     const QString& title, const QString& advice)
{
    const QRectF inside =
        area.adjusted(spacing::kBlock, spacing::kStep, -spacing::kBlock, -spacing::kStep);
    const int flags = Qt::AlignHCenter | Qt::TextWordWrap;
    const QFont titleFont = uiFont(TextSize::Body, QFont::Bold);
    const QFont adviceFont = uiFont();
    const QRectF titleBox = QFontMetricsF(titleFont).boundingRect(inside, flags, title);
    const QRectF adviceBox = QFontMetricsF(adviceFont).boundingRect(inside, flags, advice);
    const double height = titleBox.height() + spacing::kTight + adviceBox.height();
    double y = std::max(inside.top(), area.center().y() - height / 2);
    painter.setFont(titleFont);
    painter.setPen(theme.ink2);
    painter.drawText(QRectF(inside.left(), y, inside.width(), titleBox.height()), flags, title);
    y += titleBox.height() + spacing::kTight;
    painter.setFont(adviceFont);
    painter.setPen(theme.ink3);
    painter.drawText(QRectF(inside.left(), y, inside.width(), adviceBox.height() + 2), flags,
                     advice);
}

void paintElided(QPainter& painter, const QRectF& area, int alignment, const QString& text,
                 Qt::TextElideMode mode)
{
    const QFontMetricsF metrics(painter.font());
    painter.drawText(area, alignment | Qt::TextSingleLine,
                     metrics.elidedText(text, mode, area.width()));
}

void paintSlack(QPainter& painter, const QRectF& area, const Theme& theme)
{
    constexpr double kPeriod = 6.0;
    if (area.isEmpty())
        return;
    painter.save();
    painter.setClipRect(area, Qt::IntersectClip);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(theme.global, 1.5));
    // Lines keep their place when the bar moves or grows, so that the hatch does not crawl.
    const double first = std::floor((area.left() + area.top()) / kPeriod) * kPeriod;
    for (double sum = first; sum <= area.right() + area.bottom() + kPeriod; sum += kPeriod)
        painter.drawLine(QPointF(sum - area.top() + 1, area.top() - 1),
                         QPointF(sum - area.bottom() - 1, area.bottom() + 1));
    painter.restore();
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(theme.global, 1, Qt::SolidLine, Qt::SquareCap, Qt::MiterJoin));
    painter.drawRect(area.adjusted(0, 0, -1, -1));
    painter.restore();
}

} // namespace kvscope
