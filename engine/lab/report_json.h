#pragma once

#include "engine/lab/latency_report.h"
#include "engine/lab/peak_memory_report.h"
#include "engine/lab/positions_report.h"
#include "engine/lab/run_record.h"
#include "engine/lab/sample_mean_report.h"
#include "engine/lab/sweep_report.h"
#include "engine/lab/use_report.h"

// The lab's results as JSON: what commands print, what records end with, and what a card is made
// from again.

namespace kvscope {

/// {"count", "mean", "standard_error", "low", "high"}
RecordJson meanJson(const SampleMean& mean);

/// Whether the nll of every position is part of it.
enum class Losses { Kept, LeftOut };

RecordJson positionsJson(const PositionsReport& report, Losses losses);
RecordJson timedRunJson(const TimedRun& run);
RecordJson firstTokenJson(const FirstTokenRow& row);
RecordJson decodeStepJson(const DecodeStepRow& row);
RecordJson latencyJson(const LatencyReport& report);
RecordJson useSegmentJson(const UseSegment& segment);
RecordJson useJson(const UseReport& report);
RecordJson peakRowJson(const PeakRow& row);
RecordJson peakJson(const PeakReport& report);

// The reports again, as far as the JSON holds them; fields that it does not know are passed over.
// Each throws ArgumentError in one line for what is missing, of another type, or not finite.
PositionsReport positionsFrom(const RecordJson& json); ///< without the nll of every position
LatencyReport latencyFrom(const RecordJson& json);
UseReport useFrom(const RecordJson& json);
PeakReport peakFrom(const RecordJson& json);
SweepReport sweepFrom(const RecordJson& json); ///< of a sweep's end; without items and trials

} // namespace kvscope
