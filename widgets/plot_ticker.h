#pragma once

#include "widgets/plot_include.h"
#include "widgets/series_thinning.h"

#include <QString>
#include <QVector>

namespace kvscope {

/// Ticks at powers of two and their multiples, as context lengths are: "256", "1,024", and "16K"
/// (1,024s) from there on.
class PositionTicker : public QCPAxisTicker
{
public:
    explicit PositionTicker(AxisScale scale)
        : m_scale(scale)
    {
    }

protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double) override { return 0; }
    QVector<double> createTickVector(double tickStep, const QCPRange& range) override;
    QString getTickLabel(double tick, const QLocale&, QChar, int) override;

private:
    AxisScale m_scale;
};

/// Ticks at round seconds, minutes or hours: "0.5", "30", "1:30", "2:00:00".
class SecondsTicker : public QCPAxisTicker
{
protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double) override { return 0; }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override;

private:
    double m_step = 1.0;
};

/// Round amounts, grouped: "12,288". \param smallestStep  no tick falls between its multiples
class AmountTicker : public QCPAxisTicker
{
public:
    explicit AmountTicker(double smallestStep = 0.0)
        : m_smallestStep(smallestStep)
    {
    }

protected:
    double getTickStep(const QCPRange& range) override;
    int getSubTickCount(double) override { return 0; }
    QString getTickLabel(double tick, const QLocale&, QChar, int) override;

private:
    double m_smallestStep;
    double m_step = 1.0;
};

/// A position as axes say it: exact below 16,384, in 1,024s ("16K") where those divide it.
QString axisPosition(double position);
/// Seconds as axes say them, with the decimals that `step` needs below a minute.
QString axisSeconds(double seconds, double step);
/// An amount with the decimals that `step` needs, grouped by thousands.
QString axisAmount(double amount, double step);

} // namespace kvscope
