#pragma once

#include "engine/lab/positions_scheme.h"
#include "engine/session/experiment_request.h"
#include "engine/session/session.h"

#include <string>
#include <vector>

namespace kvscope {

/// The kvscope-cli command that does the same on the same model, record included; options that
/// have their usual value are left out. Words with more than plain characters are quoted for a
/// POSIX shell.
std::string experimentCommandLine(const OpenRequest& opened, const ExperimentRequest& request);

/// What is run: the rotations as a record's settings name them ("" is the file's own), and the
/// caches where two are compared. \throws ArgumentError as positionsSchemes()
std::vector<PositionsScheme> schemesOf(const OpenRequest& opened,
                                       const PositionsExperiment& experiment);

/// "a b" as 'a b'; plain words as they are.
std::string shellWord(const std::string& word);

} // namespace kvscope
