#pragma once

#include "app/cli/cli_context.h"

namespace kvscope {

/// What `inspect` says of a published shape, which has no file: the same keys and lines as of a
/// checkpoint, but for what only a file has.
/// \throws ArgumentError naming the presets where there is none of that name
void inspectPreset(const CommonOptions& options, const CliContext& context);

} // namespace kvscope
