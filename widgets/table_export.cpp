#include "widgets/table_export.h"

#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kPadding = 8.0;
constexpr double kWidestColumn = 360.0; ///< longer cells wrap
constexpr double kTitleHeight = 26.0;

struct TableDrawing
{
    QString title;
    SnapshotTable table;
    std::vector<int> rightColumns;
    std::vector<double> widths;
    std::vector<double> heights; ///< of rows

    bool isRight(int column) const
    {
        return std::find(rightColumns.begin(), rightColumns.end(), column) != rightColumns.end();
    }
    int flags(int column) const
    {
        return (isRight(column) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignTop |
               Qt::TextWrapAnywhere;
    }
    QFont font(int column) const { return isRight(column) ? digitFont() : uiFont(); }
    QSizeF size() const;
    void measure();
    void paint(QPainter& painter, const QRectF& area, const Theme& theme) const;
    void paintRow(QPainter& painter, const QRectF& row, const QStringList& cells) const;
};

void TableDrawing::measure()
{
    const QFontMetricsF titles(uiFont(TextSize::Secondary, QFont::Bold));
    for (int column = 0; column < table.columns.size(); ++column) {
        const QFontMetricsF metrics(font(column));
        double width = titles.horizontalAdvance(table.columns[column]);
        for (const QStringList& row : table.rows)
            width = std::max(width, metrics.horizontalAdvance(row.value(column)));
        widths.push_back(std::min(kWidestColumn, std::ceil(width) + 1) + 2 * kPadding);
    }
    for (const QStringList& row : table.rows) {
        double height = spacing::kDenseRow;
        for (int column = 0; column < table.columns.size(); ++column) {
            const QRectF room(0, 0, widths[static_cast<std::size_t>(column)] - 2 * kPadding, 1e5);
            const QRectF box =
                QFontMetricsF(font(column)).boundingRect(room, flags(column), row.value(column));
            height = std::max(height, std::ceil(box.height()) + 2);
        }
        heights.push_back(height);
    }
}

QSizeF TableDrawing::size() const
{
    double width = 0;
    double height = kTitleHeight + spacing::kListRow;
    for (const double column : widths)
        width += column;
    for (const double row : heights)
        height += row;
    const double words =
        QFontMetricsF(uiFont(TextSize::Body, QFont::Bold)).horizontalAdvance(title) + 2 * kPadding;
    return {std::ceil(std::max(width, words)), height + 4};
}

void TableDrawing::paintRow(QPainter& painter, const QRectF& row, const QStringList& cells) const
{
    double x = row.left();
    for (int column = 0; column < table.columns.size(); ++column) {
        const double width = widths[static_cast<std::size_t>(column)];
        painter.setFont(font(column));
        painter.drawText(QRectF(x + kPadding, row.top() + 1, width - 2 * kPadding, row.height()),
                         flags(column), cells.value(column));
        x += width;
    }
}

void TableDrawing::paint(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.setFont(uiFont(TextSize::Body, QFont::Bold));
    painter.setPen(theme.ink);
    painter.drawText(QRectF(area.left() + kPadding, area.top(), area.width(), kTitleHeight),
                     Qt::AlignLeft | Qt::AlignVCenter, title);
    QRectF row(area.left(), area.top() + kTitleHeight, area.width(), spacing::kListRow);
    painter.fillRect(row, theme.dockTitle);
    painter.setPen(theme.ink2);
    double x = row.left();
    for (int column = 0; column < table.columns.size(); ++column) {
        const double width = widths[static_cast<std::size_t>(column)];
        painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
        painter.drawText(QRectF(x + kPadding, row.top(), width - 2 * kPadding, row.height()),
                         (isRight(column) ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter,
                         table.columns[column]);
        x += width;
    }
    double y = row.bottom();
    for (std::size_t i = 0; i < heights.size(); ++i) {
        row = QRectF(area.left(), y, area.width(), heights[i]);
        if (i % 2 == 1)
            painter.fillRect(row, theme.alternateRow);
        painter.setPen(theme.ink);
        paintRow(painter, row, table.rows[static_cast<qsizetype>(i)]);
        y += heights[i];
    }
}

} // namespace

ExportSource tableExportSource(const QString& name, const QString& title,
                               const SnapshotTable& table, const std::vector<int>& rightColumns,
                               const QString& caption)
{
    TableDrawing drawing{title, table, rightColumns, {}, {}};
    drawing.measure();
    ExportSource source;
    source.name = name;
    source.size = drawing.size();
    source.caption = caption;
    source.hasSvg = true;
    source.paint = [drawing](QPainter& painter, const QRectF& area, const Theme& theme) {
        drawing.paint(painter, area, theme);
    };
    source.csv = [table] { return csvText(table); };
    return source;
}

} // namespace kvscope
