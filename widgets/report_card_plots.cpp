#include "widgets/report_card_plots.h"

#include "widgets/number_format.h"
#include "widgets/report_card_text.h"
#include "widgets/theme.h"

#include <QFontMetricsF>
#include <QPainter>
#include <QPainterPath>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kTitleHeight = 18.0;
constexpr double kAxisHeight = 34.0;
constexpr double kScaleWidth = 46.0;
constexpr double kLabelWidth = 104.0;

/// Where values lie in a plot.
struct PlotFrame
{
    QRectF area;
    double xLow = 0.0;
    double xHigh = 1.0;
    double yLow = 0.0;
    double yHigh = 1.0;

    double x(double value) const
    {
        return area.left() + (value - xLow) / (xHigh - xLow) * area.width();
    }
    double y(double value) const
    {
        return area.bottom() - (value - yLow) / (yHigh - yLow) * area.height();
    }
    QPointF at(const CardPoint& point) const { return {x(point.x), y(point.y)}; }
};

void write(QPainter& painter, const QRectF& area, int alignment, const QString& text,
           const QFont& font, const QColor& color)
{
    painter.setFont(font);
    painter.setPen(color);
    painter.drawText(area, alignment | Qt::TextSingleLine,
                     QFontMetricsF(font).elidedText(text, Qt::ElideRight, area.width() + 0.5));
}

void paintTitle(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme)
{
    write(painter, QRectF(area.left(), area.top(), area.width(), kTitleHeight),
          Qt::AlignLeft | Qt::AlignVCenter, fromUtf8(plot.title),
          cardFont(CardTextSize::Axis, QFont::Bold), theme.ink);
}

PlotFrame frameOf(const QRectF& area, const CardPlot& plot)
{
    PlotFrame frame;
    frame.area = area;
    double low = 0.0;
    double high = 0.0;
    double right = 0.0;
    for (const CardSeries& series : plot.series)
        for (const CardPoint& point : series.points) {
            low = std::min({low, point.y, point.low});
            high = std::max({high, point.y, point.high});
            right = std::max(right, point.x);
        }
    for (const CardLine& line : plot.lines)
        (line.isVertical ? right : high) = std::max(line.isVertical ? right : high, line.at);
    const auto ticks = roundTicks(low, high, 4);
    frame.yLow = ticks.front();
    frame.yHigh = ticks.back();
    frame.xHigh = right > 0.0 ? right : 1.0;
    return frame;
}

void paintVerticalScale(QPainter& painter, const PlotFrame& frame, const Theme& theme)
{
    for (const double tick : roundTicks(frame.yLow, frame.yHigh, 4)) {
        const double y = frame.y(tick);
        painter.setPen(QPen(tick == 0.0 ? theme.ink3 : theme.grid, 1));
        painter.drawLine(QPointF(frame.area.left(), y), QPointF(frame.area.right(), y));
        write(painter, QRectF(frame.area.left() - kScaleWidth, y - 8, kScaleWidth - 6, 16),
              Qt::AlignRight | Qt::AlignVCenter, axisText(tick), cardDigitFont(CardTextSize::Axis),
              theme.ink2);
    }
}

void paintHorizontalScale(QPainter& painter, const PlotFrame& frame, const QString& name,
                          const Theme& theme)
{
    const double bottom = frame.area.bottom();
    painter.setPen(QPen(theme.ink3, 1));
    painter.drawLine(QPointF(frame.area.left(), bottom), QPointF(frame.area.right(), bottom));
    for (const double tick :
         roundTicks(frame.xLow, frame.xHigh, frame.area.width() > 220 ? 5 : 3)) {
        if (tick > frame.xHigh * 1.0001)
            continue;
        const double x = frame.x(tick);
        painter.setPen(QPen(theme.ink3, 1));
        painter.drawLine(QPointF(x, bottom), QPointF(x, bottom + 4));
        write(painter, QRectF(x - 30, bottom + 4, 60, 14), Qt::AlignHCenter | Qt::AlignTop,
              axisText(tick), cardDigitFont(CardTextSize::Axis), theme.ink2);
    }
    write(painter, QRectF(frame.area.left(), bottom + 19, frame.area.width(), 15),
          Qt::AlignRight | Qt::AlignTop, name, cardFont(CardTextSize::Axis), theme.ink3);
}

bool hasIntervals(const CardSeries& series)
{
    return std::any_of(series.points.begin(), series.points.end(),
                       [](const CardPoint& point) { return point.low < point.high; });
}

void paintBand(QPainter& painter, const PlotFrame& frame, const CardSeries& series, QColor color)
{
    if (!hasIntervals(series))
        return;
    QPolygonF band;
    for (const CardPoint& point : series.points)
        band.append(QPointF(frame.x(point.x), frame.y(point.high)));
    for (auto point = series.points.rbegin(); point != series.points.rend(); ++point)
        band.append(QPointF(frame.x(point->x), frame.y(point->low)));
    color.setAlphaF(0.16F);
    painter.setPen(Qt::NoPen);
    painter.setBrush(color);
    painter.drawPolygon(band);
    painter.setBrush(Qt::NoBrush);
}

/// Two series differ in their marks, not in colour alone.
void paintMark(QPainter& painter, const QPointF& at, CardTone tone)
{
    constexpr double kHalf = 3.6;
    if (tone == CardTone::Second)
        painter.drawRect(QRectF(at.x() - kHalf, at.y() - kHalf, 2 * kHalf, 2 * kHalf));
    else if (tone == CardTone::Third)
        painter.drawPolygon(QPolygonF{QPointF(at.x(), at.y() - 4.6),
                                      QPointF(at.x() + 4.4, at.y() + 3),
                                      QPointF(at.x() - 4.4, at.y() + 3)});
    else
        painter.drawEllipse(at, kHalf + 0.4, kHalf + 0.4);
}

void paintSeries(QPainter& painter, const PlotFrame& frame, const CardSeries& series,
                 const Theme& theme)
{
    const QColor color = cardToneColor(series.tone, theme);
    paintBand(painter, frame, series, color);
    const bool isDashed = series.style == CardStyle::Dashed;
    painter.setPen(QPen(color, 1.6, isDashed ? Qt::DashLine : Qt::SolidLine));
    painter.setBrush(Qt::NoBrush);
    if (series.style != CardStyle::Hollow) {
        QPolygonF line;
        for (const CardPoint& point : series.points)
            line.append(frame.at(point));
        painter.drawPolyline(line);
    }
    if (series.style == CardStyle::Line || isDashed)
        return;
    painter.setPen(QPen(color, 1.6));
    painter.setBrush(series.style == CardStyle::Hollow ? QBrush(theme.panel) : QBrush(color));
    for (const CardPoint& point : series.points)
        paintMark(painter, frame.at(point), series.tone);
    painter.setBrush(Qt::NoBrush);
}

/// Names at the lines' ends, moved apart where they would meet.
void paintSeriesNames(QPainter& painter, const PlotFrame& frame, const CardPlot& plot,
                      const Theme& theme)
{
    std::vector<std::pair<double, const CardSeries*>> names;
    for (const CardSeries& series : plot.series)
        if (!series.points.empty())
            names.emplace_back(frame.y(series.points.back().y), &series);
    std::sort(names.begin(), names.end(),
              [](const auto& a, const auto& b) { return a.first < b.first; });
    constexpr double kApart = 15.0;
    for (std::size_t i = 1; i < names.size(); ++i)
        names[i].first = std::max(names[i].first, names[i - 1].first + kApart);
    double limit = frame.area.bottom() + 2;
    for (std::size_t i = names.size(); i-- > 0; limit -= kApart)
        names[i].first = std::min(names[i].first, limit);
    for (const auto& [y, series] : names)
        write(painter, QRectF(frame.area.right() + 9, y - 8, kLabelWidth - 11, 16),
              Qt::AlignLeft | Qt::AlignVCenter, fromUtf8(series->name),
              cardFont(CardTextSize::Axis, QFont::Bold),
              series->tone == CardTone::Neutral ? theme.ink2 : cardToneColor(series->tone, theme));
}

void paintLine(QPainter& painter, const PlotFrame& frame, const CardLine& line, const Theme& theme)
{
    const QColor color =
        line.tone == CardTone::Neutral ? theme.ink2 : cardToneColor(line.tone, theme);
    painter.setPen(QPen(color, 1.2, Qt::DashLine));
    const QFont font = cardFont(CardTextSize::Axis);
    if (line.isVertical) {
        const double x = frame.x(line.at);
        painter.drawLine(QPointF(x, frame.area.top() - 4), QPointF(x, frame.area.bottom()));
        write(painter,
              QRectF(frame.area.left(), frame.area.bottom() - 18, x - frame.area.left() - 5, 14),
              Qt::AlignRight | Qt::AlignVCenter, fromUtf8(line.text), font, color);
        return;
    }
    const double y = frame.y(line.at);
    painter.drawLine(QPointF(frame.area.left(), y), QPointF(frame.area.right(), y));
    write(painter, QRectF(frame.area.left() + 4, y + 2, frame.area.width() - 8, 14),
          Qt::AlignLeft | Qt::AlignVCenter, fromUtf8(line.text), font, color);
}

void paintLines(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme)
{
    const PlotFrame frame =
        frameOf(area.adjusted(kScaleWidth, kTitleHeight + 8, -kLabelWidth, -kAxisHeight), plot);
    paintVerticalScale(painter, frame, theme);
    paintHorizontalScale(painter, frame, fromUtf8(plot.xName), theme);
    for (const CardLine& line : plot.lines)
        paintLine(painter, frame, line, theme);
    for (const CardSeries& series : plot.series)
        paintSeries(painter, frame, series, theme);
    paintSeriesNames(painter, frame, plot, theme);
}

void paintWhisker(QPainter& painter, const QPointF& from, const QPointF& to, const QColor& color)
{
    painter.setPen(QPen(color, 1.6));
    painter.drawLine(from, to);
}

void paintColumns(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme)
{
    if (plot.series.empty())
        return;
    const auto& points = plot.series.front().points;
    PlotFrame frame = frameOf(area.adjusted(kScaleWidth, kTitleHeight + 8, -4, -kAxisHeight), plot);
    paintVerticalScale(painter, frame, theme);
    const double step = frame.area.width() / static_cast<double>(points.size());
    for (std::size_t i = 0; i < points.size(); ++i) {
        const CardPoint& point = points[i];
        const double x = frame.area.left() + (static_cast<double>(i) + 0.5) * step;
        const double width = std::min(24.0, step * 0.65);
        const double top = std::min(frame.y(point.y), frame.y(0.0));
        const double height = std::max(1.5, std::abs(frame.y(point.y) - frame.y(0.0)));
        painter.fillRect(QRectF(x - width / 2, top, width, height),
                         point.y == 0.0 ? theme.ink3 : theme.global);
        if (point.low < point.high)
            paintWhisker(painter, QPointF(x, frame.y(point.low)), QPointF(x, frame.y(point.high)),
                         theme.ink);
        write(painter, QRectF(x - 20, frame.area.bottom() + 4, 40, 14),
              Qt::AlignHCenter | Qt::AlignTop, axisText(point.x), cardDigitFont(CardTextSize::Axis),
              theme.ink2);
    }
    write(painter,
          QRectF(frame.area.left() - kScaleWidth, frame.area.bottom() + 19,
                 frame.area.width() + kScaleWidth, 15),
          Qt::AlignRight | Qt::AlignTop, fromUtf8(plot.xName), cardFont(CardTextSize::Axis),
          theme.ink3);
}

void paintBars(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme)
{
    if (plot.bars.empty())
        return;
    double low = plot.bars.front().value;
    double high = low;
    for (const CardBar& bar : plot.bars) {
        low = std::min(low, bar.value);
        high = std::max(high, bar.value);
    }
    const double first = std::floor(std::log2(std::max(1.0, low))) - 2.0;
    const double last = std::max(std::ceil(std::log2(std::max(2.0, high))), first + 3.0);
    PlotFrame frame;
    frame.area = area.adjusted(54, 16, -20, -kAxisHeight - 16);
    frame.xLow = first;
    frame.xHigh = last;
    constexpr double kBar = 20.0;
    const double step = std::min(38.0, frame.area.height() / static_cast<double>(plot.bars.size()));
    for (std::size_t i = 0; i < plot.bars.size(); ++i) {
        const CardBar& bar = plot.bars[i];
        const double y = frame.area.top() + static_cast<double>(i) * step;
        const double right = frame.x(std::log2(std::max(1.0, bar.value)));
        const QColor fill = cardToneColor(bar.tone, theme);
        write(painter, QRectF(area.left(), y, 48, kBar), Qt::AlignRight | Qt::AlignVCenter,
              fromUtf8(bar.name), cardFont(CardTextSize::Axis), theme.ink2);
        painter.fillRect(QRectF(frame.area.left(), y, right - frame.area.left(), kBar), fill);
        const QFont font = cardFont(CardTextSize::Axis);
        const QString text = fromUtf8(bar.text);
        const double wanted = QFontMetricsF(font).horizontalAdvance(text) + 10;
        if (area.right() - right > wanted)
            write(painter, QRectF(right + 7, y, wanted, kBar), Qt::AlignLeft | Qt::AlignVCenter,
                  text, font, theme.ink);
        else
            write(painter, QRectF(frame.area.left() + 4, y, right - frame.area.left() - 10, kBar),
                  Qt::AlignRight | Qt::AlignVCenter, text, font, theme.textOn(fill));
    }
    const double axis = frame.area.top() + static_cast<double>(plot.bars.size()) * step + 4;
    painter.setPen(QPen(theme.ink3, 1));
    painter.drawLine(QPointF(frame.area.left(), axis), QPointF(frame.area.right(), axis));
    const double every = last - first > 8.0 ? 3.0 : 2.0;
    for (double power = first; power <= last + 1e-9; power += every) {
        const double x = frame.x(power);
        painter.setPen(QPen(theme.ink3, 1));
        painter.drawLine(QPointF(x, axis), QPointF(x, axis + 4));
        write(painter, QRectF(x - 34, axis + 4, 68, 14), Qt::AlignHCenter | Qt::AlignTop,
              countText(static_cast<std::int64_t>(std::exp2(power))),
              cardDigitFont(CardTextSize::Axis), theme.ink2);
    }
    write(painter, QRectF(frame.area.left(), axis + 19, frame.area.width(), 15),
          Qt::AlignRight | Qt::AlignTop, fromUtf8(plot.xName), cardFont(CardTextSize::Axis),
          theme.ink3);
}

/// The rows of a map, the control set a little apart: top of the row, and its height.
std::pair<double, double> mapRow(const QRectF& cells, const CardPlot& plot, std::size_t row)
{
    constexpr double kGap = 6.0;
    const bool isControl = row + 1 == plot.rowNames.size();
    const double height = (cells.height() - kGap) / static_cast<double>(plot.rowNames.size());
    return {cells.top() + static_cast<double>(row) * height + (isControl ? kGap : 0.0), height};
}

void paintMap(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme)
{
    if (plot.rowNames.empty() || plot.columnNames.empty())
        return;
    const QRectF cells = area.adjusted(50, kTitleHeight + 20, 0, -20);
    const double width = cells.width() / static_cast<double>(plot.columnNames.size());
    const QFont digits = cardDigitFont(CardTextSize::Axis);
    for (std::size_t column = 0; column < plot.columnNames.size(); ++column)
        write(
            painter,
            QRectF(cells.left() + static_cast<double>(column) * width, cells.top() - 18, width, 16),
            Qt::AlignCenter, fromUtf8(plot.columnNames[column]), digits, theme.ink2);
    for (std::size_t row = 0; row < plot.cells.size(); ++row) {
        const auto [top, height] = mapRow(cells, plot, row);
        const bool isControl = row + 1 == plot.rowNames.size();
        write(painter, QRectF(area.left(), top, 44, height), Qt::AlignRight | Qt::AlignVCenter,
              fromUtf8(plot.rowNames[row]), isControl ? cardFont(CardTextSize::Axis) : digits,
              theme.ink2);
        for (std::size_t column = 0; column < plot.cells[row].size(); ++column) {
            const CardCell& cell = plot.cells[row][column];
            const QRectF box(cells.left() + static_cast<double>(column) * width + 1, top + 1,
                             width - 2, height - 2);
            if (cell.trials == 0) {
                painter.setPen(QPen(theme.line, 1));
                painter.drawRect(box);
                continue;
            }
            const QColor fill = theme.accuracyColor(static_cast<double>(cell.correct) /
                                                    static_cast<double>(cell.trials));
            painter.fillRect(box, fill);
            write(painter, box, Qt::AlignCenter,
                  QStringLiteral("%1/%2").arg(cell.correct).arg(cell.trials),
                  cardDigitFont(CardTextSize::Axis, QFont::Bold), theme.textOn(fill));
        }
    }
}

void paintDepths(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme)
{
    PlotFrame frame;
    frame.area = area.adjusted(48, kTitleHeight + 26, -14, -kAxisHeight - 4);
    frame.xHigh = 100.0;
    frame.yLow = 100.0; // depth 0 is on top
    frame.yHigh = 0.0;
    for (const double share : {0.0, 50.0, 100.0}) {
        const double x = frame.x(share);
        painter.setPen(QPen(theme.grid, 1));
        painter.drawLine(QPointF(x, frame.area.top() - 10), QPointF(x, frame.area.bottom() + 10));
        write(painter, QRectF(x - 20, frame.area.bottom() + 13, 40, 14),
              Qt::AlignHCenter | Qt::AlignTop, axisText(share), cardDigitFont(CardTextSize::Axis),
              theme.ink2);
    }
    if (plot.series.empty())
        return;
    for (const CardPoint& point : plot.series.front().points) {
        write(painter, QRectF(area.left(), frame.y(point.y) - 8, 38, 16),
              Qt::AlignRight | Qt::AlignVCenter, axisText(point.y) + QStringLiteral(" %"),
              cardDigitFont(CardTextSize::Axis), theme.ink2);
        paintWhisker(painter, QPointF(frame.x(point.low), frame.y(point.y)),
                     QPointF(frame.x(point.high), frame.y(point.y)), theme.global);
        painter.setBrush(theme.global);
        painter.drawEllipse(frame.at(point), 4.0, 4.0);
        painter.setBrush(Qt::NoBrush);
    }
}

} // namespace

double cardPlotWeight(const CardPlot& plot)
{
    switch (plot.kind) {
    case CardPlotKind::Map:
        return 2.3;
    case CardPlotKind::Depths:
        return 1.1;
    case CardPlotKind::Columns:
        return 1.7;
    case CardPlotKind::Lines:
    case CardPlotKind::Bars:
        break;
    }
    return 2.0;
}

QColor cardToneColor(CardTone tone, const Theme& theme)
{
    switch (tone) {
    case CardTone::Main:
        return theme.global;
    case CardTone::Second:
        return theme.windowed;
    case CardTone::Third:
        return theme.growthCopy;
    case CardTone::Neutral:
        return theme.weights;
    case CardTone::Limit:
        return theme.bad;
    }
    return theme.ink;
}

std::vector<double> roundTicks(double low, double high, int wanted)
{
    const double least = std::min(low, 0.0);
    const double span = high - least > 1e-290 ? high - least : 1.0;
    const double rough = span / std::max(1, wanted);
    const double decade = std::pow(10.0, std::floor(std::log10(rough)));
    double step = 10.0 * decade;
    for (const double factor : {1.0, 2.0, 2.5, 5.0})
        if (factor * decade >= rough * 0.999) {
            step = factor * decade;
            break;
        }
    std::vector<double> ticks;
    const double first = std::floor(least / step);
    const double last = std::ceil((least + span) / step - 1e-9);
    for (double i = first; i <= last; i += 1.0)
        ticks.push_back(i * step);
    return ticks;
}

QString axisText(double value)
{
    if (value == std::floor(value) && std::abs(value) < 1e15)
        return countText(static_cast<std::int64_t>(value));
    return QString::number(value, 'g', 3);
}

void paintCardPlot(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme)
{
    paintTitle(painter, area, plot, theme);
    switch (plot.kind) {
    case CardPlotKind::Bars:
        return paintBars(painter, area, plot, theme);
    case CardPlotKind::Lines:
        return paintLines(painter, area, plot, theme);
    case CardPlotKind::Columns:
        return paintColumns(painter, area, plot, theme);
    case CardPlotKind::Depths:
        return paintDepths(painter, area, plot, theme);
    case CardPlotKind::Map:
        return paintMap(painter, area, plot, theme);
    }
}

} // namespace kvscope
