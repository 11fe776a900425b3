// The frame of a sweep's map: lengths, names of rows, the trained line, outlines.
#include "widgets/sweep_map_painter.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/sweep_summary.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::SweepMap", text);
}

bool isMeasured(const SweepColumn& column)
{
    return column.pooled.score.trials + column.control.score.trials > 0;
}

/// "7.1 s / trial", or shorter where that does not fit. Estimates begin with ≈.
QString timeText(const SweepColumn& column, const QFont& font, double width)
{
    if (!column.skipReason.empty())
        return tr("skipped");
    if (column.secondsPerTrial <= 0)
        return missingText();
    const QString about = isMeasured(column) ? QString() : QStringLiteral("≈ ");
    const QString time = about + secondsText(column.secondsPerTrial);
    const QString full = tr("%1 / trial").arg(time);
    return QFontMetricsF(font).horizontalAdvance(full) + 6 <= width ? full : time;
}

} // namespace

SweepMapShape sweepMapShape(const SweepReport& report)
{
    SweepMapShape shape;
    shape.columns = report.columns.size();
    shape.depths = report.depths.size();
    shape.isLeaking = report.isLeaking;
    shape.hasTrainedLine = numTrainedColumns(report) < report.columns.size();
    shape.line = std::ceil(QFontMetricsF(uiFont()).height());
    shape.summary = summaryWidths(sweepSummary(report));
    shape.smallLine = std::ceil(QFontMetricsF(uiFont(TextSize::Axis)).height());
    return shape;
}

QString sweepMapQuestion(const SweepReport& report, SweepMapMode mode)
{
    QString line;
    switch (mode) {
    case SweepMapMode::Cells:
        line = tr("found of asked, Wilson 95 %; ▲ above, ▼ below, ? undecided at %1 %")
                   .arg(percentText(report.absolute.threshold));
        break;
    case SweepMapMode::Loss:
        line = tr("mean nll of the right answer's tokens, nats; colour: exp(−nll)");
        break;
    case SweepMapMode::Kinds:
        line = tr("how the answers came out, counts of trials");
        break;
    }
    return report.isLeaking ? tr("answer in the prompt; ") + line : line;
}

SweepMapPainter::SweepMapPainter(QPainter& painter, const SweepReport& report,
                                 const SweepMapLayout& layout, SweepMapMode mode,
                                 const Theme& theme)
    : m_painter(painter)
    , m_report(report)
    , m_layout(layout)
    , m_mode(mode)
    , m_theme(theme)
{
}

void SweepMapPainter::paint() const
{
    m_painter.save();
    if (m_layout.scrollsDown())
        clipTo(m_layout.view);
    paintRowNames();
    m_painter.save();
    if (m_layout.scrollsSideways())
        clipTo(m_layout.gridView());
    paintCells();
    paintByLength();
    m_painter.restore();
    paintOracle();
    paintLeakBand();
    paintByDepth();
    paintColorKey();
    paintPassLines();
    paintSummary();
    m_painter.restore();
    paintHeader();
    paintTrainedLine();
}

void SweepMapPainter::write(const QRectF& area, int alignment, const QString& text,
                            const QFont& font, const QColor& color) const
{
    m_painter.setFont(font);
    m_painter.setPen(color);
    paintElided(m_painter, area, alignment, text);
}

void SweepMapPainter::clipTo(const QRectF& area) const
{
    m_painter.setClipRect(area, Qt::IntersectClip);
}

bool SweepMapPainter::isShown(const QRectF& area) const
{
    return area.right() > m_layout.gridLeft && area.left() < m_layout.gridRight &&
           area.bottom() > m_layout.view.top() && area.top() < m_layout.area.bottom();
}

void SweepMapPainter::paintHeader() const
{
    const QRectF& header = m_layout.header;
    const double line = m_layout.shape.line;
    m_painter.fillRect(header, m_theme.panel);
    const QRectF names(header.left() + 8, header.top() + 2, m_layout.gridLeft - header.left() - 14,
                       line);
    const QFont small = uiFont(TextSize::Secondary);
    write(names, Qt::AlignRight | Qt::AlignVCenter, tr("length"), small, m_theme.ink3);
    const QRectF depth(names.left(), header.bottom() - m_layout.shape.smallLine - 2, names.width(),
                       m_layout.shape.smallLine);
    write(depth, Qt::AlignRight | Qt::AlignVCenter, tr("depth"), small, m_theme.ink3);
    m_painter.save();
    if (m_layout.scrollsSideways())
        clipTo(QRectF(m_layout.gridLeft, header.top(), m_layout.gridRight - m_layout.gridLeft,
                      header.height()));
    for (std::size_t column = 0; column < m_report.columns.size(); ++column)
        paintColumnHead(column);
    m_painter.restore();
    if (m_layout.side.isNull())
        return;
    const QRectF title(m_layout.side.left() + 4, header.top() + 2, m_layout.side.width() - 4, line);
    write(title, Qt::AlignLeft | Qt::AlignVCenter, tr("By depth"),
          uiFont(TextSize::Body, QFont::Bold), m_theme.ink);
    write(title.translated(0, line), Qt::AlignLeft | Qt::AlignVCenter, tr("trained lengths pooled"),
          small, m_theme.ink3);
}

void SweepMapPainter::paintColumnHead(std::size_t index) const
{
    const SweepColumn& column = m_report.columns[index];
    const double line = m_layout.shape.line;
    const QRectF top(m_layout.columnLeft(index), m_layout.header.top() + 2,
                     m_layout.columnWidth - 2, line);
    const bool isSkipped = !column.skipReason.empty();
    write(top, Qt::AlignCenter, countText(column.tokens),
          digitFont(TextSize::Body, isSkipped ? QFont::Normal : QFont::Bold),
          isSkipped ? m_theme.ink3 : m_theme.ink);
    const QFont small = uiFont(TextSize::Axis);
    write(QRectF(top.left(), top.bottom(), top.width(), m_layout.shape.smallLine), Qt::AlignCenter,
          timeText(column, small, top.width()), small, m_theme.ink2);
}

void SweepMapPainter::paintName(double top, double height, const QString& name,
                                const QString& note) const
{
    const double left = m_layout.area.left() + 4;
    const double width = m_layout.gridLeft - left - 6;
    const double line = m_layout.shape.line;
    const double small = m_layout.shape.smallLine;
    const bool hasNote = !note.isEmpty() && height >= line + small - 4;
    const double y = top + (height - line - (hasNote ? small - 2 : 0)) / 2;
    write(QRectF(left, y, width, line), Qt::AlignRight | Qt::AlignVCenter, name,
          uiFont(TextSize::Secondary, QFont::Bold), m_theme.ink);
    if (hasNote)
        write(QRectF(left, y + line - 2, width, small), Qt::AlignRight | Qt::AlignVCenter, note,
              uiFont(TextSize::Axis), m_theme.ink3);
}

void SweepMapPainter::paintRowNames() const
{
    const double left = m_layout.area.left() + 4;
    for (std::size_t depth = 0; depth < m_report.depths.size(); ++depth) {
        const QRectF cell = m_layout.cell(0, depth);
        write(QRectF(left, cell.top(), m_layout.gridLeft - left - 6, cell.height()),
              Qt::AlignRight | Qt::AlignVCenter, depthText(m_report.depths[depth]),
              digitFont(TextSize::Body, QFont::Bold), m_theme.ink);
    }
    const bool hasPairs = m_report.experiment == "needle-pairs";
    const bool hasKeys = m_report.experiment == "passkey";
    paintName(m_layout.controlTop, m_layout.controlHeight, tr("Control"),
              hasKeys    ? tr("no key")
              : hasPairs ? tr("no facts")
                         : tr("no fact"));
    paintName(m_layout.oracle.top(), m_layout.oracle.height(), tr("Oracle"),
              hasKeys    ? tr("key alone")
              : hasPairs ? tr("facts alone")
                         : tr("fact alone"));
}

void SweepMapPainter::paintTrainedLine() const
{
    const std::size_t trained = numTrainedColumns(m_report);
    if (trained >= m_report.columns.size())
        return;
    const double x = std::floor(m_layout.columnLeft(trained) - 1) - 0.5;
    if (x < m_layout.gridLeft - 2 || x > m_layout.gridRight)
        return;
    const double small = m_layout.shape.smallLine;
    const double top = m_layout.header.bottom() - small - 2;
    m_painter.save();
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.setPen(QPen(m_theme.ink, 1, Qt::DashLine, Qt::FlatCap));
    // Through the map and the marginal; the oracle is of no length.
    const auto down = [&](double from, double to) {
        const double bottom = std::min(to, m_layout.area.bottom());
        const double visible = std::max(from, top);
        if (bottom > visible)
            m_painter.drawLine(QPointF(x, visible), QPointF(x, bottom));
    };
    down(top, m_layout.controlTop + m_layout.controlHeight);
    down(std::max(m_layout.byLength.top(), m_layout.view.top()), m_layout.byLength.bottom());
    m_painter.restore();
    const QString positions =
        m_report.trainedPositions > 0 ? countText(m_report.trainedPositions) : QString();
    const QFont font = uiFont(TextSize::Axis);
    const double left = m_layout.area.left() + 8;
    if (trained == 0) {
        write(QRectF(x + 4, top, m_layout.area.right() - x - 8, small),
              Qt::AlignLeft | Qt::AlignVCenter, tr("all beyond trained %1 ▸").arg(positions), font,
              m_theme.ink);
        return;
    }
    const QString words = tr("trained %1").arg(positions);
    const double width = QFontMetricsF(font).horizontalAdvance(words) + 2;
    const QRectF before(std::max(left, x - 4 - width), top, x - 4 - std::max(left, x - 4 - width),
                        small);
    m_painter.fillRect(before, m_theme.panel);
    write(before, Qt::AlignRight | Qt::AlignVCenter, words, font, m_theme.ink);
    write(QRectF(x + 4, top, m_layout.area.right() - x - 8, small),
          Qt::AlignLeft | Qt::AlignVCenter, tr("beyond ▸"), font, m_theme.ink);
}

void SweepMapPainter::paintLeakBand() const
{
    const QRectF& band = m_layout.leakBand;
    if (band.isEmpty())
        return;
    m_painter.fillRect(band, m_theme.cautionBackground);
    paintHatch(m_painter, band, m_theme.caution, 8);
    const QFont font = uiFont(TextSize::Secondary, QFont::Bold);
    const QString text = tr("! answer in the prompt: finding it shows nothing");
    const double width = std::min(band.width(), QFontMetricsF(font).horizontalAdvance(text) + 16);
    const QRectF box(std::round(band.center().x() - width / 2), band.top(), width, band.height());
    m_painter.fillRect(box, m_theme.cautionBackground);
    write(box.adjusted(2, 0, -2, 0), Qt::AlignCenter, text, font, m_theme.caution);
}

void SweepMapPainter::outline(const SweepCellKey& key, const QColor& color, double width,
                              Qt::PenStyle style) const
{
    const QRectF cell = m_layout.rectOf(key);
    if (cell.isEmpty() || !isShown(cell))
        return;
    m_painter.save();
    if (m_layout.scrollsDown() || m_layout.scrollsSideways())
        clipTo(m_layout.gridView().adjusted(-2, 0, 2, 0));
    m_painter.setRenderHint(QPainter::Antialiasing, false);
    m_painter.setBrush(Qt::NoBrush);
    m_painter.setPen(QPen(color, width, style, Qt::FlatCap, Qt::MiterJoin));
    m_painter.drawRect(cell);
    m_painter.restore();
}

void SweepMapPainter::outlineChosen(const SweepCellKey& key) const
{
    outline(key, m_theme.selection, 3, Qt::SolidLine);
}

void SweepMapPainter::outlineHovered(const SweepCellKey& key, Qt::PenStyle style) const
{
    outline(key, m_theme.ink, style == Qt::DashLine ? 2 : 1, style);
}

} // namespace kvscope
