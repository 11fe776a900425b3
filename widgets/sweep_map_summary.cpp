// Below a sweep's map: ends against middle, effective lengths, wrong answers by depth.
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/sweep_map_painter.h"
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
/// "Never a bare per cent for fewer than 100 trials."
constexpr std::int64_t kPercentFrom = 100;

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::SweepMap", text);
}

QString shareNote(const Proportion& score)
{
    return score.trials >= kPercentFrom
               ? QStringLiteral("%1 %").arg(100.0 * score.rate(), 0, 'f', 1)
               : QString();
}

/// "25–75 %", of the depths between 0 and 100.
QString middleDepths(const std::vector<double>& depths)
{
    std::vector<double> inner;
    for (const double depth : depths)
        if (depth > 0 && depth < 100)
            inner.push_back(depth);
    if (inner.empty())
        return {};
    const QString last = depthText(inner.back());
    if (inner.size() == 1)
        return last;
    return QString::number(inner.front(), 'g', 4) + QChar(0x2013) + last;
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
    QRectF line = m_layout.ends.adjusted(kMargin + 4, kMargin, -kMargin, 0);
    line.setHeight(m_layout.shape.line);
    paintEndsAgainstMiddle(line);
    line.translate(0, 6);
    paintEffectiveLengths(line);
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

void SweepMapPainter::paintFact(QRectF& line, const QString& name, const QString& value,
                                const QString& note) const
{
    const double names = std::min(132.0, std::floor(line.width() * 0.34));
    write(QRectF(line.left(), line.top(), names, line.height()), Qt::AlignLeft | Qt::AlignVCenter,
          name, uiFont(), m_theme.ink2);
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    QRectF room(line.left() + names + 8, line.top(), line.width() - names - 8, line.height());
    write(room, Qt::AlignLeft | Qt::AlignVCenter, value, bold, m_theme.ink);
    room.setLeft(room.left() + std::max(64.0, QFontMetricsF(bold).horizontalAdvance(value) + 14));
    if (room.width() > 24)
        write(room, Qt::AlignLeft | Qt::AlignVCenter, note, uiFont(), m_theme.ink2);
    line.translate(0, m_layout.shape.line);
}

void SweepMapPainter::paintEndsAgainstMiddle(QRectF& line) const
{
    const EndsAgainstMiddle& test = m_report.endsAgainstMiddle;
    paintTitle(line, tr("Ends against middle"), tr("trained lengths, exact two-sided test"));
    const bool hasBoth = test.ends.trials > 0 && test.middle.trials > 0;
    const auto score = [](const Proportion& of) {
        return of.trials > 0 ? scoreText(of) : missingText();
    };
    paintFact(line, tr("ends, 0 and 100 %"), score(test.ends), shareNote(test.ends));
    const QString between = middleDepths(m_report.depths);
    paintFact(line, between.isEmpty() ? tr("middle") : tr("middle, %1").arg(between),
              score(test.middle), shareNote(test.middle));
    paintFact(line, tr("difference"),
              hasBoth ? (test.p > 0 ? QStringLiteral("p = ") : QStringLiteral("p ")) +
                            probabilityText(test.p)
                      : missingText(),
              hasBoth ? QString() : tr("wants trials at 0 and 100 % and between"));
}

void SweepMapPainter::paintEffectiveLengths(QRectF& line) const
{
    paintTitle(line, tr("Effective length"), tr("depths pooled; it and every shorter one pass"));
    const auto say = [&](const QString& name, const EffectiveLength& length) {
        const EffectiveLengthWords words = effectiveLengthWords(length);
        paintFact(line, name, words.finding, words.bound);
    };
    say(tr("absolute, %1 %").arg(percentText(m_report.absolute.threshold)), m_report.absolute);
    if (m_report.relative.threshold > 0)
        say(tr("relative, %1 %").arg(percentText(m_report.relative.threshold)), m_report.relative);
    else
        paintFact(line, tr("relative"), missingText(),
                  m_report.oracle.score.trials > 0
                      ? tr("nothing was found even with the fact alone")
                      : tr("wants the oracle's score"));
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
