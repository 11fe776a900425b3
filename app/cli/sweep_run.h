#pragma once

#include "app/cli/lab_options.h"
#include "engine/session/sweep_subject.h"

#include <cstdint>
#include <optional>

// Sweeps as the commands run them: needle and passkey, and report for its card.

namespace kvscope {

/// A sweep with its record, telling on standard error what goes on.
class SweepRun
{
public:
    /// Opens the record, where one is asked for, and takes its trials.
    /// \param sweep, context  outlive this
    /// \throws ArgumentError where the record is of another run, by name, or as
    /// Sweep::requireRunnable()
    SweepRun(Sweep& sweep, const SweepSubject& subject, const RecordOptions& record,
             const CommonOptions& common, const CliContext& context);

    /// Runs what is left, each trial recorded as it ends. \param limitTrials  0: all
    /// \throws Stopped; EngineError where the record cannot be written
    SweepReport run(std::int64_t limitTrials);
    /// Writes the record's closing line, where every trial is done. Print the result before.
    /// \throws EngineError as closeRecord()
    void close();

private:
    Sweep& m_sweep;
    const CliContext& m_context;
    std::optional<RunRecord> m_record;
    bool m_isWhole = false;
};

} // namespace kvscope
