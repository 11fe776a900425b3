#pragma once

#include "engine/lab/report_card.h"

#include <filesystem>
#include <string>
#include <vector>

namespace kvscope {

/// Takes parts of a card out of finished run records, instead of measuring them: `positions`,
/// `latency`, `use`, `peak-memory` and `needle`. Adds facts that name their numbers, their
/// device and the runs.
/// \throws ArgumentError naming the file, where it is of another model, another experiment, did not
/// reach its end, repeats a part, or was made in other numbers than the first of them
void takeRecords(CardEvidence& evidence, const std::vector<std::filesystem::path>& files,
                 const std::string& modelHash);

} // namespace kvscope
