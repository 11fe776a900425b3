#include "widgets/lab_verdicts.h"

#include "widgets/number_format.h"

#include <QCoreApplication>
#include <QStringList>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

using Kind = LabVerdict::Kind;

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::LabVerdicts", text);
}

LabNote::Kind noteKindOf(Kind kind)
{
    switch (kind) {
    case Kind::Holds:
        return LabNote::Kind::Good;
    case Kind::Undecided:
        return LabNote::Kind::Caution;
    case Kind::Fails:
        break;
    }
    return LabNote::Kind::Bad;
}

QString rowName(const FirstTokenRow& row)
{
    return row.chunkTokens == 0
               ? tr("%1 in one shot").arg(countText(row.tokens))
               : tr("%1 in chunks of %2").arg(countText(row.tokens), countText(row.chunkTokens));
}

QString wayName(const HeldOutFit& fit)
{
    return fit.chunkTokens == 0 ? tr("one shot")
                                : tr("chunks of %1").arg(countText(fit.chunkTokens));
}

/// Runs that were left out because others of their length were undisturbed.
std::int64_t numRunsLeftOut(const LatencyReport& report)
{
    std::int64_t count = 0;
    for (const FirstTokenRow& row : report.firstToken)
        if (!row.isDisturbed)
            count += std::count_if(row.runs.begin(), row.runs.end(),
                                   [](const TimedRun& run) { return run.isDisturbed(); });
    return count;
}

std::int64_t numStepsLeftOut(const LatencyReport& report)
{
    std::int64_t count = 0;
    for (const DecodeStepRow& row : report.decode)
        if (!row.isDisturbed())
            count += row.numDisturbed;
    return count;
}

void addDisturbed(std::vector<LabNote>& notes, const LatencyReport& report)
{
    const auto caution = [&notes](const QString& text) {
        notes.push_back({LabNote::Kind::Caution, text});
    };
    if (report.isBandwidthDisturbed && report.bandwidthBytesPerSecond > 0.0)
        caution(tr("Memory reads of %1 GB/s were measured under other load: what the bytes alone "
                   "need may be too high")
                    .arg(report.bandwidthBytesPerSecond / 1e9, 0, 'f', 1));
    QStringList disturbed;
    for (const FirstTokenRow& row : report.firstToken)
        if (!row.isSkipped() && row.isDisturbed)
            disturbed.append(rowName(row));
    for (const DecodeStepRow& row : report.decode)
        if (row.isDisturbed())
            disturbed.append(tr("decode at %1").arg(countText(row.cachedTokens)));
    if (!disturbed.isEmpty())
        caution(tr("None was left undisturbed: %1").arg(disturbed.join(QStringLiteral(", "))));
    const std::int64_t runs = numRunsLeftOut(report);
    const std::int64_t steps = numStepsLeftOut(report);
    if (runs + steps > 0)
        caution(tr("Under other load and left out: %1 runs, %2 steps").arg(runs).arg(steps));
    for (const HeldOutFit& fit : report.fits)
        if (fit.isDisturbed)
            caution(tr("The fit of %1 is disturbed by other load").arg(wayName(fit)));
}

void addUntold(std::vector<LabNote>& notes, const LatencyReport& report)
{
    const auto plain = [&notes](const QString& text) {
        notes.push_back({LabNote::Kind::Plain, text});
    };
    for (const HeldOutFit& fit : report.fits)
        if (!fit.throughputs.separates)
            plain(tr("%1: the lengths do not tell attention's throughput from the rest's.")
                      .arg(wayName(fit)));
    if (!report.decode.empty() && !report.stepSecondsPer1000)
        plain(tr("What a step grows by per 1,000 cached tokens takes two undisturbed lengths."));
    QStringList beyond;
    for (const FirstTokenRow& row : report.firstToken)
        if (row.isBeyondTrained && !row.isSkipped() && !beyond.contains(countText(row.tokens)))
            beyond.append(countText(row.tokens));
    if (!beyond.isEmpty())
        plain(tr("Beyond the trained length: %1.").arg(beyond.join(QStringLiteral(", "))));
}

} // namespace

QString LabVerdict::text() const
{
    const char* glyph = kind == Kind::Holds ? "✓ " : kind == Kind::Fails ? "✕ " : "? ";
    return QString::fromUtf8(glyph) + word;
}

LabVerdict behavesVerdict(const PositionsSeries& series)
{
    if (!series.isDecided())
        return {Kind::Undecided, tr("undecided")};
    return series.behaves() ? LabVerdict{Kind::Holds, tr("behaves")}
                            : LabVerdict{Kind::Fails, tr("does not behave")};
}

LabVerdict usesVerdict(const UseReport& report)
{
    if (!report.firstSegmentAgrees())
        return {Kind::Fails, tr("the check failed")};
    if (report.usesContext())
        return {Kind::Holds, tr("uses its context")};
    if (!report.gain.hasInterval() || report.gain.high > 0.0)
        return {Kind::Undecided, tr("undecided")};
    return {Kind::Fails, tr("no gain")};
}

std::vector<LabNote> notesOf(const PositionsReport& report)
{
    std::vector<LabNote> notes;
    for (const PositionsSeries& series : report.series) {
        const LabVerdict verdict = behavesVerdict(series);
        QString text =
            tr("%1: last bin less first half %2 nats: %3 (the line is %4)")
                .arg(QString::fromStdString(series.name()), signedText(series.rise()), verdict.word)
                .arg(kBehavesNats);
        if (verdict.kind == Kind::Undecided)
            text += tr(". Too few positions, or an interval across the line");
        notes.push_back({noteKindOf(verdict.kind), text});
    }
    const auto isBeyond = [](const PositionBin& bin) { return bin.isBeyondTrained; };
    for (const PositionsSeries& series : report.series)
        if (const auto first = std::find_if(series.bins.begin(), series.bins.end(), isBeyond);
            first != series.bins.end()) {
            notes.push_back(
                {LabNote::Kind::Plain,
                 tr("Beyond the trained length from position %1.").arg(countText(first->first))});
            break; // one text and one model: the same for both schemes
        }
    return notes;
}

std::vector<LabNote> notesOf(const LatencyReport& report)
{
    std::vector<LabNote> notes;
    addDisturbed(notes, report);
    addUntold(notes, report);
    return notes;
}

std::vector<LabNote> notesOf(const UseReport& report)
{
    if (!report.firstSegmentAgrees())
        return {{LabNote::Kind::Bad, tr("The check failed: segment 0 differs, though both are one "
                                        "computation. Do not trust the rest")}};
    const LabVerdict verdict = usesVerdict(report);
    QString text =
        tr("The whole text lowers the loss by %1 nats").arg(signedText(report.gain.mean));
    text += report.gain.hasInterval()
                ? tr(" [%1, %2]").arg(signedText(report.gain.low), signedText(report.gain.high))
                : tr(" (no interval)");
    return {
        {LabNote::Kind::Good, tr("Check: segment 0 differs by exactly 0")},
        {noteKindOf(verdict.kind), text + QStringLiteral(": ") + verdict.word},
        {LabNote::Kind::Plain,
         tr("The interval is over %1 segments, whose tokens are no independent draws.")
             .arg(report.gain.count)},
    };
}

QString signedText(double value, int decimals)
{
    return (value < 0 ? QStringLiteral("\u2212") : QStringLiteral("+")) +
           QString::number(std::abs(value), 'f', decimals);
}

QString intervalHint(const SampleMean& mean, bool isSigned)
{
    const QString count = countText(mean.count);
    if (!mean.hasInterval())
        return tr("no interval, of %1 positions").arg(count);
    const auto text = [isSigned](double value) {
        return isSigned ? signedText(value) : QString::number(value, 'f', 3);
    };
    return tr("95 %: %1 to %2, of %3 positions").arg(text(mean.low), text(mean.high), count);
}

} // namespace kvscope
