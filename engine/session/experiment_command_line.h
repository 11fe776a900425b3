#pragma once

#include "engine/session/experiment_request.h"
#include "engine/session/session.h"

#include <string>
#include <vector>

namespace kvscope {

/// The kvscope-cli command that does the same on the same model, record included; options that
/// have their usual value are left out. Words with more than plain characters are quoted for a
/// POSIX shell.
std::string experimentCommandLine(const OpenRequest& opened, const ExperimentRequest& request);

/// The rotations that are run, as a record's settings name them: "" is the file's own.
std::vector<std::string> rotariesOf(const OpenRequest& opened,
                                    const PositionsExperiment& experiment);

/// "a b" as 'a b'; plain words as they are.
std::string shellWord(const std::string& word);

} // namespace kvscope
