#pragma once

#include "app/cli/lab_options.h"
#include "app/cli/sweep_run.h"
#include "engine/lab/report_run.h"

#include <memory>
#include <optional>
#include <string>

namespace kvscope {

/// What `report` measures, the needle search and its record included.
class CardMeasurement
{
public:
    /// Opens the weights and the record: one of another run is refused before anything is measured.
    /// \param common, options, context  outlive this
    /// \param recorded  header of the records that stand for other parts; null: there are none
    /// \throws EngineError, also where those records were made in other numbers
    CardMeasurement(const CommonOptions& common, const CardRunOptions& options,
                    const RecordOptions& record,
                    const std::shared_ptr<const Checkpoint>& checkpoint,
                    const CardEvidence& evidence, const RecordJson& recorded,
                    const CliContext& context);

    /// Measures the parts that `evidence` does not have. What refuses is noted in it, and said.
    /// \throws Stopped
    void measure(CardEvidence& evidence);
    /// Closes the record. Print the card before, so that a full disk cannot take it away.
    /// \returns what failed, the search or its record; empty: nothing
    std::string close();

private:
    void openSearch(const RecordOptions& record, std::int64_t tokens);
    void search(CardEvidence& evidence);

    const CommonOptions& m_common;
    const CardRunOptions& m_options;
    const CliContext& m_context;
    std::shared_ptr<const Checkpoint> m_checkpoint;
    std::unique_ptr<Decoder> m_decoder;
    std::unique_ptr<const Tokenizer> m_tokenizer; ///< null: none that can be used
    std::unique_ptr<Sweep> m_sweep;
    std::optional<SweepRun> m_run;
    std::string m_refusal; ///< of the search, before it began
    std::string m_failure; ///< of the search
};

} // namespace kvscope
