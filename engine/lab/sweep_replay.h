#pragma once

#include "engine/lab/run_record.h"
#include "engine/lab/sweep_report.h"

namespace kvscope {

/// The report of a recorded sweep, finished or not, without its model: for the card and for showing
/// it again. Times left are not estimated; lengths that could not be run are known of a finished
/// one alone.
/// \throws ArgumentError where it is no record of a sweep, or a damaged one, naming the field
SweepReport recordedSweep(const RunRecordContent& record);

} // namespace kvscope
