#pragma once

#include "engine/lab/effective_length_report.h"
#include "engine/lab/proportion_report.h"

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// A sweep asks a model for something that lies in a prompt, by the prompt's length and the depth
// at which it lies: the needle and passkey experiments. Values, for the window and for records.

namespace kvscope {

/// What a trial stands for.
enum class TrialRole {
    Asked,   ///< what is asked for lies in the filler, at a depth
    Control, ///< the same question without it: what guessing scores
    Oracle,  ///< it alone in a short prompt: the most that any length could score
};

/// How an answer came out. Source: long-context chapter, claim five (copying failures are not
/// retrieval failures).
enum class AnswerKind {
    Found,         ///< states the expected number
    BareWrong,     ///< another number and nothing else
    RestatedWrong, ///< a sentence with another number
    NoNumber,      ///< words alone
    Empty,         ///< nothing but white space
};
inline constexpr std::size_t kNumAnswerKinds = 5;

/// One token of the right answer, given the prompt and the answer's tokens before it.
struct AnswerToken
{
    std::string piece;
    double nll = 0.0; ///< nats
};

/// One question asked of one prompt.
struct SweepTrial
{
    TrialRole role = TrialRole::Asked;
    std::int64_t tokens = 0; ///< the length asked for; 0 for an oracle
    double depth = 0.0;      ///< per cent; 0 where nothing is placed
    std::int64_t item = 0;   ///< which fact or key
    std::int64_t round = 0;  ///< which filler: 0, then 1, ... for further trials
    std::string itemName;    ///< "ferry", or the key itself
    std::string expected;    ///< "58"; two facts: "58 and 264"
    std::string answer;      ///< what the model wrote
    AnswerKind kind = AnswerKind::Empty;
    bool isLoose = false;                   ///< a plain substring search would have counted it
    std::vector<AnswerToken> answerTokens;  ///< of the right answer
    std::int64_t promptTokens = 0;          ///< template included
    std::int64_t promptWords = 0;           ///< of the filler; passkey's own measure
    std::vector<std::int64_t> needleTokens; ///< position of each statement's first token
    std::int64_t reusedTokens = 0;          ///< of the prompt, prefilled for an earlier trial
    double prefillSeconds = 0.0;
    double seconds = 0.0;     ///< all of it
    bool isDisturbed = false; ///< by other load: its times are left out of estimates

    bool isCorrect() const { return kind == AnswerKind::Found; }
};

enum class CellState { Queued, Running, Done, CannotFit };

/// The trials of one length and depth, of one length's control, or of the oracle.
struct SweepCell
{
    CellState state = CellState::Queued;
    Proportion score;
    Interval interval{0.0, 1.0};                  ///< Wilson, 95 %
    PassVerdict verdict = PassVerdict::Undecided; ///< against the absolute line
    std::int64_t plannedTrials = 0;
    std::array<std::int64_t, kNumAnswerKinds> kinds{}; ///< by AnswerKind
    double meanAnswerNll = 0.0;      ///< nats a token of the right answer; 0 without trials
    std::vector<std::size_t> trials; ///< indices into SweepReport::trials
};

/// One length: a column of the map.
struct SweepColumn
{
    std::int64_t tokens = 0;
    bool isBeyondTrained = false;
    std::string skipReason;       ///< "needs 3.35 GiB, 3.10 GiB are free"; empty: it is run
    std::vector<SweepCell> cells; ///< by depth, as SweepReport::depths
    SweepCell control;
    SweepCell pooled;             ///< all depths
    double secondsPerTrial = 0.0; ///< measured mean, else estimated; 0: not known yet
    /// A depth lacks answers of its first round: the length counts as not measured, since easy
    /// depths alone would speak for it. Its trials are shown, and judged nowhere.
    bool isUnfinished = false;
};

/// Trials and prompt tokens of one kind in the plan.
struct SweepAmount
{
    std::int64_t cells = 0;
    std::int64_t trials = 0;
    std::int64_t tokens = 0;
};

/// How far a sweep is, by time.
struct SweepProgress
{
    SweepAmount done;
    SweepAmount running; ///< the cell at work; its trials that are done count here
    SweepAmount queued;
    SweepAmount cannotFit;
    double secondsGone = 0.0;      ///< of running, those before a resume included
    double secondsLeft = 0.0;      ///< estimated; 0: not known yet
    std::int64_t reusedTokens = 0; ///< of all prompts' tokens, not prefilled again
    std::int64_t promptTokens = 0; ///< of all prompts
    std::int64_t numDisturbed = 0;
};

/// The ends of the prompt against its middle, over the trained lengths that were run at every
/// depth.
struct EndsAgainstMiddle
{
    Proportion ends;      ///< depths 0 and 100
    Proportion middle;    ///< those between
    double p = 1.0;       ///< fisherExact() of the two
    Proportion beginning; ///< depth 0: pooled, a beginning that is lost hides behind the end
    Proportion end;       ///< depth 100
};

/// One fact or key over all lengths and depths.
struct SweepItemScore
{
    std::string name;
    Proportion asked;
    bool foundByControl = false; ///< the control answered it too, so it says nothing
    bool foundByOracle = false;
};

/// What a sweep knows so far.
struct SweepReport
{
    std::string experiment;     ///< "needle", "needle-pairs", "passkey"
    std::string conditions;     ///< one line: filler, template, answer room, seed
    bool isLeaking = false;     ///< the answer is in the question: marked wherever it is shown
    std::vector<double> depths; ///< per cent, rising
    std::vector<SweepColumn> columns; ///< by length, rising
    SweepCell oracle;
    std::int64_t oracleTokens = 0;  ///< mean length of its prompts
    std::vector<SweepCell> byDepth; ///< trained lengths pooled
    EndsAgainstMiddle endsAgainstMiddle;
    EffectiveLength absolute; ///< by kAbsolutePassRate
    EffectiveLength relative; ///< by kRelativePassShare of the oracle's score
    std::vector<SweepItemScore> items;
    std::vector<SweepTrial> trials;    ///< in the order they were run
    std::int64_t numLintedPrompts = 0; ///< prompts looked through for the answer before scoring
    SweepProgress progress;
    std::int64_t trainedPositions = 0; ///< 0: the file does not say
};

} // namespace kvscope
