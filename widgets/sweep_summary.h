#pragma once

#include "engine/lab/sweep_report.h"
#include "widgets/sweep_map_layout.h"

#include <QString>

#include <vector>

namespace kvscope {

/// A line of what is written below a sweep's map: a title, or a finding with its value; and what
/// is to be said with it.
struct SweepSummaryRow
{
    QString name;
    QString value; ///< none in a title
    QString note;  ///< may be empty
    bool isTitle = false;
};

/// Ends against middle, then the effective lengths.
std::vector<SweepSummaryRow> sweepSummary(const SweepReport& report);

/// How much room they take in the current fonts.
std::vector<SummaryRowWidths> summaryWidths(const std::vector<SweepSummaryRow>& rows);

} // namespace kvscope
