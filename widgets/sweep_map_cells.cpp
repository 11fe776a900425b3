// The cells of a sweep's map.
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/sweep_map_painter.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>
#include <QRegularExpression>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kCornerRoom = 13.0;
constexpr double kHatchSpacing = 7.0;

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::SweepMap", text);
}

double widthOf(const QFont& font, const QString& text)
{
    return QFontMetricsF(font).horizontalAdvance(text);
}

/// A line a part; a number keeps its unit.
QString brokenReason(QString reason)
{
    static const QRegularExpression kUnit(QStringLiteral("(\\d) ([KMGT]?i?B)\\b"));
    reason.replace(QStringLiteral(", "), QStringLiteral(",\n"));
    return reason.replace(kUnit, QStringLiteral("\\1\u00a0\\2"));
}

void frame(QPainter& painter, const QRectF& area, const QColor& color,
           Qt::PenStyle style = Qt::SolidLine)
{
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing, false);
    painter.setBrush(Qt::NoBrush);
    painter.setPen(QPen(color, 1, style, Qt::FlatCap, Qt::MiterJoin));
    painter.drawRect(area.adjusted(0, 0, -1, -1));
    painter.restore();
}

} // namespace

void paintHatch(QPainter& painter, const QRectF& area, const QColor& color, double spacing)
{
    if (area.isEmpty())
        return;
    painter.save();
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1));
    const double last = area.right() + area.bottom();
    for (double sum = area.left() + area.top() + spacing; sum < last; sum += spacing) {
        const double left = std::max(area.left(), sum - area.bottom());
        const double right = std::min(area.right(), sum - area.top());
        painter.drawLine(QPointF(left, sum - left), QPointF(right, sum - right));
    }
    painter.restore();
}

void SweepMapPainter::paintCells() const
{
    for (std::size_t column = 0; column < m_report.columns.size(); ++column) {
        const SweepColumn& content = m_report.columns[column];
        const QRectF whole = m_layout.columnCells(column);
        if (whole.right() <= m_layout.gridLeft || whole.left() >= m_layout.gridRight)
            continue;
        if (!content.skipReason.empty()) {
            paintCannotFit(whole, QString::fromStdString(content.skipReason));
            paintCannotFit(m_layout.control(column), {});
            continue;
        }
        const std::size_t depths = std::min(content.cells.size(), m_report.depths.size());
        for (std::size_t depth = 0; depth < depths; ++depth)
            paintCell(m_layout.cell(column, depth), content.cells[depth],
                      {TrialRole::Asked, column, depth});
        paintCell(m_layout.control(column), content.control, {TrialRole::Control, column, 0});
    }
}

void SweepMapPainter::paintCell(const QRectF& area, const SweepCell& cell,
                                const SweepCellKey& key) const
{
    if (!isShown(area))
        return;
    if (cell.state == CellState::CannotFit)
        paintCannotFit(area, {});
    else if (cell.state == CellState::Running)
        paintRunning(area, cell);
    else if (cell.trials.empty())
        paintQueued(area);
    else if (m_mode == SweepMapMode::Loss)
        paintLoss(area, cell);
    else if (cell.score.trials == 0)
        paintUncounted(area);
    else if (m_mode == SweepMapMode::Kinds)
        paintKinds(area, cell);
    else
        paintScore(area, cell, key);
}

void SweepMapPainter::paintTwoLines(const QRectF& area, const QString& value, const QString& note,
                                    const QColor& color, double reserved) const
{
    const double line = m_layout.shape.line;
    const double small = m_layout.shape.smallLine;
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    const QFont digits = digitFont(TextSize::Secondary);
    if (area.height() >= line + small - 1) {
        const double top = std::round(area.center().y() - (line + small) / 2);
        write(QRectF(area.left() + 2, top, area.width() - 4, line), Qt::AlignCenter, value, bold,
              color);
        write(QRectF(area.left() + 2, top + line, area.width() - 4, small), Qt::AlignCenter, note,
              digits, color);
        return;
    }
    const QRectF room = area.adjusted(3, 0, -3 - reserved, 0);
    const double valueWidth = widthOf(bold, value) + 1;
    const double noteWidth = widthOf(digits, note) + 1;
    if (valueWidth + 6 + noteWidth > room.width()) {
        write(room, Qt::AlignCenter, value, bold, color);
        return;
    }
    write(QRectF(room.left(), room.top(), valueWidth, room.height()),
          Qt::AlignLeft | Qt::AlignVCenter, value, bold, color);
    write(QRectF(room.left() + valueWidth + 6, room.top(), noteWidth, room.height()),
          Qt::AlignLeft | Qt::AlignVCenter, note, digits, color);
}

void SweepMapPainter::paintCorner(const QRectF& area, const QString& glyph,
                                  const QColor& color) const
{
    const bool isLow = area.height() < m_layout.shape.line + m_layout.shape.smallLine - 1;
    const QRectF corner(area.right() - kCornerRoom, area.top() + (isLow ? 0 : 1), kCornerRoom - 2,
                        isLow ? area.height() : kCornerRoom);
    m_painter.setFont(uiFont(TextSize::Axis));
    m_painter.setPen(color);
    m_painter.drawText(corner, Qt::AlignRight | Qt::AlignVCenter | Qt::TextDontClip, glyph);
}

void SweepMapPainter::paintScore(const QRectF& area, const SweepCell& cell,
                                 const SweepCellKey& key) const
{
    const QColor fill = m_theme.accuracyColor(cell.score.rate());
    const QColor text = m_theme.textOn(fill);
    m_painter.fillRect(area, fill);
    if (m_theme.isDark || cell.score.rate() < 0.15)
        frame(m_painter, area, m_theme.line); // the palest fill is close to the panel
    const bool isAsked = key.role == TrialRole::Asked;
    const bool hasCorner = isAsked ? cell.state == CellState::Done : cell.score.correct > 0;
    const QString note = cell.state == CellState::Done
                             ? intervalText(cell.interval)
                             : tr("%1 of %2").arg(cell.trials.size()).arg(cell.plannedTrials);
    paintTwoLines(area, scoreText(cell.score), note, text, hasCorner ? kCornerRoom - 4 : 0.0);
    if (hasCorner) // a control that answers is a warning: the score need not come from the prompt
        paintCorner(area, isAsked ? verdictGlyph(cell.verdict) : QStringLiteral("!"), text);
}

void SweepMapPainter::paintLoss(const QRectF& area, const SweepCell& cell) const
{
    const QColor fill = m_theme.accuracyColor(std::exp(-cell.meanAnswerNll));
    m_painter.fillRect(area, fill);
    frame(m_painter, area, m_theme.line);
    paintTwoLines(area, lossText(cell.meanAnswerNll), tr("n %1").arg(cell.trials.size()),
                  m_theme.textOn(fill));
}

void SweepMapPainter::paintKinds(const QRectF& area, const SweepCell& cell) const
{
    frame(m_painter, area, m_theme.line);
    const auto trials = static_cast<double>(std::max<std::int64_t>(1, cell.score.trials));
    const double line = m_layout.shape.line;
    const bool isLow = area.height() < line + m_layout.shape.smallLine - 1;
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    const QString score = scoreText(cell.score);
    if (isLow) {
        const double words = widthOf(bold, score) + 6;
        write(QRectF(area.left() + 4, area.top(), words, area.height()),
              Qt::AlignLeft | Qt::AlignVCenter, score, bold, m_theme.ink);
        const QRectF bar(area.left() + 4 + words, area.top() + 3, area.width() - words - 8,
                         area.height() - 6);
        if (bar.width() > 12)
            paintKindBar(m_painter, bar, bar.width() / trials, kindSegments(cell, true), m_theme);
        return;
    }
    const double barHeight = std::min(18.0, std::floor(area.height() - line - 5));
    const double top = std::round(area.center().y() - (line + barHeight) / 2);
    write(QRectF(area.left() + 2, top - 1, area.width() - 4, line), Qt::AlignCenter, score, bold,
          m_theme.ink);
    const QRectF bar(area.left() + 5, top + line, area.width() - 10, barHeight);
    paintKindBar(m_painter, bar, bar.width() / trials, kindSegments(cell, true), m_theme);
}

void SweepMapPainter::paintRunning(const QRectF& area, const SweepCell& cell) const
{
    m_painter.fillRect(area, m_theme.highlightBackground);
    const std::int64_t planned = std::max<std::int64_t>(1, cell.plannedTrials);
    const std::int64_t done = std::ssize(cell.trials); // the score counts some of them
    const std::int64_t now = std::min(planned, done + 1);
    const QString note = tr("%1 of %2 now").arg(now).arg(planned);
    const bool isLow = area.height() < m_layout.shape.line + m_layout.shape.smallLine + 4;
    paintTwoLines(area.adjusted(0, 0, 0, -5), scoreText(cell.score),
                  widthOf(digitFont(TextSize::Secondary), note) <= area.width() - 4 || isLow
                      ? note
                      : QStringLiteral("%1/%2").arg(now).arg(planned),
                  m_theme.ink);
    const QRectF track(area.left() + 5, area.bottom() - 5, area.width() - 10, 3);
    m_painter.fillRect(track, m_theme.line);
    const double share =
        std::clamp(static_cast<double>(done) / static_cast<double>(planned), 0.0, 1.0);
    m_painter.fillRect(QRectF(track.left(), track.top(), track.width() * share, track.height()),
                       m_theme.highlight);
    frame(m_painter, area, m_theme.highlight);
}

void SweepMapPainter::paintQueued(const QRectF& area) const
{
    frame(m_painter, area, m_theme.line, Qt::DashLine);
    write(area.adjusted(3, 0, -3, 0), Qt::AlignCenter, tr("queued"), uiFont(TextSize::Axis),
          m_theme.ink3);
}

void SweepMapPainter::paintUncounted(const QRectF& area) const
{
    frame(m_painter, area, m_theme.line);
    write(area.adjusted(3, 0, -3, 0), Qt::AlignCenter, tr("none counts"), uiFont(TextSize::Axis),
          m_theme.ink3);
}

void SweepMapPainter::paintCannotFit(const QRectF& area, const QString& reason) const
{
    paintHatch(m_painter, area, m_theme.weights, kHatchSpacing);
    frame(m_painter, area, m_theme.weights);
    if (reason.isEmpty())
        return;
    const QFont bold = uiFont(TextSize::Axis, QFont::Bold);
    const QFont plain = uiFont(TextSize::Axis);
    const double width = std::min(area.width() - 6, 124.0);
    const int flags = Qt::AlignHCenter | Qt::AlignTop | Qt::TextWordWrap;
    const QString title = tr("✕ cannot fit");
    const QString words = brokenReason(reason);
    const QRectF room(0, 0, width - 4, 10000);
    const double titleHeight = QFontMetricsF(bold).boundingRect(room, flags, title).height();
    double wordsHeight = QFontMetricsF(plain).boundingRect(room, flags, words).height();
    if (titleHeight + wordsHeight + 8 > area.height())
        wordsHeight = 0; // the tooltip and the table say it
    const double height = titleHeight + wordsHeight + 6;
    const QRectF box(std::round(area.center().x() - width / 2),
                     std::round(area.center().y() - height / 2), width, height);
    m_painter.fillRect(box, m_theme.panel);
    m_painter.setFont(bold);
    m_painter.setPen(m_theme.bad);
    const QRectF top = box.adjusted(2, 3, -2, 0);
    m_painter.drawText(top, flags | Qt::TextDontClip, title);
    if (wordsHeight <= 0)
        return;
    m_painter.setFont(plain);
    m_painter.setPen(m_theme.ink);
    m_painter.drawText(top.adjusted(0, titleHeight, 0, 0), flags | Qt::TextDontClip, words);
}

void SweepMapPainter::paintOracle() const
{
    const SweepCell& cell = m_report.oracle;
    const QRectF& area = m_layout.oracle;
    const bool isLoss = m_mode == SweepMapMode::Loss;
    const bool isRunning = cell.state == CellState::Running;
    if (cell.trials.empty() && !isRunning)
        return paintQueued(area);
    if (cell.score.trials == 0 && !isLoss && !isRunning)
        return paintUncounted(area);
    const QColor fill =
        m_theme.accuracyColor(isLoss ? std::exp(-cell.meanAnswerNll) : cell.score.rate());
    const QColor text = m_theme.textOn(fill);
    m_painter.fillRect(area, fill);
    frame(m_painter, area, isRunning ? m_theme.highlight : m_theme.line);
    QRectF room = area.adjusted(8, 0, -6, 0);
    const auto add = [&](const QString& words, const QFont& font) {
        write(room, Qt::AlignLeft | Qt::AlignVCenter, words, font, text);
        room.setLeft(std::min(room.right(), room.left() + widthOf(font, words) + 10));
    };
    add(isLoss ? lossText(cell.meanAnswerNll) : scoreText(cell.score),
        uiFont(TextSize::Body, QFont::Bold));
    add(isLoss ? tr("nats, n %1").arg(cell.trials.size()) : intervalText(cell.interval),
        digitFont(TextSize::Secondary));
    if (isRunning)
        add(tr("%1 of %2 now").arg(cell.trials.size() + 1).arg(cell.plannedTrials),
            uiFont(TextSize::Secondary));
    if (m_mode == SweepMapMode::Kinds && room.width() > 120) {
        const double width = std::min(160.0, room.width() / 3);
        const QRectF bar(room.left(), area.top() + 4, width, area.height() - 8);
        m_painter.fillRect(bar.adjusted(-2, -2, 1, 2), m_theme.panel);
        paintKindBar(m_painter, bar,
                     width / static_cast<double>(std::max<std::int64_t>(1, cell.score.trials)),
                     kindSegments(cell, true), m_theme);
        room.setLeft(room.left() + width + 10);
    }
    const QString tokens = countText(m_report.oracleTokens);
    const QFont font = uiFont(TextSize::Secondary);
    for (const QString& words :
         {tr("%1-token prompt, the same questions: the most any length could score").arg(tokens),
          tr("%1-token prompt, the same questions").arg(tokens), tr("%1-token prompt").arg(tokens),
          tr("%1 tokens").arg(tokens)})
        if (widthOf(font, words) <= room.width()) // the tooltip has the rest
            return add(words, font);
}

} // namespace kvscope
