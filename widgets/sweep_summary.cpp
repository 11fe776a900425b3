#include "widgets/sweep_summary.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"

#include <QCoreApplication>
#include <QFontMetricsF>

#include <cmath>

namespace kvscope {
namespace {

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

void addEndsAgainstMiddle(std::vector<SweepSummaryRow>& rows, const SweepReport& report)
{
    const EndsAgainstMiddle& test = report.endsAgainstMiddle;
    rows.push_back(
        {tr("Ends against middle"), {}, tr("trained lengths, exact two-sided test"), true});
    const auto score = [](const Proportion& of) {
        return of.trials > 0 ? scoreText(of) : missingText();
    };
    rows.push_back({tr("ends, 0 and 100 %"), score(test.ends), shareNote(test.ends)});
    const QString between = middleDepths(report.depths);
    rows.push_back({between.isEmpty() ? tr("middle") : tr("middle, %1").arg(between),
                    score(test.middle), shareNote(test.middle)});
    if (test.ends.trials > 0 && test.middle.trials > 0)
        rows.push_back(
            {tr("difference"),
             (test.p > 0 ? QStringLiteral("p = ") : QStringLiteral("p ")) + probabilityText(test.p),
             {}});
    else
        rows.push_back(
            {tr("difference"), missingText(), tr("wants trials at 0 and 100 % and between")});
}

void addEffectiveLengths(std::vector<SweepSummaryRow>& rows, const SweepReport& report)
{
    rows.push_back(
        {tr("Effective length"), {}, tr("depths pooled; it and every shorter one pass"), true});
    const auto add = [&rows](const QString& name, const EffectiveLength& length) {
        const EffectiveLengthWords words = effectiveLengthWords(length);
        rows.push_back({name, words.finding, words.bound});
    };
    add(tr("absolute, %1 %").arg(percentText(report.absolute.threshold)), report.absolute);
    if (report.relative.threshold > 0)
        add(tr("relative, %1 %").arg(percentText(report.relative.threshold)), report.relative);
    else
        rows.push_back({tr("relative"), missingText(),
                        report.oracle.score.trials > 0
                            ? tr("nothing was found even with the fact alone")
                            : tr("wants the oracle's score")});
}

} // namespace

std::vector<SweepSummaryRow> sweepSummary(const SweepReport& report)
{
    std::vector<SweepSummaryRow> rows;
    addEndsAgainstMiddle(rows, report);
    addEffectiveLengths(rows, report);
    return rows;
}

std::vector<SummaryRowWidths> summaryWidths(const std::vector<SweepSummaryRow>& rows)
{
    const QFontMetricsF plain(uiFont());
    const QFontMetricsF bold(uiFont(TextSize::Body, QFont::Bold));
    const QFontMetricsF small(uiFont(TextSize::Secondary));
    const auto widthOf = [](const QFontMetricsF& metrics, const QString& text) {
        return text.isEmpty() ? 0.0 : std::ceil(metrics.horizontalAdvance(text)) + 1.0;
    };
    std::vector<SummaryRowWidths> widths;
    for (const SweepSummaryRow& row : rows)
        widths.push_back({widthOf(row.isTitle ? bold : plain, row.name), widthOf(bold, row.value),
                          widthOf(row.isTitle ? small : plain, row.note), row.isTitle});
    return widths;
}

} // namespace kvscope
