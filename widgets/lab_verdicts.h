#pragma once

#include "engine/lab/latency_report.h"
#include "engine/lab/positions_report.h"
#include "engine/lab/use_report.h"
#include "widgets/lab_notes.h"

#include <QString>

#include <vector>

// What reports say of themselves, in the same words as the command line says it: claims that hold,
// fail or are undecided, and what is to be minded about the numbers.

namespace kvscope {

/// How a claim came out.
struct LabVerdict
{
    enum class Kind { Holds, Undecided, Fails } kind = Kind::Undecided;
    QString word; ///< "behaves", "undecided", "does not behave"

    /// The word behind its glyph: "✓ behaves", "? undecided", "✕ does not behave".
    QString text() const;
};

/// Claim two of the card, of one rotary scheme.
LabVerdict behavesVerdict(const PositionsSeries& series);
/// Claim five as far as loss shows it. A failed check counts for nothing else.
LabVerdict usesVerdict(const UseReport& report);

/// The verdict of each scheme, and what lies beyond the trained length.
std::vector<LabNote> notesOf(const PositionsReport& report);
/// What was measured under other load, what lies beyond the trained length, what could not be told.
std::vector<LabNote> notesOf(const LatencyReport& report);
/// The check, and the verdict.
std::vector<LabNote> notesOf(const UseReport& report);

/// "+0.300", with a true minus.
QString signedText(double value, int decimals = 3);
/// "95 %: 2.960 to 3.040, of 64 positions", or that there is no interval.
QString intervalHint(const SampleMean& mean, bool isSigned);

} // namespace kvscope
