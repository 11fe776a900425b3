#include "widgets/token_readout.h"

#include "widgets/fonts.h"

#include <QHelpEvent>
#include <QPainter>
#include <QStringList>
#include <QToolTip>

#include <utility>

namespace kvscope {
namespace {

constexpr int kSwatchWidth = 22;
constexpr int kNameWidth = 92;
constexpr int kValueWidth = 50;
constexpr int kPadding = spacing::kStep;
constexpr int kHeaderHeight = 22;

bool isShown(int column, ReadoutColumns columns)
{
    switch (columns) {
    case ReadoutColumns::Now:
        return column == 2;
    case ReadoutColumns::PinnedAndNow:
        return column != 1;
    case ReadoutColumns::All:
        break;
    }
    return true;
}

void drawHatch(QPainter& painter, const QRectF& box, const QColor& color)
{
    painter.save();
    painter.setClipRect(box);
    painter.setPen(QPen(color, 1.4));
    for (double x = box.left() - box.height(); x < box.right(); x += 4.0)
        painter.drawLine(QPointF(x, box.bottom()), QPointF(x + box.height(), box.top()));
    painter.restore();
}

void drawSwatch(QPainter& painter, const QRectF& cell, const ReadoutRow& row, const Theme& theme)
{
    if (row.swatch == Swatch::None || row.color == nullptr)
        return;
    const QColor color = theme.*row.color;
    const QPointF middle = cell.center();
    const QRectF box(middle.x() - 5, middle.y() - 5, 10, 10);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    switch (row.swatch) {
    case Swatch::Line:
        painter.drawRect(QRectF(middle.x() - 5, middle.y() - 1, 10, 2));
        break;
    case Swatch::Fill:
        painter.drawRect(box);
        break;
    case Swatch::Dot:
        painter.drawRect(QRectF(middle.x() - 2, middle.y() - 2, 4, 4));
        break;
    case Swatch::Hatch:
        drawHatch(painter, box, color);
        painter.setPen(QPen(color, 1));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
        break;
    case Swatch::None:
        break;
    }
}

/// The three cells of a row, right-aligned in columns that all rows share.
void drawValues(QPainter& painter, const QRectF& line, const std::array<QString, 3>& values,
                ReadoutColumns columns, const std::array<QColor, 3>& colors)
{
    double right = line.right() - kPadding;
    for (int column = 2; column >= 0; --column) {
        if (!isShown(column, columns))
            continue;
        const auto index = static_cast<std::size_t>(column);
        painter.setPen(colors[index]);
        painter.drawText(QRectF(right - kValueWidth, line.top(), kValueWidth, line.height()),
                         Qt::AlignRight | Qt::AlignVCenter, values[index]);
        right -= kValueWidth;
    }
}

std::array<QColor, 3> valueColors(const ReadoutRow& row, const Theme& theme)
{
    std::array<QColor, 3> colors;
    for (std::size_t i = 0; i < colors.size(); ++i) {
        const bool isQuiet = row.values[i] == QLatin1String("0") || row.values[i].size() == 1;
        colors[i] = isQuiet && !row.values[i].front().isNumber() ? theme.ink3
                    : row.values[i] == QLatin1String("0")        ? theme.ink3
                                                                 : theme.ink;
    }
    return colors;
}

} // namespace

int readoutWidth(ReadoutColumns columns)
{
    const int values = columns == ReadoutColumns::All ? 3 : columns == ReadoutColumns::Now ? 1 : 2;
    return kSwatchWidth + kNameWidth + values * kValueWidth + kPadding;
}

ReadoutColumns readoutColumnsFor(int panelWidth)
{
    if (panelWidth >= 640)
        return ReadoutColumns::All;
    return panelWidth >= 520 ? ReadoutColumns::PinnedAndNow : ReadoutColumns::Now;
}

void paintReadout(QPainter& painter, const QRectF& area, const ReadoutTable& table,
                  ReadoutColumns columns, const Theme& theme)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    QRectF line(area.left(), area.top(), area.width(), kHeaderHeight);
    painter.fillRect(line, theme.dockTitle);
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink2);
    painter.drawText(line.adjusted(kPadding, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                     table.title);
    painter.setFont(digitFont(TextSize::Secondary, QFont::Bold));
    drawValues(painter, line, table.headings, columns, {theme.selection, theme.ink, theme.ink});
    bool isAlternate = false;
    for (const ReadoutRow& row : table.rows) {
        line = QRectF(area.left(), line.bottom(), area.width(), spacing::kDenseRow);
        if (line.bottom() > area.bottom() + 1.0)
            break;
        if (std::exchange(isAlternate, !isAlternate))
            painter.fillRect(line, theme.alternateRow);
        drawSwatch(painter, QRectF(line.left(), line.top(), kSwatchWidth, line.height()), row,
                   theme);
        painter.setFont(uiFont(TextSize::Secondary));
        painter.setPen(theme.ink);
        painter.drawText(line.adjusted(kSwatchWidth, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter,
                         row.name);
        painter.setFont(digitFont(TextSize::Secondary));
        drawValues(painter, line, row.values, columns, valueColors(row, theme));
    }
    painter.restore();
}

TokenReadout::TokenReadout(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Readout at the pinned, hovered and newest token"));
}

void TokenReadout::setTable(ReadoutTable table)
{
    m_table = std::move(table);
    QStringList lines{
        m_table.title + QStringLiteral(": ") +
        QStringList(m_table.headings.begin(), m_table.headings.end()).join(QStringLiteral(", "))};
    for (const ReadoutRow& row : m_table.rows)
        lines.append(row.name + QStringLiteral(": ") +
                     QStringList(row.values.begin(), row.values.end()).join(QStringLiteral(", ")));
    setAccessibleDescription(lines.join(QStringLiteral("; ")));
    update();
}

void TokenReadout::setColumns(ReadoutColumns columns)
{
    if (columns == m_columns)
        return;
    m_columns = columns;
    updateGeometry();
    update();
}

QSize TokenReadout::sizeHint() const
{
    return {readoutWidth(m_columns),
            kHeaderHeight + static_cast<int>(m_table.rows.size()) * spacing::kDenseRow};
}

bool TokenReadout::event(QEvent* event)
{
    if (event->type() != QEvent::ToolTip)
        return QWidget::event(event);
    const auto* help = static_cast<QHelpEvent*>(event);
    const int row = (help->pos().y() - kHeaderHeight) / spacing::kDenseRow;
    if (help->pos().y() >= kHeaderHeight && row < static_cast<int>(m_table.rows.size()))
        QToolTip::showText(help->globalPos(), m_table.rows[static_cast<std::size_t>(row)].hint,
                           this);
    else
        QToolTip::hideText();
    return true;
}

void TokenReadout::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    painter.fillRect(rect(), Theme::current().panel);
    paintReadout(painter, rect(), m_table, m_columns, Theme::current());
}

} // namespace kvscope
