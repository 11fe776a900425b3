#pragma once

#include "engine/lab/report_card_report.h"
#include "widgets/snapshot_table.h"

namespace kvscope {

/// A row a claim: claim, verdict, number, conditions, notes.
SnapshotTable reportCardTable(const ReportCard& card);

} // namespace kvscope
