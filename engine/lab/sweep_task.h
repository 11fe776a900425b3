#pragma once

#include "engine/lab/run_record.h"
#include "engine/lab/sweep_report.h"
#include "engine/lab/sweep_request.h"

#include <compare>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// Which trial: everything that decides its prompt. Trials of equal spots are the same trial.
struct SweepSpot
{
    TrialRole role = TrialRole::Asked;
    std::int64_t tokens = 0; ///< the length asked for; 0 for an oracle
    double depth = 0.0;      ///< per cent; 0 for a control or an oracle
    std::int64_t item = 0;
    std::int64_t round = 0; ///< which filler

    auto operator<=>(const SweepSpot&) const = default;
};

SweepSpot spotOf(const SweepTrial& trial);

/// What is asked for.
struct SweepItem
{
    std::string name;                    ///< "ferry", or the key itself
    std::vector<std::string> statements; ///< sentences that hold the answer
    std::vector<std::string> answers;    ///< numbers, all of which are wanted
    std::string expected;                ///< the right answer as text: "58 and 264"
};

/// A message to the model: context with the statements in it, then the question.
struct SweepMessage
{
    std::string filler;     ///< the context without the statements
    std::string context;    ///< with them
    std::string question;   ///< what follows the context, separator included
    std::int64_t words = 0; ///< of the filler
};

/// How an answer is judged.
struct SweepJudgement
{
    AnswerKind kind = AnswerKind::Empty;
    bool isLoose = false; ///< a plain substring search would have counted it
};

/// A kind of test: makes messages of any length and judges answers. Holds no model. Immutable.
class SweepTask
{
public:
    virtual ~SweepTask() = default;

    /// "needle", "needle-pairs", "passkey".
    virtual std::string experiment() const = 0;
    /// One line of how its messages are made: the filler, the protocol.
    virtual std::string description() const = 0;
    /// All items there are, spares included; the first SweepRequest::numItems are used first.
    virtual std::int64_t numItems() const = 0;
    /// \param tokens  items may differ by length (keys do)
    virtual SweepItem item(std::int64_t index, std::int64_t tokens) const = 0;
    /// The message with `fillerWords` words of filler (fewer where there are no more).
    /// \param attempt  0; where the filler is not wanted 1, 2, ... give others, if there are others
    virtual SweepMessage message(const SweepSpot& spot, std::int64_t fillerWords,
                                 std::int64_t attempt) const = 0;
    /// Words of filler at a length where they do not follow from the tokenizer.
    virtual std::optional<std::int64_t> fixedWords(std::int64_t /*tokens*/) const { return {}; }
    /// Most words that message() can give.
    virtual std::int64_t mostWords() const = 0;
    virtual SweepJudgement judge(const SweepItem& item, std::string_view answer) const = 0;
    /// Which part of a prompt, 0 to 1, one item's trial has in common with another's of its cell.
    virtual double sharedPart(TrialRole /*role*/, double /*depth*/) const { return 0.0; }
    /// Whether the question states the answer, knowingly.
    virtual bool isLeaking() const { return false; }
    /// What of it decides the trials, for a record's settings.
    virtual RecordJson settings() const = 0;
};

/// The task a request asks for; reads its files.
/// \throws ArgumentError for a request that cannot be (no length or one below 1, a depth outside 0
/// to 100, fewer items than asked for), or a text that cannot be read; CheckpointError for facts
std::unique_ptr<const SweepTask> makeSweepTask(const SweepRequest& request);

} // namespace kvscope
