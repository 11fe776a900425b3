// Painting of the Global layers panel.
#include "widgets/fonts.h"
#include "widgets/global_layers_panel.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"
#include "widgets/token_selection.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

double axisTextWidth(const QString& text)
{
    return std::ceil(QFontMetricsF(digitFont()).horizontalAdvance(text));
}

QString columnTitle(GlobalColumn column)
{
    switch (column) {
    case GlobalColumn::Length:
        return GlobalLayersPanel::tr("length");
    case GlobalColumn::Capacity:
        return GlobalLayersPanel::tr("capacity");
    case GlobalColumn::Slack:
        return GlobalLayersPanel::tr("slack");
    case GlobalColumn::Live:
        return GlobalLayersPanel::tr("live");
    case GlobalColumn::LastCopy:
        return GlobalLayersPanel::tr("last copy");
    }
    return {};
}

QString columnText(GlobalColumn column, const GlobalRow& row)
{
    switch (column) {
    case GlobalColumn::Length:
        return countText(row.state.retained);
    case GlobalColumn::Capacity:
        return countText(row.state.capacity);
    case GlobalColumn::Slack:
        return countText(row.state.slack());
    case GlobalColumn::Live:
        return bytesText(row.liveBytes);
    case GlobalColumn::LastCopy:
        return row.lastCopySeconds < 0 ? missingText() : secondsText(row.lastCopySeconds);
    }
    return {};
}

QPen crisp(const QColor& color, double width, Qt::PenStyle style = Qt::SolidLine)
{
    return QPen(color, width, style, Qt::FlatCap);
}

/// A vertical line on whole pixels.
void verticalLine(QPainter& painter, double x, double top, double bottom)
{
    const double middle = std::floor(x) + (painter.pen().widthF() > 1.5 ? 0.0 : 0.5);
    painter.drawLine(QPointF(middle, top), QPointF(middle, bottom));
}

} // namespace

GlobalLayersLayout GlobalLayersPanel::layoutFor(const QRectF& area) const
{
    double widest = 0;
    const QFontMetricsF names(uiFont(TextSize::Body, QFont::Bold));
    const QFontMetricsF words(uiFont());
    bool hasGroups = false;
    for (const GlobalRow& row : m_rows) {
        hasGroups = hasGroups || row.count() > 1;
        const double word = row.count() > 1 ? 0 : 8 + words.horizontalAdvance(tr("global"));
        widest = std::max(widest, names.horizontalAdvance(layerNames(row.layers)) + word);
        if (row.count() > 1)
            widest = std::max(widest,
                              14 + words.horizontalAdvance(tr("%1 layers alike").arg(row.count())));
    }
    QRectF inside = area;
    if (canExpand() && m_isExpanded) // room for the scroll bar, there or not, so that nothing jumps
        inside.setRight(area.right() - m_scrollBar->sizeHint().width() + 6);
    return layOutGlobalLayers(inside, static_cast<int>(m_rows.size()), std::ceil(widest),
                              hasGroups);
}

void GlobalLayersPanel::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    paintScene(painter, area, 0.0, theme);
    if (!m_rows.empty())
        paintSelection(painter, layoutFor(area), theme);
}

void GlobalLayersPanel::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    const double ratio = devicePixelRatioF();
    if (m_scene.isNull() || m_scene.devicePixelRatio() != ratio) {
        m_scene = QPixmap(size() * ratio);
        m_scene.setDevicePixelRatio(ratio);
        m_scene.fill(theme.panel);
        QPainter scene(&m_scene);
        scene.setRenderHint(QPainter::Antialiasing);
        paintScene(scene, rect(), scrolled(), theme);
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_scene);
    painter.setRenderHint(QPainter::Antialiasing);
    if (!m_rows.empty()) {
        const GlobalLayersLayout layout = layoutFor(rect());
        paintSelection(painter, layout, theme);
        paintHover(painter, layout, theme);
    }
    paintFocus(painter);
}

void GlobalLayersPanel::paintMessage(QPainter& painter, const QRectF& area,
                                     const Theme& theme) const
{
    if (!m_model)
        paintEmptyState(painter, area, theme, tr("No model open"),
                        tr("Drop a file here, or press Ctrl+O."));
    else
        paintEmptyState(
            painter, area, theme, tr("This model has no global layers"),
            tr("Every layer is windowed: memory stays the same however long the context."));
}

void GlobalLayersPanel::paintScene(QPainter& painter, const QRectF& area, double scrolled,
                                   const Theme& theme) const
{
    painter.fillRect(area, theme.panel);
    if (m_rows.empty()) {
        paintMessage(painter, area, theme);
        return;
    }
    const GlobalLayersLayout layout = layoutFor(area);
    paintHeader(painter, layout, theme);
    painter.save();
    painter.setClipRect(layout.rows.adjusted(-4, 0, 4, 0), Qt::IntersectClip);
    for (int index = 0; index < static_cast<int>(m_rows.size()); ++index)
        if (layout.row(index, scrolled).intersects(layout.rows))
            paintRow(painter, layout, index, scrolled, theme);
    painter.restore();
    paintAxis(painter, layout, theme);
}

void GlobalLayersPanel::paintHeader(QPainter& painter, const GlobalLayersLayout& layout,
                                    const Theme& theme) const
{
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink3);
    for (const GlobalColumnSpan& span : layout.columns)
        paintElided(
            painter,
            {span.left, layout.header.top(), span.right - span.left, layout.header.height()},
            Qt::AlignRight | Qt::AlignVCenter, columnTitle(span.column));
}

void GlobalLayersPanel::paintNames(QPainter& painter, const GlobalLayersLayout& layout,
                                   const QRectF& row, const GlobalRow& content,
                                   const Theme& theme) const
{
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    const double width = layout.namesRight - layout.namesLeft;
    painter.setFont(bold);
    painter.setPen(theme.ink);
    const QString names = layerNames(content.layers);
    if (content.count() == 1) {
        const double used = QFontMetricsF(bold).horizontalAdvance(names) + 8;
        paintElided(painter, {layout.namesLeft, row.top(), width, row.height()},
                    Qt::AlignLeft | Qt::AlignVCenter, names);
        painter.setFont(uiFont());
        painter.setPen(theme.global);
        painter.drawText(QRectF(layout.namesLeft + used, row.top(), width - used, row.height()),
                         Qt::AlignRight | Qt::AlignVCenter, tr("global"));
        return;
    }
    const double line = QFontMetricsF(bold).height();
    const bool hasTwoLines = row.height() >= 2 * line;
    const double top = hasTwoLines ? row.center().y() - line : row.top();
    const double height = hasTwoLines ? line : row.height();
    paintElided(painter, {layout.namesLeft, top, width, height}, Qt::AlignLeft | Qt::AlignVCenter,
                names);
    if (!hasTwoLines)
        return;
    // A triangle to the right: folded, click to unfold.
    const double middle = std::round(top + line + line / 2);
    QPolygonF triangle;
    triangle << QPointF(layout.namesLeft + 1, middle - 4) << QPointF(layout.namesLeft + 7, middle)
             << QPointF(layout.namesLeft + 1, middle + 4);
    painter.setPen(Qt::NoPen);
    painter.setBrush(theme.ink3);
    painter.drawPolygon(triangle);
    painter.setFont(uiFont());
    painter.setPen(theme.global);
    paintElided(painter, {layout.namesLeft + 14, top + line, width - 14, line},
                Qt::AlignLeft | Qt::AlignVCenter, tr("%1 layers alike").arg(content.count()));
}

void GlobalLayersPanel::paintRow(QPainter& painter, const GlobalLayersLayout& layout, int index,
                                 double scrolled, const Theme& theme) const
{
    const GlobalRow& content = m_rows[static_cast<std::size_t>(index)];
    const QRectF row = layout.row(index, scrolled);
    const QRectF bar = layout.bar(index, scrolled);
    const LayerCacheState& state = content.state;
    paintNames(painter, layout, row, content, theme);

    const double liveEnd = std::round(barX(layout, state.retained, capacity()));
    const double end = std::round(barX(layout, state.capacity, capacity()));
    if (state.capacity > 0) {
        painter.fillRect(QRectF(bar.left(), bar.top(), liveEnd - bar.left(), bar.height()),
                         theme.global);
        paintSlack(painter, {liveEnd, bar.top(), end - liveEnd, bar.height()}, theme);
        for (const GrowthEvent& event : copyingGrowth(state))
            painter.fillRect(QRectF(std::round(barX(layout, event.atLength, capacity())) - 1,
                                    bar.top(), 2, bar.height()),
                             theme.panel);
        painter.fillRect(QRectF(liveEnd - 1, bar.top() - 1, 2, bar.height() + 2), theme.ink);
    } else {
        painter.setBrush(Qt::NoBrush);
        painter.setPen(crisp(theme.evicted, 1));
        painter.drawRect(bar.adjusted(0.5, 0.5, -0.5, -0.5));
    }

    const bool isTall = content.count() > 1 && row.height() >= 36;
    for (const GlobalColumnSpan& span : layout.columns) {
        QRectF cell(span.left, row.top(), span.right - span.left, row.height());
        const bool hasNote = isTall && span.column == GlobalColumn::Live && state.liveBytes > 0;
        if (hasNote)
            cell.setHeight(row.height() / 2 + 1);
        painter.setFont(digitFont());
        painter.setPen(state.capacity > 0 ? theme.ink : theme.ink3);
        const int vertical = hasNote ? Qt::AlignBottom : Qt::AlignVCenter;
        paintElided(painter, cell, Qt::AlignRight | vertical, columnText(span.column, content));
        if (!hasNote)
            continue;
        painter.setFont(uiFont(TextSize::Axis));
        painter.setPen(theme.ink3);
        paintElided(painter, {span.left - 20, cell.bottom(), span.right - span.left + 20, 16},
                    Qt::AlignRight | Qt::AlignTop, tr("%1 each").arg(bytesText(state.liveBytes)));
    }
}

void GlobalLayersPanel::paintAxis(QPainter& painter, const GlobalLayersLayout& layout,
                                  const Theme& theme) const
{
    if (m_rows.empty())
        return;
    const auto longest = std::max_element(m_rows.begin(), m_rows.end(),
                                          [](const GlobalRow& first, const GlobalRow& second) {
                                              return first.state.capacity < second.state.capacity;
                                          });
    for (const AxisLabel& label : axisLabels(layout, longest->state, axisTextWidth)) {
        const bool isLength = label.kind == AxisLabel::Kind::Length;
        const QColor color = label.kind == AxisLabel::Kind::Growth ? theme.growthCopy
                             : isLength                            ? theme.ink
                                                                   : theme.ink2;
        painter.setPen(crisp(color, 1));
        verticalLine(painter, std::min(label.x, layout.barsRight - 1), layout.axis.top(),
                     layout.axis.top() + 3);
        painter.setFont(digitFont(TextSize::Body, isLength ? QFont::Bold : QFont::Normal));
        painter.setPen(color);
        painter.drawText(
            QRectF(label.left, layout.axis.top() + 3, label.width + 2, layout.axis.height() - 3),
            Qt::AlignLeft | Qt::AlignVCenter | Qt::TextDontClip, label.text);
    }
}

void GlobalLayersPanel::paintSelection(QPainter& painter, const GlobalLayersLayout& layout,
                                       const Theme& theme) const
{
    if (!m_selection || !m_selection->selection().pinned ||
        *m_selection->selection().pinned >= capacity())
        return;
    const TokenSelection& selection = m_selection->selection();
    const double top = layout.header.bottom() - 2;
    const double bottom = layout.rows.bottom() + 2;
    if (const auto range = selection.range()) {
        const double left = barX(layout, range->first, capacity());
        const double right = barX(layout, range->last + 1, capacity());
        QColor tint = theme.selection;
        tint.setAlphaF(0.25f);
        painter.fillRect(QRectF(left, top, std::max(1.0, right - left), bottom - top), tint);
    }
    const double x = barX(layout, *selection.pinned, capacity());
    painter.setPen(crisp(theme.selection, 2));
    verticalLine(painter, x, top, bottom);
    const QFont font = uiFont(TextSize::Secondary, QFont::Bold);
    painter.setFont(font);
    const QString text = selection.range()
                             ? rangeText(selection.range()->first, selection.range()->last)
                             : countText(*selection.pinned);
    const double width = QFontMetricsF(font).horizontalAdvance(text) + 2;
    const double left = std::clamp(x - width / 2, layout.barsLeft,
                                   std::max(layout.barsLeft, layout.barsRight - width));
    painter.drawText(QRectF(left, layout.header.top(), width, layout.header.height() - 2),
                     Qt::AlignCenter | Qt::TextDontClip, text);
}

void GlobalLayersPanel::paintHover(QPainter& painter, const GlobalLayersLayout& layout,
                                   const Theme& theme) const
{
    if (!m_selection || !m_selection->selection().hovered ||
        *m_selection->selection().hovered >= capacity())
        return;
    painter.setPen(crisp(theme.ink, 1, Qt::DashLine));
    verticalLine(painter, barX(layout, *m_selection->selection().hovered, capacity()),
                 layout.header.bottom() - 2, layout.rows.bottom() + 2);
}

} // namespace kvscope
