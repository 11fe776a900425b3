#include "widgets/sweep_cells.h"

#include "widgets/number_format.h"

#include <QCoreApplication>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::Sweep", text);
}

/// ".65", "0", "1": without the zero before the point, as such intervals are printed.
QString shareText(double share)
{
    const QString text = QString::number(std::clamp(share, 0.0, 1.0), 'f', 2);
    if (text == QLatin1String("0.00"))
        return QStringLiteral("0");
    return text == QLatin1String("1.00") ? QStringLiteral("1") : text.mid(1);
}

QString superscript(int number)
{
    static const QString kDigits = QStringLiteral("⁰¹²³⁴⁵⁶⁷⁸⁹");
    QString text = number < 0 ? QStringLiteral("⁻") : QString();
    for (const QChar digit : QString::number(std::abs(number)))
        text += kDigits[digit.digitValue()];
    return text;
}

template <typename Predicate>
std::int64_t firstLength(const EffectiveLength& length, Predicate isWanted)
{
    const auto found = std::find_if(length.lengths.begin(), length.lengths.end(), isWanted);
    return found == length.lengths.end() ? 0 : found->tokens;
}

} // namespace

const SweepCell* cellOf(const SweepReport& report, const SweepCellKey& key)
{
    if (key.role == TrialRole::Oracle)
        return &report.oracle;
    const SweepColumn* column = columnOf(report, key);
    if (!column)
        return nullptr;
    if (key.role == TrialRole::Control)
        return &column->control;
    const bool isThere = key.depth < report.depths.size() && key.depth < column->cells.size();
    return isThere ? &column->cells[key.depth] : nullptr;
}

std::vector<SweepCellKey> allCells(const SweepReport& report)
{
    std::vector<SweepCellKey> keys;
    const auto add = [&](const SweepCellKey& key) {
        if (cellOf(report, key))
            keys.push_back(key);
    };
    for (std::size_t depth = 0; depth < report.depths.size(); ++depth)
        for (std::size_t column = 0; column < report.columns.size(); ++column)
            add({TrialRole::Asked, column, depth});
    for (std::size_t column = 0; column < report.columns.size(); ++column)
        add({TrialRole::Control, column, 0});
    add({TrialRole::Oracle, 0, 0});
    return keys;
}

const SweepColumn* columnOf(const SweepReport& report, const SweepCellKey& key)
{
    const bool isThere = key.role != TrialRole::Oracle && key.column < report.columns.size();
    return isThere ? &report.columns[key.column] : nullptr;
}

std::size_t numTrainedColumns(const SweepReport& report)
{
    const auto beyond = std::find_if(report.columns.begin(), report.columns.end(),
                                     [](const SweepColumn& c) { return c.isBeyondTrained; });
    return static_cast<std::size_t>(beyond - report.columns.begin());
}

QString cellName(const SweepReport& report, const SweepCellKey& key)
{
    if (key.role == TrialRole::Oracle)
        return tr("oracle");
    const SweepColumn* column = columnOf(report, key);
    if (!column || !cellOf(report, key))
        return {};
    const QString tokens = countText(column->tokens);
    if (key.role == TrialRole::Control)
        return tr("control at %1").arg(tokens);
    return tr("%1 at %2").arg(tokens, depthText(report.depths[key.depth]));
}

QString experimentTitle(const SweepReport& report)
{
    if (report.experiment == "needle")
        return tr("Needle");
    if (report.experiment == "needle-pairs")
        return tr("Two needles");
    if (report.experiment == "passkey")
        return tr("Passkey");
    return report.experiment.empty() ? tr("Sweep") : QString::fromStdString(report.experiment);
}

QString scoreText(const Proportion& score)
{
    return QStringLiteral("%1/%2").arg(score.correct).arg(score.trials);
}

QString intervalText(const Interval& interval)
{
    return shareText(interval.low) + QChar(0x2013) + shareText(interval.high);
}

QString percentText(double share)
{
    const double percent = 100.0 * share;
    const bool isWhole = std::abs(percent - std::round(percent)) < 0.05;
    return QString::number(percent, 'f', isWhole ? 0 : 1);
}

QString depthText(double depth)
{
    return QString::number(depth, 'g', 4) + QStringLiteral(" %");
}

QString probabilityText(double p)
{
    if (!(p > 0.0))
        return QStringLiteral("< 10⁻³⁰⁰"); // underflow: the exact value is smaller than a double
    if (p >= 0.001)
        return QString::number(p, 'g', 2);
    int exponent = static_cast<int>(std::floor(std::log10(p)));
    double digits = p / std::pow(10.0, exponent);
    if (digits >= 9.95) { // rounds to 10.0
        digits = 1.0;
        ++exponent;
    }
    return QStringLiteral("%1 × 10%2").arg(digits, 0, 'f', 1).arg(superscript(exponent));
}

QString verdictGlyph(PassVerdict verdict)
{
    switch (verdict) {
    case PassVerdict::Passes:
        return QStringLiteral("▲");
    case PassVerdict::Fails:
        return QStringLiteral("▼");
    case PassVerdict::Undecided:
        return QStringLiteral("?");
    }
    return {};
}

QString verdictWord(PassVerdict verdict)
{
    switch (verdict) {
    case PassVerdict::Passes:
        return tr("above");
    case PassVerdict::Fails:
        return tr("below");
    case PassVerdict::Undecided:
        return tr("undecided");
    }
    return {};
}

QString kindName(AnswerKind kind)
{
    switch (kind) {
    case AnswerKind::Found:
        return tr("found");
    case AnswerKind::BareWrong:
        return tr("bare wrong");
    case AnswerKind::RestatedWrong:
        return tr("restated");
    case AnswerKind::NoNumber:
        return tr("no number");
    case AnswerKind::Empty:
        return tr("empty");
    }
    return {};
}

QString kindText(AnswerKind kind)
{
    const QString glyph = kind == AnswerKind::Found ? QStringLiteral("✓ ") : QStringLiteral("✕ ");
    return glyph + kindName(kind);
}

EffectiveLengthWords effectiveLengthWords(const EffectiveLength& length)
{
    if (length.lengths.empty())
        return {tr("not measured yet"), {}};
    const std::int64_t failing = firstLength(
        length, [](const LengthVerdict& at) { return at.verdict == PassVerdict::Fails; });
    const std::int64_t undecided = firstLength(length, [&](const LengthVerdict& at) {
        return at.verdict == PassVerdict::Undecided && at.tokens > length.tokens;
    });
    const QString fails = failing > 0 ? tr("▼ not met at %1").arg(countText(failing))
                                      : tr("no measured length fails");
    if (!length.isDecided()) {
        const QString at = tr("? undecided at %1").arg(countText(undecided));
        return {length.tokens > 0 ? tr("▲ met to %1, ").arg(countText(length.tokens)) + at : at,
                fails};
    }
    if (length.tokens == 0)
        return {fails, {}};
    if (length.isCensored)
        return {tr("▲ at least %1").arg(countText(length.tokens)), fails};
    return {tr("▲ %1").arg(countText(length.tokens)), fails};
}

QString stateName(CellState state)
{
    switch (state) {
    case CellState::Queued:
        return tr("queued");
    case CellState::Running:
        return tr("running");
    case CellState::Done:
        return tr("done");
    case CellState::CannotFit:
        return tr("cannot fit");
    }
    return {};
}

} // namespace kvscope
