#pragma once

#include "engine/lab/sweep_report.h"

#include <QString>

#include <cstddef>
#include <vector>

// Words and look-ups that every view of a sweep shares.

namespace kvscope {

/// Which cell of a sweep is meant: a length and a depth, a length's control, or the oracle.
struct SweepCellKey
{
    TrialRole role = TrialRole::Asked;
    std::size_t column = 0; ///< of SweepReport::columns; 0 for the oracle
    std::size_t depth = 0;  ///< of SweepReport::depths; 0 for control and oracle

    bool operator==(const SweepCellKey&) const = default;
};

/// The cell, or null where the report has none there.
const SweepCell* cellOf(const SweepReport& report, const SweepCellKey& key);
/// Every cell that a report has: by depth and length, then the controls, then the oracle.
std::vector<SweepCellKey> allCells(const SweepReport& report);
/// The column of a cell, or null: the oracle has none.
const SweepColumn* columnOf(const SweepReport& report, const SweepCellKey& key);

/// How many of the columns, from the left, lie within the trained positions.
std::size_t numTrainedColumns(const SweepReport& report);

/// "4,096 at 50 %", "control at 4,096", "oracle".
QString cellName(const SweepReport& report, const SweepCellKey& key);
/// "needle", "two needles", "passkey" as a title; the report's own word where it is another.
QString experimentTitle(const SweepReport& report);

/// "4/12".
QString scoreText(const Proportion& score);
/// An interval of shares: ".65–.99", "0–.24", ".86–1".
QString intervalText(const Interval& interval);
/// A share as an axis says it: "85.6", "50".
QString percentText(double share);
/// "0 %", "12.5 %".
QString depthText(double depth);
/// Two digits: "0.031", "2.5 × 10⁻¹³"; never "0".
QString probabilityText(double p);

/// ▲ wholly above the line, ▼ wholly below, ? undecided.
QString verdictGlyph(PassVerdict verdict);
/// "above", "below", "undecided".
QString verdictWord(PassVerdict verdict);

/// "found", "bare wrong", "restated", "no number", "empty".
QString kindName(AnswerKind kind);
/// The same with its glyph: "✓ found", "✕ bare wrong".
QString kindText(AnswerKind kind);

/// What a rule says of the effective length: the finding, and what bounds it.
struct EffectiveLengthWords
{
    QString finding; ///< "▲ 4,096", "? undecided at 1,024", "▼ not met at 1,024"
    QString bound;   ///< "▼ not met at 7,680", "no measured length fails"; may be empty
};
EffectiveLengthWords effectiveLengthWords(const EffectiveLength& length);

/// "queued", "running", "done", "cannot fit".
QString stateName(CellState state);

} // namespace kvscope
