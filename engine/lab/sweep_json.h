#pragma once

#include "engine/lab/run_record.h"
#include "engine/lab/sweep_report.h"

namespace kvscope {

enum class Trials { Kept, LeftOut };
/// All of a sweep's result: what `--json` prints, and, without the trials that its lines hold
/// already, the closing line of its record. A passkey sweep's has its `headline`.
RecordJson sweepJson(const SweepReport& report, Trials trials);

/// The reference's line for its headline: accuracy at the largest length.
/// Source: GPT-OSS-Lite scripts/passkey_eval.py.
inline constexpr double kPasskeyHeadline = 0.85;
/// The longest length that was run at every depth; null where none was.
const SweepColumn* longestColumn(const SweepReport& report);

} // namespace kvscope
