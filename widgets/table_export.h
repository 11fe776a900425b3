#pragma once

#include "widgets/export_menu.h"
#include "widgets/snapshot_table.h"

#include <vector>

namespace kvscope {

/// A table of text as picture, page and CSV: a title, a head line, a row a line. Long cells wrap.
/// \param name  file name without ending  \param rightColumns  those that hold numbers
ExportSource tableExportSource(const QString& name, const QString& title,
                               const SnapshotTable& table, const std::vector<int>& rightColumns,
                               const QString& caption);

} // namespace kvscope
