#pragma once

#include "engine/generate/chat_prompt.h"
#include "engine/generate/generator.h"
#include "engine/lab/sweep_prompt.h"
#include "engine/lab/sweep_report.h"
#include "engine/lab/sweep_task.h"

#include <array>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

struct CellKey;
class SweepPlan;
class SweepRunner;

/// Tokens and templates of the model that a sweep asks.
struct SweepModel
{
    Decoder& decoder;           ///< outlives the sweep
    const Tokenizer& tokenizer; ///< outlives the sweep
    ChatPrompter prompter;      ///< sweepPrompter()
    std::vector<TokenId> endTokens;
};

/// The prompter that a request asks for: the model's chat template, or plain text.
/// \param tokenizer  outlives it
ChatPrompter sweepPrompter(const Tokenizer& tokenizer, const TokenizerSource& source,
                           const SweepRequest& request);

/// What a trial tells while it runs; every member may be empty. Called on the running thread, from
/// where Sweep::report() and Sweep::context() may be called.
struct SweepObserver
{
    std::function<void(const SweepTrial&)> started;        ///< its prompt is made, its answer empty
    std::function<void(const PrefillProgress&)> prefilled; ///< after each chunk
    std::function<void(const TokenRecord&)> generated;
    std::function<void()> stepped; ///< after every chunk and decode step: the cache changed
};

/// A sweep over lengths and depths with its controls, one trial at a time, so that a caller can
/// pause between trials.
///
/// First the oracle (each item alone in a short prompt), then the controls of all lengths (an item
/// that is answered without its statement is replaced by a spare one, where there is one), then the
/// map, shorter lengths first, then further rounds where a cell is undecided. Which trial comes
/// next follows from the trials that are done, so a sweep that is restored goes on as if it had
/// never stopped. Owned by one thread; not thread-safe.
class Sweep
{
public:
    /// Looks through every question for its answer, and marks the lengths that cannot be run. With
    /// many items, or lengths in words, that takes seconds: `stop` is looked at before every text
    /// that is encoded.
    /// \throws ArgumentError where a question holds its answer (unless the task leaks knowingly);
    /// Stopped
    Sweep(SweepModel model, std::unique_ptr<const SweepTask> task, SweepRequest request,
          const std::stop_token& stop = {});
    ~Sweep();
    Sweep(const Sweep&) = delete;
    Sweep& operator=(const Sweep&) = delete;

    /// RunHeader::settings, with SweepTask::experiment() as RunHeader::experiment.
    RecordJson settings() const;
    /// Takes the trials of a record of this sweep (RunRecord::earlierEvents()); other events are
    /// passed over. A length that was run to its end is in the map whatever memory is free now; of
    /// one that was not, and does not fit now, the trials wait in the record.
    /// \throws ArgumentError for a trial that is damaged or not of this sweep
    void restore(const std::vector<RecordJson>& events);
    /// \throws ArgumentError where trials are left and no length can be run, saying why
    void requireRunnable() const;

    /// What is known: before the first trial the plan. Takes time linear in the trials.
    SweepReport report() const;
    /// Whether every trial is done.
    bool isDone() const;

    /// Runs the next trial; nothing where all are done. The trial counts from when this returns;
    /// append trialJson() of it to the record, kind kSweepTrialKind.
    /// \throws Stopped (the trial is forgotten), MemoryError, ArgumentError where no filler without
    /// the answer is found, or as requireRunnable()
    std::optional<SweepTrial> runNext(const SweepObserver& observer, std::stop_token stop);

    /// The exact prompt of a trial, made anew. \throws ArgumentError where it is not of this sweep
    std::string promptText(const SweepTrial& trial) const;
    /// Where trials run: for snapshots of the cache. Changes with every trial.
    const Context& context() const;

private:
    std::string skipReason(std::int64_t length, const std::stop_token& stop) const;
    std::string reasonAgainstWords(std::int64_t length, std::int64_t words,
                                   const std::stop_token& stop) const;
    std::int64_t fewestTokens(std::int64_t length, const std::stop_token& stop) const;
    double sharedPart(const CellKey& cell) const;
    std::string conditions() const;
    bool isWhole(std::size_t length) const;
    void requireOwn(const SweepTrial& trial) const;
    void replan();
    static SweepTrial unanswered(const SweepPrompt& prompt);
    SweepTrial answered(const SweepPrompt& prompt, const SweepObserver& observer,
                        const std::stop_token& stop);

    Decoder& m_decoder;
    SweepRequest m_request;
    std::unique_ptr<const SweepTask> m_task;
    std::string m_tokenizerText;
    std::unique_ptr<const SweepPrompter> m_prompter;
    std::unique_ptr<SweepRunner> m_runner;
    std::vector<std::string> m_skipReasons; ///< by length; empty: it is run
    std::vector<SweepTrial> m_trials;
    std::unique_ptr<const SweepPlan> m_plan; ///< made anew with every trial
    std::optional<SweepSpot> m_running;
    std::optional<SweepPrompt> m_ahead; ///< the next trial's, made to know what it shares
};

inline constexpr std::string_view kSweepTrialKind = "trial";
/// As records and JSON spell AnswerKind, in its order.
inline constexpr std::array<const char*, kNumAnswerKinds> kAnswerKindNames{
    "found", "bare_wrong", "restated_wrong", "no_number", "empty"};

/// A trial as a line of a record.
RecordJson trialJson(const SweepTrial& trial);
/// \throws ArgumentError naming what is missing or wrong
SweepTrial trialFrom(const RecordJson& json);

} // namespace kvscope
