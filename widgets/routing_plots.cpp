#include "widgets/routing_plots.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kMargin = 16.0;
constexpr double kRowNames = 112.0;
constexpr double kRow = 26.0;
constexpr double kTitle = 44.0; // title and note above a map
constexpr double kColumnNames = 20.0;
constexpr double kWideCell = 56.0;
constexpr double kNarrowCell = 14.0; // without a number
constexpr double kLeastWidth = 560.0;
constexpr double kScale = 40.0;
constexpr std::size_t kMostWideColumns = 24;

using Shares = std::vector<double> RoutingLayer::*;

QString translated(const char* text)
{
    return QCoreApplication::translate("RoutingPlots", text);
}

std::size_t numColumns(const RoutingReport& report, Shares shares)
{
    std::size_t count = 0;
    for (const RoutingLayer& layer : report.layers)
        count = std::max(count, (layer.*shares).size());
    return count;
}

/// One heatmap, painted.
class MapPainter
{
public:
    MapPainter(QPainter& painter, const RoutingReport& report, const RoutingLayout& layout,
               const Theme& theme)
        : m_painter(painter)
        , m_report(report)
        , m_layout(layout)
        , m_theme(theme)
    {
    }

    /// \param least  a smaller value is marked
    void paint(const QRectF& map, Shares shares, const QString& title, const QString& note,
               double least) const
    {
        if (map.isEmpty())
            return;
        const double top = map.top() - kColumnNames - kTitle;
        write({map.left() - kRowNames, top, m_layout.size.width(), 22}, Qt::AlignLeft, title,
              uiFont(TextSize::Heading, QFont::DemiBold), m_theme.ink);
        write({map.left() - kRowNames, top + 22, m_layout.size.width(), 18}, Qt::AlignLeft, note,
              uiFont(TextSize::Secondary), m_theme.ink2);
        paintColumnNames(map, numColumns(m_report, shares));
        for (std::size_t row = 0; row < m_report.layers.size(); ++row) {
            paintRowName(map, row);
            paintRow(map, row, m_report.layers[row].*shares, least);
        }
        paintScale(map.bottom() + 10);
    }

private:
    void write(const QRectF& area, int alignment, const QString& text, const QFont& font,
               const QColor& color) const
    {
        m_painter.setFont(font);
        m_painter.setPen(color);
        m_painter.drawText(area, alignment | Qt::AlignVCenter | Qt::TextDontClip, text);
    }
    bool isWide() const { return m_layout.cellWidth >= kWideCell; }

    void paintColumnNames(const QRectF& map, std::size_t columns) const
    {
        const std::size_t step = isWide() ? 1 : 8;
        for (std::size_t column = 0; column < columns; column += step) {
            const QRectF cell = m_layout.cell(map, 0, column);
            write({cell.left(), map.top() - kColumnNames, cell.width(), kColumnNames},
                  Qt::AlignHCenter, QString::number(column), digitFont(TextSize::Axis),
                  m_theme.ink2);
        }
    }
    void paintRowName(const QRectF& map, std::size_t row) const
    {
        const RoutingLayer& layer = m_report.layers[row];
        const QRectF cell = m_layout.cell(map, row, 0);
        const QString name = layer.window > 0
                                 ? translated("%1  window %2").arg(layer.layer).arg(layer.window)
                                 : translated("%1  global").arg(layer.layer);
        write({map.left() - kRowNames, cell.top(), kRowNames - 8, cell.height()}, Qt::AlignLeft,
              name, uiFont(TextSize::Secondary),
              layer.window > 0 ? m_theme.windowed : m_theme.global);
    }
    void paintRow(const QRectF& map, std::size_t row, const std::vector<double>& shares,
                  double least) const
    {
        for (std::size_t column = 0; column < shares.size(); ++column) {
            const QRectF cell = m_layout.cell(map, row, column).adjusted(0, 0, -1, -1);
            const QColor fill = shareColor(shares[column], m_theme);
            m_painter.fillRect(cell, fill);
            if (!isWide())
                continue;
            const QString mark = shares[column] < least ? QStringLiteral("▼ ") : QString();
            write(cell, Qt::AlignHCenter, mark + QString::number(100.0 * shares[column], 'f', 1),
                  digitFont(TextSize::Secondary), m_theme.textOn(fill));
        }
        if (shares.empty())
            write(m_layout.cell(map, row, 0), Qt::AlignHCenter, missingText(),
                  digitFont(TextSize::Secondary), m_theme.ink3);
    }
    /// 0 to 100 % in steps of ten.
    void paintScale(double top) const
    {
        constexpr int kSteps = 10;
        const double left = kMargin + kRowNames;
        for (int step = 0; step <= kSteps; ++step)
            m_painter.fillRect(QRectF(left + 12.0 * step, top, 12, 10),
                               shareColor(static_cast<double>(step) / kSteps, m_theme));
        write({left - 40, top - 4, 34, 18}, Qt::AlignRight, QStringLiteral("0 %"),
              digitFont(TextSize::Axis), m_theme.ink2);
        write({left + 12.0 * (kSteps + 1) + 6, top - 4, 60, 18}, Qt::AlignLeft,
              QStringLiteral("100 %"), digitFont(TextSize::Axis), m_theme.ink2);
    }

    QPainter& m_painter;
    const RoutingReport& m_report;
    const RoutingLayout& m_layout;
    const Theme& m_theme;
};

QString expertsNote(const RoutingReport& report)
{
    return translated("share of %1 tokens, %; each visits %2 of %3, evenly %4; ▼ below 5")
        .arg(countText(report.tokens))
        .arg(report.activeExperts)
        .arg(report.numExperts)
        .arg(100.0 * static_cast<double>(report.activeExperts) /
                 static_cast<double>(std::max<std::int64_t>(1, report.numExperts)),
             0, 'f', 1);
}

void addRows(QString& csv, const RoutingReport& report, Shares shares, const QString& kind)
{
    for (const RoutingLayer& layer : report.layers)
        for (std::size_t i = 0; i < (layer.*shares).size(); ++i)
            csv += QStringLiteral("%1,%2,%3,%4,%5\n")
                       .arg(layer.layer)
                       .arg(layer.window)
                       .arg(kind)
                       .arg(i)
                       .arg((layer.*shares)[i], 0, 'g', 8);
}

QString csvOf(const RoutingReport& report)
{
    QString csv = QStringLiteral("layer,window,kind,index,share\n");
    addRows(csv, report, &RoutingLayer::expertShares, QStringLiteral("expert"));
    addRows(csv, report, &RoutingLayer::sinkShares, QStringLiteral("sink"));
    return csv;
}

} // namespace

QRectF RoutingLayout::cell(const QRectF& map, std::size_t row, std::size_t column) const
{
    return {map.left() + static_cast<double>(column) * cellWidth,
            map.top() + static_cast<double>(row) * kRow, cellWidth, kRow};
}

RoutingLayout routingLayout(const RoutingReport& report)
{
    const std::size_t experts = numColumns(report, &RoutingLayer::expertShares);
    const std::size_t heads = numColumns(report, &RoutingLayer::sinkShares);
    const std::size_t most = std::max(experts, heads);
    RoutingLayout layout;
    layout.cellWidth = most > kMostWideColumns ? kNarrowCell : kWideCell;
    const double height = kRow * static_cast<double>(report.layers.size());
    double top = kMargin;
    const auto place = [&](std::size_t columns) {
        if (columns == 0)
            return QRectF();
        const QRectF map(kMargin + kRowNames, top + kTitle + kColumnNames,
                         layout.cellWidth * static_cast<double>(columns), height);
        top = map.bottom() + kScale;
        return map;
    };
    layout.experts = place(experts);
    layout.sinks = place(heads);
    layout.size = {std::max(kLeastWidth,
                            2 * kMargin + kRowNames + layout.cellWidth * static_cast<double>(most)),
                   top};
    return layout;
}

QColor shareColor(double share, const Theme& theme)
{
    const double part = std::clamp(share, 0.0, 1.0);
    const auto blend = [part](int from, int to) {
        return static_cast<int>(std::lround(from + part * (to - from)));
    };
    const QColor& from = theme.alternateRow;
    const QColor& to = theme.highlight;
    return {blend(from.red(), to.red()), blend(from.green(), to.green()),
            blend(from.blue(), to.blue())};
}

void paintRoutingPlots(QPainter& painter, const QRectF& area, const RoutingReport& report,
                       const Theme& theme)
{
    const RoutingLayout layout = routingLayout(report);
    painter.save();
    painter.fillRect(area, theme.panel);
    const double scale = area.width() / layout.size.width();
    painter.translate(area.topLeft());
    painter.scale(scale, scale);
    const MapPainter maps(painter, report, layout, theme);
    maps.paint(layout.experts, &RoutingLayer::expertShares, translated("Experts visited, by layer"),
               expertsNote(report), kRarelyVisited);
    maps.paint(layout.sinks, &RoutingLayer::sinkShares,
               translated("Attention on the sink, by layer and head"),
               translated("mean over the tokens, %; over all %1")
                   .arg(100.0 * report.meanSinkShare(), 0, 'f', 1),
               0.0);
    painter.restore();
}

ExportSource routingExportSource(std::shared_ptr<const RoutingReport> report,
                                 const QString& caption)
{
    ExportSource source;
    source.name = QStringLiteral("routing");
    source.size = routingLayout(*report).size;
    source.caption = caption;
    source.hasSvg = true;
    source.paint = [report](QPainter& painter, const QRectF& area, const Theme& theme) {
        paintRoutingPlots(painter, area, *report, theme);
    };
    source.csv = [report] { return csvOf(*report); };
    return source;
}

} // namespace kvscope
