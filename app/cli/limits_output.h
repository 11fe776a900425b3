#pragma once

#include "app/cli/cli_context.h"
#include "engine/lab/limits_report.h"

namespace kvscope {

/// Every figure of the report, bytes and FLOPs unrounded.
Json limitsJson(const LimitsReport& report);

/// The same for people: the shape, the budget, and four tables by length.
void printLimits(std::ostream& out, const LimitsReport& report);

} // namespace kvscope
