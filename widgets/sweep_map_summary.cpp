// Below a sweep's map: ends against middle, effective lengths, wrong answers by depth.
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/sweep_map_painter.h"
#include "widgets/sweep_summary.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kMargin = 8.0;
constexpr double kDepthNames = 46.0;

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::SweepMap", text);
}

std::int64_t numWrong(const SweepCell& cell)
{
    std::int64_t count = 0;
    for (const KindSegment& segment : kindSegments(cell, false))
        count += segment.count;
    return count;
}

} // namespace

void SweepMapPainter::paintSummary() const
{
    const QRectF both = m_layout.ends.united(m_layout.wrong);
    m_painter.fillRect(QRectF(both.left(), both.top(), both.width(),
                              std::max(both.height(), m_layout.area.bottom() - both.top())),
                       m_theme.alternateRow);
    m_painter.fillRect(QRectF(both.left(), both.top(), both.width(), 1), m_theme.line);
    const std::vector<SweepSummaryRow> rows = sweepSummary(m_report);
    for (std::size_t i = 0; i < std::min(rows.size(), m_layout.summary.rows.size()); ++i)
        paintRow(rows[i], m_layout.summary.rows[i]);
    paintWrongAnswers();
}

void SweepMapPainter::paintTitle(QRectF& line, const QString& title, const QString& note) const
{
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    write(line, Qt::AlignLeft | Qt::AlignVCenter, title, bold, m_theme.ink);
    const double after = QFontMetricsF(bold).horizontalAdvance(title) + 10;
    if (after + 40 < line.width())
        write(line.adjusted(after, 0, 0, 0), Qt::AlignLeft | Qt::AlignVCenter, note,
              uiFont(TextSize::Secondary), m_theme.ink2);
    line.translate(0, m_layout.shape.line);
}

void SweepMapPainter::paintRow(const SweepSummaryRow& row, const SummaryRowPlace& place) const
{
    const auto at = [this](const QPointF& from) {
        const QPointF topLeft = m_layout.summaryAt + from;
        return QRectF(topLeft, QPointF(m_layout.ends.right() - kMargin + 1,
                                       topLeft.y() + m_layout.shape.line));
    };
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    const int alignment = Qt::AlignLeft | Qt::AlignVCenter;
    write(at(place.name), alignment, row.name, row.isTitle ? bold : uiFont(),
          row.isTitle ? m_theme.ink : m_theme.ink2);
    write(at(place.value), alignment, row.value, bold, m_theme.ink);
    write(at(place.note), alignment, row.note, row.isTitle ? uiFont(TextSize::Secondary) : uiFont(),
          m_theme.ink2);
}

void SweepMapPainter::paintWrongAnswers() const
{
    QRectF line = m_layout.wrong.adjusted(kMargin + 4, kMargin, -kMargin, 0);
    line.setHeight(m_layout.shape.line);
    paintTitle(line, tr("Wrong answers by depth"), tr("trained lengths"));
    line.translate(0, 2);
    std::int64_t most = 1;
    for (const SweepCell& cell : m_report.byDepth)
        most = std::max(most, numWrong(cell));
    const double small = m_layout.shape.smallLine;
    const double height = m_layout.shape.depths <= 7 ? small + 2 : small;
    const double room = line.width() - kDepthNames - 12;
    for (std::size_t depth = 0; depth < m_report.depths.size(); ++depth) {
        write(QRectF(line.left(), line.top(), kDepthNames, height),
              Qt::AlignRight | Qt::AlignVCenter, depthText(m_report.depths[depth]),
              digitFont(TextSize::Secondary), m_theme.ink2);
        const QRectF bar(line.left() + kDepthNames + 8, line.top() + 1, room, height - 2);
        const SweepCell* cell =
            depth < m_report.byDepth.size() ? &m_report.byDepth[depth] : nullptr;
        if (cell && numWrong(*cell) > 0)
            paintKindBar(m_painter, bar, room / static_cast<double>(most),
                         kindSegments(*cell, false), m_theme);
        else
            write(bar, Qt::AlignLeft | Qt::AlignVCenter,
                  cell && cell->score.trials > 0 ? QStringLiteral("0") : missingText(),
                  digitFont(TextSize::Secondary), m_theme.ink3);
        line.translate(0, height);
    }
    line.translate(0, 4);
    line.setHeight(2 * small);
    paintKindLegend(line);
}

void SweepMapPainter::paintKindLegend(const QRectF& area) const
{
    const QFont font = uiFont(TextSize::Axis);
    const double small = m_layout.shape.smallLine;
    double x = area.left();
    double y = area.top();
    for (std::size_t i = 0; i < kNumAnswerKinds; ++i) {
        const auto kind = static_cast<AnswerKind>(i);
        if (kind == AnswerKind::Found && m_mode != SweepMapMode::Kinds)
            continue;
        const QString name = kindName(kind);
        const double width = 13 + std::ceil(QFontMetricsF(font).horizontalAdvance(name)) + 1;
        if (x + width > area.right() && x > area.left()) {
            x = area.left();
            y += small;
        }
        paintKindBar(m_painter, QRectF(x, std::round(y + (small - 9) / 2), 10, 9), 10, {{kind, 1}},
                     m_theme);
        write(QRectF(x + 13, y, std::min(width - 12, area.right() - x - 13), small),
              Qt::AlignLeft | Qt::AlignVCenter, name, font, m_theme.ink2);
        x += width + 10;
    }
}

} // namespace kvscope
