#pragma once

#include "engine/lab/report_card.h"
#include "engine/lab/run_record.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kvscope {

/// Takes parts of a card out of finished run records, instead of measuring them: `positions`,
/// `latency`, `use`, `peak-memory` and `needle`. Adds facts that name their numbers, their
/// device and the runs.
/// \throws ArgumentError naming the file, where it is of another model, another experiment, did not
/// reach its end, repeats a part, or was made in other numbers than the first of them
/// \returns the first record's header; null where there are none
RecordJson takeRecords(CardEvidence& evidence, const std::vector<std::filesystem::path>& files,
                       const std::string& modelHash);

/// What a card shows of a finished record, by itself: of `positions`, `latency`, `use`,
/// `peak-memory` or `needle`.
/// \throws ArgumentError where it is of another experiment, or did not reach its end
std::vector<CardPlot> recordPlots(const RunRecordContent& record);

/// That what a record holds may stand beside what a run measures.
/// \param run  fields that are empty are not known, and not compared
/// \throws ArgumentError naming what differs: device, compute, cache_dtype or rope
void requireSameNumbers(const RecordJson& header, const RunHeader& run);

} // namespace kvscope
