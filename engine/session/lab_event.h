#pragma once

#include "engine/lab/latency_report.h"
#include "engine/lab/limits_report.h"
#include "engine/lab/positions_report.h"
#include "engine/lab/report_card_report.h"
#include "engine/lab/sweep_report.h"
#include "engine/lab/use_report.h"
#include "engine/session/experiment_request.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <variant>
#include <vector>

namespace kvscope {

/// One line of a plan: a length, or a rotary scheme.
struct PlanRow
{
    std::string label;       ///< "4,096"; of positions the rotation
    std::int64_t tokens = 0; ///< to be run, all trials together
    double seconds = 0.0;    ///< estimated; 0: not known
    bool isBeyondTrained = false;
    std::string skipReason; ///< with its numbers; empty: it is run
};

/// What a run would do, known before it starts.
struct ExperimentPlan
{
    std::vector<PlanRow> rows;
    std::int64_t tokens = 0; ///< of the rows that are run
    double seconds = 0.0;    ///< of the rows that are run, estimated; 0: not known
    std::string basis;       ///< of the estimate: "by 6 timed prefills"; why there is none
    std::string refusal;     ///< why it cannot be run at all, one sentence; empty where it can
    std::vector<std::string> notes;           ///< one sentence each
    std::shared_ptr<const SweepReport> sweep; ///< of a sweep: its empty map
    std::string commandLine;                  ///< the same run with kvscope-cli
};

/// The plan asked for.
struct ExperimentPlanned
{
    ExperimentRequest request;
    ExperimentPlan plan;
};
struct ExperimentStarted
{
    ExperimentRequest request;
    std::string commandLine;
    std::vector<std::string> notes; ///< "goes on behind 31 recorded trials"
};
struct ExperimentProgress
{
    double share = 0.0;       ///< 0 to 1, by time where that is known, else by tokens
    double secondsGone = 0.0; ///< without pauses
    double secondsLeft = 0.0; ///< estimated; 0: not known
    std::string what;         ///< "dynamic x2: 4,096 of 8,192 tokens"
};
struct ExperimentPaused
{
    enum class Reason {
        Asked,
        Chat,   ///< a message is answered; it goes on by itself
        Record, ///< the record cannot be written; resuming tries again
    } reason = Reason::Asked;
    std::string message; ///< where the reason is Record
};
struct ExperimentResumed
{
};

/// A scheme of positions begins.
struct PositionsBegun
{
    std::size_t series = 0;             ///< 0, 1
    std::int64_t tokens = 0;            ///< of the text
    std::string name;                   ///< as PositionsSeries::name()
    std::int64_t trainedPositions = 0;  ///< 0: the file does not say
    std::int64_t extendedPositions = 0; ///< 0: the file does not say
    std::int64_t window = 0;            ///< of the windowed layers, the longest; 0: none has one
};
/// Losses of a chunk.
struct PositionsScored
{
    std::size_t series = 0;
    ScoredPositions scored;
};
/// A trial is done, and what the sweep knows with it.
struct SweepTrialDone
{
    std::shared_ptr<const SweepReport> report; ///< its last trial is the one done
};

/// A trial's prompt, made anew when asked for: records keep what decides it, not its text.
struct TrialPrompt
{
    /// A stretch of the text in bytes: [begin, end).
    struct Range
    {
        std::size_t begin = 0;
        std::size_t end = 0;
    };

    SweepTrial trial;
    std::string text;                       ///< UTF-8, template included
    std::vector<Range> statements;          ///< what is asked for; none in a control
    Range question;                         ///< empty: not found in the text
    std::vector<std::string> controlTokens; ///< texts that the template writes: "<|im_start|>"
    std::string missing; ///< why there is none, one sentence; empty where there is
};

using ExperimentReport =
    std::variant<std::shared_ptr<const LimitsReport>, std::shared_ptr<const PositionsReport>,
                 std::shared_ptr<const LatencyReport>, std::shared_ptr<const UseReport>,
                 std::shared_ptr<const SweepReport>, std::shared_ptr<const ReportCard>>;

/// It ran to its end.
struct ExperimentFinished
{
    ExperimentReport report;
    double seconds = 0.0; ///< without pauses
};
/// It was given up; what had landed stands, and is in the record.
struct ExperimentCancelled
{
};
/// It ended by a failure; what had landed stands, and is in the record.
struct ExperimentFailed
{
    std::string message; ///< one sentence
    std::string detail;
};

using LabNews = std::variant<ExperimentPlanned, ExperimentStarted, ExperimentProgress,
                             ExperimentPaused, ExperimentResumed, PositionsBegun, PositionsScored,
                             FirstTokenRow, DecodeStepRow, UseSegment, SweepTrialDone, TrialPrompt,
                             ExperimentFinished, ExperimentCancelled, ExperimentFailed>;

/// What an experiment says, in order and never lost: Started first (Planned alone for a plan),
/// then parts and progress, and one of Finished, Cancelled and Failed last. Cancelled and Failed
/// may come alone.
struct LabEvent
{
    std::uint64_t experiment = 0; ///< as Session::runExperiment() or planExperiment() gave it
    LabNews what;
};

} // namespace kvscope
