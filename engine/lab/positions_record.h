#pragma once

#include "engine/lab/positions_report.h"
#include "engine/lab/run_record.h"

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// The kind of a record's line that holds some losses in a row.
inline constexpr std::string_view kPositionsKind = "chunk";
/// Such a line. \param series  0, 1 \param frame  what it is measured under
RecordJson scoredJson(std::size_t series, const PositionsSeries& frame,
                      const ScoredPositions& part);
/// The losses of one scheme that a resumed record holds; nothing where some are missing.
std::optional<std::vector<double>> recordedLosses(const RunRecord& record, std::size_t series,
                                                  std::size_t numPositions);

/// What the chunks of recordedLosses() took together; 0 where the record does not say of each.
double recordedSeconds(const RunRecord& record, std::size_t series);

} // namespace kvscope
