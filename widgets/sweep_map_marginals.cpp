// Scores by depth and by length, with their intervals and the lines they are held against.
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
#include <utility>
#include <vector>

namespace kvscope {
namespace {

constexpr double kScoreRoom = 56.0; ///< "110/120" left of the marks
constexpr double kRadius = 4.0;

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::SweepMap", text);
}

QPen flat(const QColor& color, double width, Qt::PenStyle style = Qt::SolidLine)
{
    return QPen(color, width, style, Qt::FlatCap);
}

/// On the middle of a pixel, so that lines of one pixel are crisp.
double crisp(double at)
{
    return std::floor(at) + 0.5;
}

bool isComplete(const SweepColumn& column)
{
    return std::all_of(column.cells.begin(), column.cells.end(),
                       [](const SweepCell& cell) { return cell.state == CellState::Done; });
}

double shareX(double share, double left, double right)
{
    return left + std::clamp(share, 0.0, 1.0) * (right - left);
}

double shareY(double share, const QRectF& plot)
{
    return plot.bottom() - std::clamp(share, 0.0, 1.0) * plot.height();
}

/// A line that scores are held against.
struct PassLine
{
    double share = 0.0;
    Qt::PenStyle style = Qt::DotLine;
    QString text;
};

/// Those that are known, the highest first.
std::vector<PassLine> passLines(const SweepReport& report)
{
    std::vector<PassLine> lines;
    const double absolute = report.absolute.threshold;
    const double relative = report.relative.threshold;
    if (absolute > 0)
        lines.push_back({absolute, Qt::DotLine, tr("%1 absolute").arg(percentText(absolute))});
    if (relative > 0)
        lines.push_back(
            {relative, Qt::DashLine, tr("%1 relative to oracle").arg(percentText(relative))});
    if (lines.size() == 2 && lines[0].share < lines[1].share)
        std::swap(lines[0], lines[1]);
    return lines;
}

/// The title above the plot by length, and the shares beside it.
template <typename Write>
void paintLengthFrame(const SweepMapLayout& layout, Write write)
{
    const QRectF& title = layout.byLengthTitle;
    const QFont bold = uiFont(TextSize::Body, QFont::Bold);
    const int left = Qt::AlignLeft | Qt::AlignVCenter;
    write(title, left, tr("By length"), bold, &Theme::ink);
    const double after = QFontMetricsF(bold).horizontalAdvance(tr("By length")) + 10;
    write(title.adjusted(after, 0, 0, 0), left,
          tr("all depths pooled, Wilson 95 %; hollow: not complete"), uiFont(TextSize::Secondary),
          &Theme::ink3);
    const double small = layout.shape.smallLine;
    for (const double share : {1.0, 0.5, 0.0}) {
        const QString text = percentText(share) + (share == 1.0 ? QStringLiteral(" %") : QString());
        write(QRectF(layout.area.left() + 8, shareY(share, layout.byLength) - small / 2,
                     layout.gridLeft - layout.area.left() - 14, small),
              Qt::AlignRight | Qt::AlignVCenter, text, digitFont(TextSize::Axis), &Theme::ink3);
    }
}

} // namespace

void SweepMapPainter::paintInterval(const QPointF& low, const QPointF& high, const QPointF& point,
                                    bool isComplete) const
{
    m_painter.save();
    m_painter.setRenderHint(QPainter::Antialiasing);
    m_painter.setPen(flat(m_theme.global, 2));
    m_painter.drawLine(low, high);
    m_painter.setPen(QPen(isComplete ? m_theme.panel : m_theme.global, 1.5));
    m_painter.setBrush(isComplete ? m_theme.global : m_theme.panel);
    m_painter.drawEllipse(point, kRadius, kRadius);
    m_painter.restore();
}

void SweepMapPainter::paintByDepth() const
{
    const QRectF& area = m_layout.byDepth;
    if (area.isEmpty())
        return;
    const double left = std::round(area.left() + kScoreRoom + 8);
    const double right = std::round(area.right() - 14);
    m_painter.save();
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.setPen(flat(m_theme.grid, 1));
    for (const double share : {0.0, 0.5, 1.0}) {
        const double x = crisp(shareX(share, left, right));
        m_painter.drawLine(QPointF(x, area.top()), QPointF(x, area.bottom() + 3));
    }
    const double threshold = m_report.absolute.threshold;
    const double passX = crisp(shareX(threshold, left, right));
    m_painter.setPen(flat(m_theme.ink2, 1, Qt::DotLine));
    m_painter.drawLine(QPointF(passX, area.top()), QPointF(passX, area.bottom() + 3));
    m_painter.restore();
    for (std::size_t depth = 0; depth < m_report.byDepth.size() && depth < m_report.depths.size();
         ++depth)
        paintDepthScore(depth, left, right);

    const QFont font = digitFont(TextSize::Axis);
    const double small = m_layout.shape.smallLine;
    const auto label = [&](double x, double y, const QString& text, const QColor& color) {
        const double width = QFontMetricsF(font).horizontalAdvance(text) + 2;
        const double start = std::min(x - width / 2, area.right() - width);
        write(QRectF(start, y, width + 1, small), Qt::AlignLeft | Qt::AlignVCenter, text, font,
              color);
    };
    label(left, area.bottom() + 3, QStringLiteral("0"), m_theme.ink3);
    label(shareX(0.5, left, right), area.bottom() + 3, QStringLiteral("50"), m_theme.ink3);
    label(right, area.bottom() + 3, QStringLiteral("100"), m_theme.ink3);
    if (threshold > 0)
        label(passX, area.bottom() + 3 + small, percentText(threshold) + QStringLiteral(" %"),
              m_theme.ink);
}

void SweepMapPainter::paintDepthScore(std::size_t depth, double plotLeft, double plotRight) const
{
    const SweepCell& cell = m_report.byDepth[depth];
    const QRectF row = m_layout.cell(0, depth);
    const QRectF words(m_layout.byDepth.left(), row.top(), kScoreRoom, row.height());
    const bool hasTrials = cell.score.trials > 0;
    write(words, Qt::AlignRight | Qt::AlignVCenter,
          hasTrials ? scoreText(cell.score) : missingText(), digitFont(),
          hasTrials ? m_theme.ink : m_theme.ink3);
    if (!hasTrials)
        return;
    const double y = std::round(row.center().y());
    paintInterval({shareX(cell.interval.low, plotLeft, plotRight), y},
                  {shareX(cell.interval.high, plotLeft, plotRight), y},
                  {shareX(cell.score.rate(), plotLeft, plotRight), y},
                  cell.state == CellState::Done);
}

void SweepMapPainter::paintColorKey() const
{
    if (m_layout.byDepth.isEmpty() || m_mode == SweepMapMode::Kinds)
        return;
    constexpr int kSteps = 20;
    const double small = m_layout.shape.smallLine;
    const QRectF row(m_layout.side.left() + kScoreRoom + 8, m_layout.oracle.bottom() - small - 7,
                     m_layout.side.width() - kScoreRoom - 22, 7);
    const double step = row.width() / kSteps;
    for (int i = 0; i < kSteps; ++i) {
        const double left = std::round(row.left() + step * i);
        const double right = std::round(row.left() + step * (i + 1));
        m_painter.fillRect(QRectF(left, row.top(), right - left, row.height()),
                           m_theme.accuracyColor((i + 0.5) / kSteps));
    }
    const QFont font = uiFont(TextSize::Axis);
    const QRectF words(row.left(), row.bottom() + 1, row.width(), small);
    write(QRectF(m_layout.side.left(), row.top() - 3, kScoreRoom, small),
          Qt::AlignRight | Qt::AlignVCenter,
          m_mode == SweepMapMode::Loss ? tr("exp(−nll)") : tr("found"), font, m_theme.ink3);
    write(words, Qt::AlignLeft | Qt::AlignVCenter, QStringLiteral("0"), font, m_theme.ink3);
    write(words, Qt::AlignRight | Qt::AlignVCenter, QStringLiteral("1"), font, m_theme.ink3);
}

void SweepMapPainter::paintByLength() const
{
    const QRectF& plot = m_layout.byLength;
    m_painter.save();
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.setPen(flat(m_theme.grid, 1));
    for (const double share : {0.0, 0.5, 1.0}) {
        const double y = crisp(shareY(share, plot));
        m_painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
    }
    m_painter.restore();
    for (std::size_t column = 0; column < m_report.columns.size(); ++column)
        paintLengthScore(column);
}

void SweepMapPainter::paintLengthScore(std::size_t index) const
{
    const SweepColumn& column = m_report.columns[index];
    const SweepCell& pooled = column.pooled;
    const QRectF& scores = m_layout.byLengthScores;
    const double left = m_layout.columnLeft(index);
    const QRectF words(left, scores.top(), m_layout.columnWidth - 2, scores.height());
    if (words.right() <= m_layout.gridLeft || words.left() >= m_layout.gridRight)
        return;
    const QFont font = digitFont(TextSize::Secondary);
    if (pooled.score.trials == 0) {
        const bool isSkipped = !column.skipReason.empty();
        write(words, Qt::AlignCenter, isSkipped ? tr("skipped") : missingText(),
              uiFont(TextSize::Axis), m_theme.ink3);
        return;
    }
    const QRectF& plot = m_layout.byLength;
    const double x = std::round(words.center().x());
    paintInterval({x, shareY(pooled.interval.low, plot)}, {x, shareY(pooled.interval.high, plot)},
                  {x, shareY(pooled.score.rate(), plot)}, isComplete(column));
    const QString score = scoreText(pooled.score);
    const QString soFar = tr("%1 so far").arg(score);
    const bool saysSoFar =
        !isComplete(column) && QFontMetricsF(font).horizontalAdvance(soFar) <= words.width();
    write(words, Qt::AlignCenter, saysSoFar ? soFar : score, font, m_theme.ink);
}

void SweepMapPainter::paintPassLines() const
{
    paintLengthFrame(m_layout, [this](const QRectF& area, int alignment, const QString& text,
                                      const QFont& font, QColor Theme::*color) {
        write(area, alignment, text, font, m_theme.*color);
    });
    const QRectF& plot = m_layout.byLength;
    const QFont font = uiFont(TextSize::Axis);
    const double small = m_layout.shape.smallLine;
    const bool isBeside = !m_layout.side.isNull();
    double lowest = -1.0; // of the labels beside the plot: one stands under the other
    bool isFirst = true;
    for (const PassLine& line : passLines(m_report)) {
        const double y = crisp(shareY(line.share, plot));
        m_painter.save();
        m_painter.setRenderHint(QPainter::Antialiasing, false);
        m_painter.setPen(flat(m_theme.ink2, 1, line.style));
        m_painter.drawLine(QPointF(plot.left(), y), QPointF(plot.right(), y));
        m_painter.restore();
        if (isBeside) {
            const double top = std::max(y - small / 2, lowest);
            write(QRectF(m_layout.side.left() + 2, top, m_layout.side.width() - 2, small),
                  Qt::AlignLeft | Qt::AlignVCenter, line.text, font, m_theme.ink);
            lowest = top + small;
        } else { // in the plot, above the upper line and below the lower one
            const double width =
                std::min(plot.width(), QFontMetricsF(font).horizontalAdvance(line.text) + 4);
            const QRectF box(plot.right() - width, isFirst ? y - small : y + 1, width, small);
            QColor paper = m_theme.panel;
            paper.setAlphaF(0.8F);
            m_painter.fillRect(box, paper);
            write(box, Qt::AlignRight | Qt::AlignVCenter, line.text, font, m_theme.ink);
        }
        isFirst = false;
    }
}

} // namespace kvscope
