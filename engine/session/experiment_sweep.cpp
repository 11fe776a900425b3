#include "engine/base/errors.h"
#include "engine/session/experiment_run.h"

namespace kvscope {

SweepReport plannedSweep(const OpenModel&, const SweepRequest&)
{
    throw ArgumentError("sweeps are not part of this build");
}

TrialPrompt promptOfTrial(const OpenModel&, const SweepRequest&, const SweepTrial&)
{
    throw ArgumentError("sweeps are not part of this build");
}

ExperimentReport runSweep(ExperimentContext&, const SweepSettings&)
{
    throw ArgumentError("sweeps are not part of this build");
}

} // namespace kvscope
