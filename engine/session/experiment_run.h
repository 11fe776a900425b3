#pragma once

#include "engine/session/experiment_context.h"
#include "engine/session/lab_event.h"

#include <functional>
#include <optional>
#include <string>

namespace kvscope {

/// Runs the experiment of the context's request to its end, telling its parts.
/// \returns the report for ExperimentFinished
/// \throws EngineError, Stopped
ExperimentReport runExperiment(ExperimentContext& context);

// One function a kind; runExperiment() chooses.
ExperimentReport runLimits(ExperimentContext& context, const LimitsExperiment& experiment);
ExperimentReport runPositions(ExperimentContext& context, const PositionsExperiment& experiment);
ExperimentReport runLatency(ExperimentContext& context, const LatencyExperiment& experiment);
ExperimentReport runUse(ExperimentContext& context, const UseExperiment& experiment);
ExperimentReport runSweep(ExperimentContext& context, const SweepSettings& settings);
ExperimentReport runCard(ExperimentContext& context, const CardExperiment& experiment);

/// What a card measures, a row a part in the order of CardPart, with tokens and estimated times.
/// \throws ArgumentError for a number that is not positive
std::vector<PlanRow> cardRows(const OpenModel& model, const CardExperiment& experiment);

/// The empty map of a sweep on the open model, with what cannot be run.
/// \throws EngineError as Sweep
SweepReport plannedSweep(const OpenModel& model, const SweepRequest& request,
                         const std::stop_token& stop);

/// Told before each trial: the share of the search that is done, and the trial.
using SearchObserver = std::function<void(double share, const std::string& trial)>;

/// The needle search of a card.
/// \throws ArgumentError where it cannot be made, as Sweep; MemoryError, Stopped
SweepReport searchNeedles(ExperimentContext& context, const SweepRequest& request,
                          const SearchObserver& told);

/// A trial's prompt, made again. \throws EngineError as Sweep
TrialPrompt promptOfTrial(const OpenModel& model, const SweepRequest& request,
                          const SweepTrial& trial, const std::stop_token& stop);

/// Bytes for weights and cache together: as asked for, else the weights, which are in memory
/// already, and what is free now. \param budgetGib  0: not asked for
std::uint64_t memoryBudget(const OpenModel& model, double budgetGib);

/// The report of LimitsExperiment on the open model; also its plan, as it costs nothing.
LimitsReport limitsOf(const OpenModel& model, const LimitsExperiment& experiment);

/// Another decoder of the open model's file, with device, numbers, cache and rotation as `opened`
/// has them. Weights that are used where they lie in the file are not held twice.
/// \throws ArgumentError for a rotation that this model cannot have; MemoryError, Stopped
std::unique_ptr<Decoder> anotherDecoder(const OpenModel& model, const OpenRequest& opened,
                                        std::stop_token stop);

/// An empty cache of the open model, of another kind where cacheDtype names one ("int8").
MixedKVCache cacheFor(const OpenModel& model, const std::string& cacheDtype);

} // namespace kvscope
