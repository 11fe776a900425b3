#include "widgets/plot_ticker.h"

#include "engine/base/units.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope {
namespace {

int decimalsOf(double step)
{
    return step >= 1.0 || step <= 0.0
               ? 0
               : std::min(static_cast<int>(std::ceil(-std::log10(step) - 1e-9)), 6);
}

/// 1, 2 or 5 times a power of ten, at least `step`.
double roundStep(double step)
{
    const double magnitude = std::pow(10.0, std::floor(std::log10(step)));
    for (const double factor : {1.0, 2.0, 5.0})
        if (step <= factor * magnitude * (1.0 + 1e-9))
            return factor * magnitude;
    return 10.0 * magnitude;
}

double wantedStep(const QCPRange& range, int ticks)
{
    return std::max(range.size(), 1e-12) / std::max(ticks, 1);
}

} // namespace

double PositionTicker::getTickStep(const QCPRange& range)
{
    // Down where that is nearer: ticks a third closer than asked for still leave room for labels.
    const double wanted = std::max(wantedStep(range, tickCount()), 1.0);
    return std::exp2(std::ceil(std::log2(wanted) - 0.4));
}

QVector<double> PositionTicker::createTickVector(double tickStep, const QCPRange& range)
{
    if (m_scale == AxisScale::Linear)
        return QCPAxisTicker::createTickVector(tickStep, range);
    const double lowest = std::ceil(std::log2(std::max(range.lower, 1.0)) - 1e-9);
    const double highest = std::floor(std::log2(std::max(range.upper, 1.0)) + 1e-9);
    if (highest - lowest < 2.0) // zoomed into less than two doublings: even steps say more
        return QCPAxisTicker::createTickVector(tickStep, range);
    const double every = std::max(1.0, std::ceil((highest - lowest + 1.0) / tickCount()));
    QVector<double> ticks;
    for (double power = lowest; power <= highest; power += every)
        ticks.append(std::exp2(power));
    return ticks;
}

QString PositionTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return axisPosition(tick);
}

double SecondsTicker::getTickStep(const QCPRange& range)
{
    const double wanted = wantedStep(range, tickCount());
    constexpr std::array kClockSteps = {15.0,  30.0,   60.0,   120.0,  300.0,
                                        600.0, 1800.0, 3600.0, 7200.0, 21600.0};
    if (wanted <= 10.0)
        m_step = roundStep(wanted);
    else if (const auto* step = std::lower_bound(kClockSteps.begin(), kClockSteps.end(), wanted);
             step != kClockSteps.end())
        m_step = *step;
    else
        m_step = std::ceil(wanted / 86'400.0) * 86'400.0;
    return m_step;
}

QString SecondsTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return axisSeconds(tick, m_step);
}

double AmountTicker::getTickStep(const QCPRange& range)
{
    m_step = std::max(roundStep(wantedStep(range, tickCount())), m_smallestStep);
    return m_step;
}

QString AmountTicker::getTickLabel(double tick, const QLocale&, QChar, int)
{
    return axisAmount(tick, m_step);
}

QString axisPosition(double position)
{
    const auto whole = static_cast<std::int64_t>(std::llround(position));
    if (whole >= 16'384 && whole % 1024 == 0)
        return QString::fromStdString(formatCount(whole / 1024)) + QLatin1Char('K');
    return QString::fromStdString(formatCount(whole));
}

QString axisSeconds(double seconds, double step)
{
    if (std::abs(seconds) < 60.0 && step < 60.0)
        return QString::number(seconds, 'f', decimalsOf(step));
    const auto whole = static_cast<qlonglong>(std::llround(std::abs(seconds)));
    const QString sign = seconds < 0.0 ? QStringLiteral("\u2212") : QString();
    const QChar zero = QLatin1Char('0');
    const QString rest = QStringLiteral("%1").arg(whole % 60, 2, 10, zero);
    if (whole < 3600)
        return sign + QStringLiteral("%1:%2").arg(whole / 60).arg(rest);
    const QString minutes = QStringLiteral("%1").arg(whole / 60 % 60, 2, 10, zero);
    return sign + QStringLiteral("%1:%2:%3").arg(whole / 3600).arg(minutes, rest);
}

QString axisAmount(double amount, double step)
{
    const int decimals = decimalsOf(step);
    if (decimals > 0)
        return QString::number(amount, 'f', decimals);
    return QString::fromStdString(formatCount(std::llround(amount)));
}

} // namespace kvscope
