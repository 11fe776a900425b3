#include "widgets/training_plot.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/series_thinning.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QPainter>
#include <QPolygonF>

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kWidth = 900.0;
constexpr double kLeft = 64.0;
constexpr double kRight = 20.0;
constexpr double kTop = 74.0; ///< title, key, names of phases
constexpr double kLossHeight = 300.0;
constexpr double kBetween = 46.0; ///< the lower plot's name stands there
constexpr double kBalanceHeight = 90.0;
constexpr double kBottom = 48.0;
constexpr std::size_t kSmoothed = 25; ///< steps in a mean
constexpr float kFaint = 0.3F;

using Value = double TrainingReportStep::*;

QString translated(const char* text)
{
    return QCoreApplication::translate("TrainingPlot", text);
}

/// 1, 2 or 5 times a power of ten: about `count` of them make `most`.
double tickStep(double most, int count)
{
    const double rough = most / count;
    const double power = std::pow(10.0, std::floor(std::log10(rough)));
    const double part = rough / power;
    return power * (part <= 1.0 ? 1.0 : part <= 2.0 ? 2.0 : part <= 5.0 ? 5.0 : 10.0);
}

/// The end of an axis that holds a value: whole ticks. \param least  what it holds at least
double axisEnd(double most, double least)
{
    const double held = std::max(most, least);
    const double step = tickStep(held, 5);
    return step * std::ceil(held / step);
}

double largest(const TrainingReport& report, Value value)
{
    double most = 0.0;
    for (const TrainingReportStep& step : report.steps)
        most = std::max(most, step.*value);
    return most;
}

std::vector<double> valuesOf(const TrainingReport& report, Value value)
{
    std::vector<double> values;
    for (const TrainingReportStep& step : report.steps)
        values.push_back(step.*value);
    return values;
}

/// A training, painted.
class TrainingPainter
{
public:
    TrainingPainter(QPainter& painter, const TrainingReport& report, const Theme& theme)
        : m_painter(painter)
        , m_report(report)
        , m_theme(theme)
        , m_layout(trainingPlotLayout(report))
    {
        for (const TrainingReportStep& step : report.steps)
            m_steps.push_back(static_cast<double>(step.step));
    }

    void paint() const
    {
        write({16, 8, kWidth, 22}, Qt::AlignLeft, translated("Loss by step"),
              uiFont(TextSize::Heading, QFont::DemiBold), m_theme.ink);
        paintAxes(m_layout.losses, m_layout.mostLoss, 5);
        paintAxes(m_layout.balance, m_layout.mostBalance, 2);
        paintStepNames();
        paintStages();
        paintLine(m_layout.losses, m_layout.mostLoss, &TrainingReportStep::textLoss,
                  m_theme.windowed);
        paintLine(m_layout.losses, m_layout.mostLoss, &TrainingReportStep::answerLoss,
                  m_theme.global);
        paintLine(m_layout.balance, m_layout.mostBalance, &TrainingReportStep::balance,
                  m_theme.ink2);
        double x = kLeft;
        x = paintKey(x, 40, m_theme.global, translated("answers and echoes, nats a token"));
        x = paintKey(x, 40, m_theme.windowed, translated("all text, nats a token"));
        write({x, 31, kWidth, 18}, Qt::AlignLeft,
              translated("bold: mean of %1 steps").arg(kSmoothed), uiFont(TextSize::Secondary),
              m_theme.ink3);
        paintKey(kLeft, m_layout.balance.top() - 12, m_theme.ink2,
                 translated("balance of the experts' load (1: even)"));
    }

private:
    void write(const QRectF& area, int alignment, const QString& text, const QFont& font,
               const QColor& color) const
    {
        m_painter.setFont(font);
        m_painter.setPen(color);
        m_painter.drawText(area, alignment | Qt::AlignVCenter | Qt::TextDontClip, text);
    }

    void paintAxes(const QRectF& area, double most, int count) const
    {
        const double step = tickStep(most, count);
        for (double value = 0.0; value <= most * (1.0 + 1e-9); value += step) {
            const double y = area.bottom() - area.height() * value / most;
            m_painter.setPen(QPen(m_theme.grid, 1));
            m_painter.drawLine(QPointF(area.left(), y), QPointF(area.right(), y));
            write({0, y - 9, kLeft - 8, 18}, Qt::AlignRight, QString::number(value),
                  digitFont(TextSize::Axis), m_theme.ink2);
        }
    }

    void paintStepNames() const
    {
        const double step = std::max(1.0, tickStep(m_layout.lastStep, 8));
        const double y = m_layout.balance.bottom();
        for (double value = 0.0; value <= m_layout.lastStep; value += step)
            write({m_layout.xOf(value) - 40, y + 4, 80, 16}, Qt::AlignHCenter,
                  countText(std::llround(value)), digitFont(TextSize::Axis), m_theme.ink2);
        write({m_layout.losses.left(), y + 22, m_layout.losses.width(), 18}, Qt::AlignHCenter,
              translated("step"), uiFont(TextSize::Secondary), m_theme.ink2);
    }

    /// Where phases begin and where texts become longer, with their names above the losses.
    void paintStages() const
    {
        double free = 0.0; // where the last name ended
        for (std::size_t i = 0; i < m_report.steps.size(); ++i) {
            const TrainingReportStep& step = m_report.steps[i];
            const bool isPhase = i == 0 || step.phase != m_report.steps[i - 1].phase;
            if (!isPhase && step.length == m_report.steps[i - 1].length)
                continue;
            const double x = m_layout.xOf(m_steps[i]);
            m_painter.setPen(isPhase ? QPen(m_theme.ink2, 1, Qt::DashLine)
                                     : QPen(m_theme.ink3, 1, Qt::DotLine));
            m_painter.drawLine(QPointF(x, m_layout.losses.top() - (isPhase ? 14 : 0)),
                               QPointF(x, m_layout.balance.bottom()));
            QString name = countText(step.length);
            if (isPhase)
                name = translated("%1: length %2")
                           .arg(QString::fromStdString(m_report.phases[step.phase]).left(40), name);
            m_painter.setFont(uiFont(TextSize::Axis));
            const double width = m_painter.fontMetrics().horizontalAdvance(name);
            if (x + 4 < free || x + 4 + width > kWidth)
                continue; // no room for its name; the line says where
            free = x + 4 + width + 6;
            write({x + 4, m_layout.losses.top() - 17, width, 16}, Qt::AlignLeft, name,
                  uiFont(TextSize::Axis), isPhase ? m_theme.ink : m_theme.ink2);
        }
    }

    void paintLine(const QRectF& area, double most, Value value, const QColor& color) const
    {
        const std::vector<double> values = valuesOf(m_report, value);
        QColor faint = color;
        faint.setAlphaF(kFaint);
        paintSeries(area, most, values, QPen(faint, 1));
        paintSeries(area, most, runningMean(values, kSmoothed), QPen(color, 2));
    }

    void paintSeries(const QRectF& area, double most, const std::vector<double>& values,
                     const QPen& pen) const
    {
        const ColumnRange range{0.0, m_layout.lastStep, static_cast<int>(area.width()),
                                AxisScale::Linear};
        QPolygonF points;
        for (const std::size_t i : thinToColumns(m_steps, {values}, range))
            points.append(QPointF(m_layout.xOf(m_steps[i]),
                                  area.bottom() - area.height() * values[i] / most));
        m_painter.setPen(pen);
        m_painter.drawPolyline(points);
    }

    /// \returns where the next key may stand
    double paintKey(double x, double y, const QColor& color, const QString& text) const
    {
        m_painter.setPen(QPen(color, 2));
        m_painter.drawLine(QPointF(x, y), QPointF(x + 18, y));
        write({x + 24, y - 9, kWidth, 18}, Qt::AlignLeft, text, uiFont(TextSize::Secondary),
              m_theme.ink2);
        return x + 24 + m_painter.fontMetrics().horizontalAdvance(text) + 20;
    }

    QPainter& m_painter;
    const TrainingReport& m_report;
    const Theme& m_theme;
    TrainingPlotLayout m_layout;
    std::vector<double> m_steps;
};

} // namespace

TrainingPlotLayout trainingPlotLayout(const TrainingReport& report)
{
    TrainingPlotLayout layout;
    const double width = kWidth - kLeft - kRight;
    layout.losses = {kLeft, kTop, width, kLossHeight};
    layout.balance = {kLeft, layout.losses.bottom() + kBetween, width, kBalanceHeight};
    layout.size = {kWidth, layout.balance.bottom() + kBottom};
    layout.lastStep = std::max(1.0, static_cast<double>(report.steps.back().step));
    layout.mostLoss = axisEnd(std::max(largest(report, &TrainingReportStep::answerLoss),
                                       largest(report, &TrainingReportStep::textLoss)),
                              1e-3);
    layout.mostBalance = axisEnd(largest(report, &TrainingReportStep::balance), 2.0);
    return layout;
}

void paintTrainingPlot(QPainter& painter, const QRectF& area, const TrainingReport& report,
                       const Theme& theme)
{
    painter.save();
    painter.fillRect(area, theme.panel);
    painter.setRenderHint(QPainter::Antialiasing);
    const double scale = area.width() / trainingPlotLayout(report).size.width();
    painter.translate(area.topLeft());
    painter.scale(scale, scale);
    TrainingPainter(painter, report, theme).paint();
    painter.restore();
}

ExportSource trainingExportSource(std::shared_ptr<const TrainingReport> report,
                                  const QString& caption)
{
    ExportSource source;
    source.name = QStringLiteral("loss");
    source.size = trainingPlotLayout(*report).size;
    source.caption = caption;
    source.hasSvg = true;
    source.paint = [report](QPainter& painter, const QRectF& area, const Theme& theme) {
        paintTrainingPlot(painter, area, *report, theme);
    };
    return source;
}

} // namespace kvscope
