#pragma once

#include "engine/session/lab_event.h"
#include "engine/session/open_model.h"

namespace kvscope {

/// What a run would do on the open model, without running it: a tokenizer pass over the text at
/// most. What cannot be run is said in the plan, not thrown. Engine thread. \throws Stopped
ExperimentPlan planExperiment(const OpenModel& model, const ExperimentRequest& request,
                              const std::stop_token& stop);

} // namespace kvscope
