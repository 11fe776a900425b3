#pragma once

#include "engine/lab/report_card_report.h"
#include "engine/lab/run_record.h"

#include <filesystem>

namespace kvscope {

inline constexpr std::string_view kReportCardSchema = "kvscope-card";
inline constexpr int kReportCardVersion = 1;

/// A card as one JSON object: `line` "card", `schema`, `version`, then everything the card shows.
RecordJson cardJson(const ReportCard& card);

/// The card of such an object.
/// \throws ArgumentError in one line for another kind or version, for anything missing, of another
/// type, out of range or not finite, and for more claims, plots, points or text than a card has
ReportCard cardFrom(const RecordJson& json);

/// Reads an object from a file of at most 16 MiB, UTF-8 and at most 32 levels deep.
/// \throws ArgumentError, CheckpointError
RecordJson readCardFile(const std::filesystem::path& path);

} // namespace kvscope
