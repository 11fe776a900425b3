#include "engine/lab/sweep.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/sweep_plan.h"
#include "engine/lab/sweep_room.h"
#include "engine/lab/sweep_runner.h"
#include "engine/lab/sweep_scores.h"

#include <algorithm>
#include <sstream>

namespace kvscope {
namespace {

template <typename T>
void sortOnce(std::vector<T>& values)
{
    std::sort(values.begin(), values.end());
    values.erase(std::unique(values.begin(), values.end()), values.end());
}

SweepRequest settled(SweepRequest request)
{
    sortOnce(request.lengths);
    sortOnce(request.depths);
    if (request.answerRoom == 0)
        request.answerRoom = usualAnswerRoom(request.experiment, request.protocol);
    request.maxTrials = std::max(request.maxTrials, request.numItems);
    return request;
}

SweepLayout layoutOf(const SweepRequest& request, const SweepTask& task,
                     const std::vector<std::string>& skipReasons)
{
    SweepLayout layout{{}, request.depths, request.numItems, task.numItems(), request.maxTrials};
    for (std::size_t i = 0; i < request.lengths.size(); ++i)
        if (skipReasons[i].empty())
            layout.lengths.push_back(request.lengths[i]);
    return layout;
}

/// Marks a spot as running for as long as this lives, so that a trial that is stopped leaves the
/// plan as it was.
class Running
{
public:
    Running(std::optional<SweepSpot>& running, const SweepSpot& spot)
        : m_running(running)
    {
        m_running = spot;
    }
    ~Running() { m_running.reset(); }
    Running(const Running&) = delete;
    Running& operator=(const Running&) = delete;

private:
    std::optional<SweepSpot>& m_running;
};

} // namespace

ChatPrompter sweepPrompter(const Tokenizer& tokenizer, const TokenizerSource& source,
                           const SweepRequest& request)
{
    const bool isPlain =
        !request.usesChatTemplate || (request.experiment == SweepExperiment::Passkey &&
                                      request.protocol == PasskeyProtocol::Reference);
    if (!isPlain)
        return makeChatPrompter(tokenizer, source);
    const bool hasBegin = source.addsBeginToken && source.beginToken &&
                          *source.beginToken < tokenizer.vocabularySize();
    return {tokenizer, ChatTemplate(""), hasBegin ? source.beginToken : std::nullopt};
}

Sweep::Sweep(SweepModel model, std::unique_ptr<const SweepTask> task, SweepRequest request,
             const std::stop_token& stop)
    : m_decoder(model.decoder)
    , m_request(settled(std::move(request)))
    , m_task(std::move(task))
    , m_tokenizerText(model.tokenizer.description())
    , m_prompter(std::make_unique<SweepPrompter>(*m_task, model.tokenizer,
                                                 std::move(model.prompter), m_request.answerRoom))
    , m_runner(std::make_unique<SweepRunner>(
          model.decoder, model.tokenizer,
          SweepRunner::Settings{std::move(model.endTokens), m_request.answerRoom,
                                m_request.chunkTokens, m_request.contextLimit}))
{
    // The oracle's prompts are the shortest that hold question, template and statement.
    for (std::int64_t item = 0; item < m_request.numItems; ++item)
        m_prompter->prompt({TrialRole::Oracle, 0, 0.0, item, 0}, stop);
    for (const std::int64_t length : m_request.lengths)
        m_skipReasons.push_back(skipReason(length, stop));
    replan();
}

Sweep::~Sweep() = default;

/// Positions that every item's prompt has without any filler.
std::int64_t Sweep::fewestTokens(std::int64_t length, const std::stop_token& stop) const
{
    std::int64_t fewest = 0;
    for (std::int64_t item = 0; item < m_request.numItems; ++item)
        fewest = std::max(fewest,
                          m_prompter->fewestTokens({TrialRole::Asked, length, 0.0, item, 0}, stop));
    return fewest;
}

/// Where words are given, the tokens follow from the text: its memory and time are not spent on one
/// that cannot be run however few they are, and on one item alone of one that may. What items
/// differ by shows without filler.
std::string Sweep::reasonAgainstWords(std::int64_t length, std::int64_t words,
                                      const std::stop_token& stop) const
{
    const std::int64_t fewest = (words + kMostWordsOfToken - 1) / kMostWordsOfToken;
    const std::string reason = reasonAgainstLength(m_decoder, m_request, fewest);
    if (!reason.empty())
        return "with two words a token " + reason;
    const SweepSpot first{TrialRole::Asked, length, 0.0, 0, 0};
    const std::int64_t others = fewestTokens(length, stop) - m_prompter->fewestTokens(first, stop);
    return reasonAgainstLength(m_decoder, m_request,
                               m_prompter->mostTokens(first, stop).value_or(0) + others);
}

std::string Sweep::skipReason(std::int64_t length, const std::stop_token& stop) const
{
    if (const auto fixed = m_task->fixedWords(length))
        return reasonAgainstWords(length, *fixed, stop);
    const std::int64_t fewest = fewestTokens(length, stop);
    if (fewest > length)
        return "has no room: question, template and answer take " + formatCount(fewest) + " tokens";
    const auto words = m_task->mostWords();
    if (words && *words < length) { // a word is a token or more, nearly always
        const auto most = m_prompter->mostTokens({TrialRole::Control, length, 0.0, 0, 0}, stop);
        if (most && *most < length)
            return "the filler text makes no more than " + formatCount(*most) +
                   " tokens: give a longer one";
    }
    return reasonAgainstLength(m_decoder, m_request, length);
}

void Sweep::replan()
{
    m_plan = std::make_unique<SweepPlan>(layoutOf(m_request, *m_task, m_skipReasons), m_trials);
}

RecordJson Sweep::settings() const
{
    RecordJson settings = {{"lengths", m_request.lengths},
                           {"depths", m_request.depths},
                           {"items", m_request.numItems},
                           {"max_trials", m_request.maxTrials},
                           {"answer_room", m_request.answerRoom},
                           {"chunk", m_request.chunkTokens},
                           {"context_limit", m_request.contextLimit},
                           {"chat_template", m_prompter->chatTemplate().name()},
                           {"tokenizer", m_tokenizerText},
                           {"conditions", conditions()},
                           {"leaking", m_task->isLeaking()},
                           {"all_items", m_task->numItems()},
                           {"trained_positions", m_decoder.config().trainedPositions}};
    settings.update(m_task->settings());
    return settings;
}

void Sweep::restore(const std::vector<RecordJson>& events)
{
    for (const RecordJson& event : events) {
        if (!event.is_object() || event.value("kind", RecordJson()) != kSweepTrialKind)
            continue;
        SweepTrial trial = trialFrom(event);
        requireOwn(trial);
        m_trials.push_back(std::move(trial));
    }
    m_ahead.reset();
    for (std::size_t i = 0; i < m_skipReasons.size(); ++i)
        if (!m_skipReasons[i].empty() && isWhole(i))
            m_skipReasons[i].clear();
    replan();
}

/// Whether all trials of a length are done, though it cannot be run now.
bool Sweep::isWhole(std::size_t length) const
{
    std::vector<std::string> reasons = m_skipReasons;
    reasons[length].clear();
    const SweepPlan plan(layoutOf(m_request, *m_task, reasons), m_trials);
    return std::none_of(plan.spots().begin(), plan.spots().end(), [&](const SweepSpot& spot) {
        return spot.tokens == m_request.lengths[length] && !plan.trialAt(spot);
    });
}

void Sweep::requireRunnable() const
{
    const bool isAny = std::any_of(m_skipReasons.begin(), m_skipReasons.end(),
                                   [](const std::string& reason) { return reason.empty(); });
    if (!isAny && !isDone())
        throw ArgumentError("no length can be run: " + formatCount(m_request.lengths.front()) +
                            " tokens: " + m_skipReasons.front());
}

void Sweep::requireOwn(const SweepTrial& trial) const
{
    const auto holds = [](const auto& values, auto value) {
        return std::binary_search(values.begin(), values.end(), value);
    };
    const bool isPlaced = trial.role == TrialRole::Oracle ? trial.tokens == 0
                                                          : holds(m_request.lengths, trial.tokens);
    const bool isDeep =
        trial.role == TrialRole::Asked ? holds(m_request.depths, trial.depth) : trial.depth == 0.0;
    if (isPlaced && isDeep && trial.item < m_task->numItems() &&
        m_task->item(spotOf(trial)).expected == trial.expected)
        return;
    throw ArgumentError("a recorded trial is not of this sweep: '" + trial.itemName + "' at " +
                        formatCount(trial.tokens) + " tokens");
}

bool Sweep::isDone() const
{
    return !m_plan->next();
}

std::optional<SweepTrial> Sweep::runNext(const SweepObserver& observer, std::stop_token stop)
{
    const auto spot = m_plan->next();
    if (!spot)
        return std::nullopt;
    requireRunnable();
    const SweepPrompt prompt =
        m_ahead && m_ahead->spot == *spot ? std::move(*m_ahead) : m_prompter->prompt(*spot, stop);
    m_ahead.reset();
    if (m_runner->wantsNext())
        if (const auto after = m_plan->afterNext())
            m_ahead = m_prompter->prompt(*after, stop);
    SweepTrial trial = answered(prompt, observer, stop);
    m_trials.push_back(trial);
    replan();
    return trial;
}

SweepTrial Sweep::answered(const SweepPrompt& prompt, const SweepObserver& observer,
                           const std::stop_token& stop)
{
    SweepTrial trial = unanswered(prompt);
    const Running running(m_running, prompt.spot);
    if (observer.started)
        observer.started(trial);
    const SweepOutcome outcome = m_runner->run(prompt, m_ahead ? &*m_ahead : nullptr,
                                               {.prefilled = observer.prefilled,
                                                .promptScored = {},
                                                .generated = observer.generated,
                                                .stepped = observer.stepped},
                                               stop);
    const std::string& opening = m_prompter->chatTemplate().answerOpening();
    const SweepJudgement judgement =
        m_task->judge(prompt.item, answerProper(outcome.answer, opening));
    trial.answer = outcome.answer;
    trial.kind = judgement.kind;
    trial.isLoose = judgement.isLoose;
    trial.answerTokens = outcome.answerTokens;
    trial.reusedTokens = outcome.reusedTokens;
    trial.prefillSeconds = outcome.prefillSeconds;
    trial.seconds = outcome.seconds;
    trial.isDisturbed = outcome.isDisturbed;
    return trial;
}

SweepTrial Sweep::unanswered(const SweepPrompt& prompt)
{
    SweepTrial trial;
    trial.role = prompt.spot.role;
    trial.tokens = prompt.spot.tokens;
    trial.depth = prompt.spot.depth;
    trial.item = prompt.spot.item;
    trial.round = prompt.spot.round;
    trial.itemName = prompt.item.name;
    trial.expected = prompt.item.expected;
    trial.promptTokens = std::ssize(prompt.ids);
    trial.promptWords = prompt.words;
    trial.needleTokens = prompt.needleTokens;
    return trial;
}

std::string Sweep::promptText(const SweepTrial& trial) const
{
    requireOwn(trial);
    return m_prompter->prompt(spotOf(trial)).text;
}

const Context& Sweep::context() const
{
    return m_runner->context();
}

std::string Sweep::conditions() const
{
    std::ostringstream text;
    text << m_task->description() << "; " << m_prompter->chatTemplate().name()
         << " template; answers of at most " << m_request.answerRoom << " tokens, greedy; seed "
         << m_request.seed;
    return text.str();
}

/// Which part of a cell's prompts is reused: what they share, as far as the runner can keep it.
double Sweep::sharedPart(const CellKey& cell) const
{
    if (cell.tokens == 0)
        return 0.0; // an oracle's prompt is all its own
    const std::int64_t promptTokens = std::max<std::int64_t>(1, cell.tokens - m_request.answerRoom);
    const double part = m_task->sharedPart(cell.role, cell.depth);
    const auto shared = static_cast<std::int64_t>(part * static_cast<double>(promptTokens));
    const std::int64_t reused = m_runner->reusable(std::min(shared, promptTokens - 1));
    return static_cast<double>(reused) / static_cast<double>(cell.tokens);
}

SweepReport Sweep::report() const
{
    const ModelConfig& config = m_decoder.config();
    SweepReport report;
    report.experiment = m_task->experiment();
    report.conditions = conditions() + replacedText(*m_plan, m_trials);
    report.isLeaking = m_task->isLeaking();
    report.depths = m_request.depths;
    report.trials = m_trials;
    report.numLintedPrompts = std::ssize(m_trials);
    report.trainedPositions = config.trainedPositions;
    for (std::size_t i = 0; i < m_request.lengths.size(); ++i) {
        SweepColumn column;
        column.tokens = m_request.lengths[i];
        column.isBeyondTrained =
            config.trainedPositions > 0 && column.tokens > config.trainedPositions;
        column.skipReason = m_skipReasons[i];
        report.columns.push_back(std::move(column));
    }
    fillScores(report, *m_plan, m_running);
    fillProgress(report, *m_plan,
                 {[&](std::int64_t tokens) { return prefillFlops(config, tokens).total(); },
                  [this](const CellKey& cell) { return sharedPart(cell); },
                  m_request.secondsPerFlop});
    return report;
}

} // namespace kvscope
