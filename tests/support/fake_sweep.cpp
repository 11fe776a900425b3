#include "tests/support/fake_sweep.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <string>

namespace kvscope {
namespace {

constexpr std::int64_t kTrained = 8192;
constexpr double kLine = 0.856;

struct Item
{
    const char* name;
    std::int64_t answer;
    const char* sentence; ///< begins a restated answer
};
constexpr std::array<Item, 12> kItems{{{"ferry key, hook", 27, "The key hangs on hook"},
                                       {"pear trees", 463, "The orchard has"},
                                       {"quarry pump, year", 1938, "The pump was rebuilt in"},
                                       {"glassworks tram", 56, "The tram is number"},
                                       {"folding chairs", 85, "The choir sang in front of"},
                                       {"bakery safe", 60914, "The safe opens with"},
                                       {"bridge toll", 35, "The toll is"},
                                       {"lemon greenhouse", 12, "Greenhouse number"},
                                       {"meteorite, grams", 742, "The meteorite weighs"},
                                       {"map drawer", 209, "The drawer is number"},
                                       {"telescope price", 1150, "The telescope cost"},
                                       {"night train", 9, "The night train left from"}}};

/// Wilson's interval at 95 %, written out anew so that a view's test needs no engine.
Interval wilson(const Proportion& score)
{
    constexpr double z = 1.959963984540054;
    const double n = static_cast<double>(score.trials);
    if (n <= 0)
        return {0.0, 1.0};
    const double p = score.rate();
    const double middle = (p + z * z / (2 * n)) / (1 + z * z / n);
    const double half = z / (1 + z * z / n) * std::sqrt(p * (1 - p) / n + z * z / (4 * n * n));
    return {std::max(0.0, middle - half), std::min(1.0, middle + half)};
}

PassVerdict verdictOf(const Interval& interval, double line)
{
    if (interval.low >= line)
        return PassVerdict::Passes;
    return interval.high < line ? PassVerdict::Fails : PassVerdict::Undecided;
}

void finish(SweepCell& cell, double line = kLine)
{
    cell.interval = wilson(cell.score);
    cell.verdict = cell.score.trials > 0 ? verdictOf(cell.interval, line) : PassVerdict::Undecided;
}

/// Of n, how many a model finds that forgets the middle and long prompts.
std::int64_t foundOf(std::int64_t trials, std::size_t length, double depth)
{
    const double middle = 1.0 - std::abs(depth - 50.0) / 50.0;
    const double reach = length >= 4 ? 0.06 : 1.0 - 0.07 * static_cast<double>(length);
    const double rate = std::clamp(reach * (1.0 - 0.62 * std::sqrt(middle)), 0.0, 1.0);
    return std::llround(rate * static_cast<double>(trials));
}

AnswerKind wrongKind(std::int64_t trial)
{
    constexpr std::array kKinds{AnswerKind::BareWrong, AnswerKind::RestatedWrong,
                                AnswerKind::BareWrong, AnswerKind::NoNumber,
                                AnswerKind::BareWrong, AnswerKind::RestatedWrong,
                                AnswerKind::Empty};
    return kKinds[static_cast<std::size_t>(trial) % kKinds.size()];
}

std::string answerOf(const Item& item, AnswerKind kind)
{
    const std::string other = std::to_string(item.answer + 7);
    switch (kind) {
    case AnswerKind::Found:
        return std::to_string(item.answer);
    case AnswerKind::BareWrong:
        return other;
    case AnswerKind::RestatedWrong:
        return std::string(item.sentence) + " " + other + ".";
    case AnswerKind::NoNumber:
        return std::string(item.sentence) + " nothing that the text mentions.";
    case AnswerKind::Empty:
        return {};
    }
    return {};
}

std::vector<AnswerToken> answerTokens(std::int64_t answer, bool isFound)
{
    std::vector<AnswerToken> tokens;
    double nll = isFound ? 0.08 : 2.4;
    for (const char digit : std::to_string(answer)) {
        tokens.push_back({std::string(1, digit), nll});
        nll = isFound ? nll * 1.5 : 0.4 + nll * 0.6;
    }
    return tokens;
}

class Maker
{
public:
    explicit Maker(const FakeSweepShape& shape)
        : m_shape(shape)
    {
    }

    SweepReport make()
    {
        m_report.experiment = "needle";
        m_report.conditions = "12 facts, each in its own filler of this tokenizer's tokens; "
                              "ChatML; greedy, 12 tokens "
                              "of answer room; seed 42; to 24 trials where undecided";
        m_report.isLeaking = m_shape.isLeaking;
        m_report.depths = m_shape.depths;
        m_report.trainedPositions = kTrained;
        m_report.oracleTokens = 74;
        run(m_report.oracle, {TrialRole::Oracle, 0, 0.0}, m_shape.trials - 1, m_shape.trials);
        for (std::size_t i = 0; i < m_shape.lengths.size(); ++i)
            addColumn(i);
        pool();
        judge();
        scoreItems();
        m_report.numLintedPrompts = static_cast<std::int64_t>(m_report.trials.size());
        m_report.progress.secondsGone = 5400;
        m_report.progress.secondsLeft = 2100;
        return m_report;
    }

private:
    struct Place
    {
        TrialRole role = TrialRole::Asked;
        std::int64_t tokens = 0;
        double depth = 0.0;
    };

    void run(SweepCell& cell, const Place& place, std::int64_t found, std::int64_t trials)
    {
        cell.state = CellState::Done;
        cell.plannedTrials = m_shape.trials;
        double nll = 0.0;
        for (std::int64_t i = 0; i < trials; ++i) {
            const Item& item = kItems[static_cast<std::size_t>(i) % kItems.size()];
            // Spread what is found over the items.
            const bool isFound = (i * found) / trials != ((i + 1) * found) / trials;
            SweepTrial trial;
            trial.role = place.role;
            trial.tokens = place.tokens;
            trial.depth = place.depth;
            trial.item = i % static_cast<std::int64_t>(kItems.size());
            trial.itemName = item.name;
            trial.expected = std::to_string(item.answer);
            trial.kind = isFound ? AnswerKind::Found : wrongKind(i);
            trial.answer = answerOf(item, trial.kind);
            trial.answerTokens = answerTokens(item.answer, isFound);
            trial.promptTokens = place.tokens > 0 ? place.tokens - 12 : 74;
            if (place.role == TrialRole::Asked)
                trial.needleTokens = {
                    std::llround(place.depth / 100.0 * static_cast<double>(place.tokens - 60)) +
                    14};
            trial.prefillSeconds = static_cast<double>(place.tokens) * 0.0017;
            trial.seconds = trial.prefillSeconds + 0.3;
            double mean = 0.0;
            for (const AnswerToken& token : trial.answerTokens)
                mean += token.nll;
            nll += mean / static_cast<double>(trial.answerTokens.size());
            ++cell.kinds[static_cast<std::size_t>(trial.kind)];
            cell.score.correct += isFound ? 1 : 0;
            ++cell.score.trials;
            cell.trials.push_back(m_report.trials.size());
            m_report.trials.push_back(std::move(trial));
        }
        cell.meanAnswerNll = trials > 0 ? nll / static_cast<double>(trials) : 0.0;
        finish(cell);
    }

    void addColumn(std::size_t index)
    {
        SweepColumn column;
        column.tokens = m_shape.lengths[index];
        column.isBeyondTrained = column.tokens > kTrained;
        const std::size_t last = m_shape.lengths.size() - 1;
        column.cells.resize(m_shape.depths.size());
        if (m_shape.hasSkipped && index == last) {
            column.skipReason = "needs 3.35 GiB, 3.10 GiB are free";
            for (SweepCell& cell : column.cells)
                cell.state = CellState::CannotFit;
            column.control.state = CellState::CannotFit;
            m_report.columns.push_back(std::move(column));
            return;
        }
        const bool isAtWork =
            m_shape.hasRunning && index == last - (m_shape.hasSkipped && last > 0 ? 1 : 0);
        for (std::size_t depth = 0; depth < column.cells.size(); ++depth)
            addCell(column, index, depth, isAtWork);
        run(column.control, {TrialRole::Control, column.tokens, 0.0}, 0, m_shape.trials);
        column.secondsPerTrial = static_cast<double>(column.tokens) * 0.0019;
        for (const SweepCell& cell : column.cells)
            add(column.pooled, cell);
        finish(column.pooled);
        m_report.columns.push_back(std::move(column));
    }

    void addCell(SweepColumn& column, std::size_t index, std::size_t depth, bool isAtWork)
    {
        SweepCell& cell = column.cells[depth];
        cell.plannedTrials = m_shape.trials;
        const std::size_t now = m_shape.depths.size() / 2;
        if (isAtWork && depth > now)
            return;
        const bool isNow = isAtWork && depth == now;
        // The first length had further trials.
        const std::int64_t trials =
            isNow ? m_shape.trials * 7 / 12 : m_shape.trials * (index == 0 ? 2 : 1);
        const double at = m_shape.depths[depth];
        run(cell, {TrialRole::Asked, column.tokens, at}, foundOf(trials, index, at), trials);
        if (index == 0)
            cell.plannedTrials = trials;
        if (isNow)
            cell.state = CellState::Running;
    }

    static void add(SweepCell& sum, const SweepCell& cell)
    {
        sum.score.correct += cell.score.correct;
        sum.score.trials += cell.score.trials;
        for (std::size_t i = 0; i < kNumAnswerKinds; ++i)
            sum.kinds[i] += cell.kinds[i];
        sum.state = CellState::Done;
    }

    void pool()
    {
        m_report.byDepth.resize(m_report.depths.size());
        for (const SweepColumn& column : m_report.columns)
            for (std::size_t depth = 0; depth < column.cells.size(); ++depth)
                if (!column.isBeyondTrained)
                    add(m_report.byDepth[depth], column.cells[depth]);
        EndsAgainstMiddle& test = m_report.endsAgainstMiddle;
        for (std::size_t depth = 0; depth < m_report.depths.size(); ++depth) {
            finish(m_report.byDepth[depth]);
            const double at = m_report.depths[depth];
            Proportion& part = at == 0 || at == 100 ? test.ends : test.middle;
            part.correct += m_report.byDepth[depth].score.correct;
            part.trials += m_report.byDepth[depth].score.trials;
        }
        test.p = 2.5e-13;
    }

    EffectiveLength effective(double line) const
    {
        EffectiveLength length;
        length.threshold = line;
        bool passes = true, fails = false;
        for (const SweepColumn& column : m_report.columns) {
            if (column.pooled.score.trials == 0)
                continue;
            const PassVerdict verdict = verdictOf(column.pooled.interval, line);
            length.lengths.push_back(
                {column.tokens, column.pooled.score, column.pooled.interval, verdict});
            passes = passes && verdict == PassVerdict::Passes;
            fails = fails || verdict == PassVerdict::Fails;
            length.tokens = passes ? column.tokens : length.tokens;
            length.mostTokens = fails ? length.mostTokens : column.tokens;
        }
        length.isCensored = !fails;
        return length;
    }

    void judge()
    {
        m_report.absolute = effective(kLine);
        m_report.relative = effective(0.85 * m_report.oracle.score.rate());
    }

    void scoreItems()
    {
        m_report.items.resize(kItems.size());
        for (std::size_t i = 0; i < kItems.size(); ++i)
            m_report.items[i].name = kItems[i].name;
        for (const SweepTrial& trial : m_report.trials) {
            SweepItemScore& item = m_report.items[static_cast<std::size_t>(trial.item)];
            if (trial.role == TrialRole::Asked) {
                ++item.asked.trials;
                item.asked.correct += trial.isCorrect() ? 1 : 0;
            }
            item.foundByControl |= trial.role == TrialRole::Control && trial.isCorrect();
            item.foundByOracle |= trial.role == TrialRole::Oracle && trial.isCorrect();
        }
    }

    FakeSweepShape m_shape;
    SweepReport m_report;
};

} // namespace

SweepReport fakeSweep(const FakeSweepShape& shape)
{
    return Maker(shape).make();
}

const SweepTrial& trialOf(const SweepReport& report, const SweepCell& cell, std::size_t place)
{
    return report.trials.at(cell.trials.at(place));
}

} // namespace kvscope
