#include "engine/base/errors.h"
#include "engine/lab/effective_length.h"
#include "engine/lab/report_card.h"
#include "engine/lab/statistics.h"
#include "engine/lab/sweep.h"
#include "engine/lab/sweep_json.h"
#include "engine/lab/sweep_plan.h"
#include "engine/lab/sweep_replay.h"
#include "engine/lab/sweep_scores.h"

#include <QtTest>

#include <algorithm>
#include <chrono>
#include <functional>
#include <random>

using namespace kvscope;

namespace {

using Answers = std::function<bool(const SweepSpot&)>;

SweepTrial trialOf(const SweepSpot& spot, bool isCorrect)
{
    SweepTrial trial;
    trial.role = spot.role;
    trial.tokens = spot.tokens;
    trial.depth = spot.depth;
    trial.item = spot.item;
    trial.round = spot.round;
    trial.itemName = "fact " + std::to_string(spot.item);
    trial.kind = isCorrect ? AnswerKind::Found : AnswerKind::BareWrong;
    trial.isLoose = isCorrect;
    trial.answerTokens = {{"1", isCorrect ? 0.5 : 2.0}};
    trial.promptTokens = spot.tokens;
    trial.prefillSeconds = 1e-3 * double(spot.tokens);
    trial.seconds = trial.prefillSeconds + 0.5;
    return trial;
}

bool onlyWhenTold(const SweepSpot& spot)
{
    return spot.role != TrialRole::Control;
}

/// Every trial in order, as a sweep runs them.
std::vector<SweepTrial> runAll(const SweepLayout& layout, const Answers& answers)
{
    std::vector<SweepTrial> trials;
    for (;;) {
        const auto next = SweepPlan(layout, trials).next();
        if (!next)
            return trials;
        trials.push_back(trialOf(*next, answers(*next)));
    }
}

SweepColumn& addColumn(SweepReport& report, std::int64_t tokens)
{
    SweepColumn& column = report.columns.emplace_back();
    column.tokens = tokens;
    return column;
}

SweepReport reportOf(const SweepLayout& layout, std::vector<SweepTrial> trials,
                     std::int64_t trained = 0)
{
    SweepReport report;
    report.depths = layout.depths;
    report.trials = std::move(trials);
    report.trainedPositions = trained;
    for (const std::int64_t tokens : layout.lengths)
        addColumn(report, tokens).isBeyondTrained = trained > 0 && tokens > trained;
    const SweepPlan plan(layout, report.trials);
    fillScores(report, plan, std::nullopt);
    fillProgress(report, plan,
                 {[](std::int64_t tokens) { return double(tokens); },
                  [](const CellKey&) { return 0.0; }, 0.0});
    return report;
}

/// A record's beginning, of a few hundred bytes, that plans what it likes.
RunRecordContent recordPlanning(std::int64_t items, std::int64_t maxTrials)
{
    RunRecordContent record;
    record.header = {{"experiment", "needle"},
                     {"settings",
                      {{"lengths", {1024}},
                       {"depths", {0.0}},
                       {"items", items},
                       {"all_items", items},
                       {"max_trials", maxTrials},
                       {"leaking", false},
                       {"conditions", "bare"},
                       {"trained_positions", 2048}}}};
    return record;
}

SweepLayout chapters()
{
    return {{2048, 4096, 8192, 16384, 32768}, {0.0, 25.0, 50.0, 75.0, 100.0}, 12, 12, 12};
}

} // namespace

// Which trials there are, in which order, and what they add up to.
class TestSweepPlan : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    void controlsComeBeforeTheMap()
    {
        const SweepLayout layout{{100, 200}, {0.0, 100.0}, 2, 2, 2};
        const auto trials = runAll(layout, onlyWhenTold);
        QCOMPARE(trials.size(), std::size_t(2 + 2 * 2 + 2 * 2 * 2));
        const auto isRole = [](TrialRole role) {
            return [role](const SweepTrial& trial) { return trial.role == role; };
        };
        QVERIFY(std::all_of(trials.begin(), trials.begin() + 2, isRole(TrialRole::Oracle)));
        QVERIFY(std::all_of(trials.begin() + 2, trials.begin() + 6, isRole(TrialRole::Control)));
        QVERIFY(std::all_of(trials.begin() + 6, trials.end(), isRole(TrialRole::Asked)));
        QCOMPARE(trials[6].tokens, 100); // shorter lengths first
    }

    // The chapter's table gives its numbers.
    void theChaptersTableAddsUp()
    {
        const SweepLayout layout = chapters();
        const std::vector<std::vector<int>> table = {{12, 9, 10, 7, 11},
                                                     {12, 10, 11, 11, 12},
                                                     {12, 10, 8, 9, 12},
                                                     {11, 8, 6, 9, 12},
                                                     {11, 7, 12, 8, 12}};
        const auto trials = runAll(layout, [&](const SweepSpot& spot) {
            if (spot.role != TrialRole::Asked)
                return spot.role == TrialRole::Oracle;
            const auto row =
                std::size_t(std::find(layout.lengths.begin(), layout.lengths.end(), spot.tokens) -
                            layout.lengths.begin());
            return spot.item < table[row][std::size_t(spot.depth / 25.0)];
        });
        const SweepReport report = reportOf(layout, trials);
        QCOMPARE(report.endsAgainstMiddle.ends, (Proportion{117, 120}));
        QCOMPARE(report.endsAgainstMiddle.middle, (Proportion{135, 180}));
        QVERIFY(report.endsAgainstMiddle.p > 2.5e-8 && report.endsAgainstMiddle.p < 3.5e-8);
        QCOMPARE(report.byDepth[0].score, (Proportion{58, 60}));
        QCOMPARE(report.byDepth[2].score, (Proportion{47, 60}));
        QCOMPARE(report.columns[1].pooled.score, (Proportion{56, 60}));
        QCOMPARE(report.columns[0].control.score, (Proportion{0, 12}));
        QCOMPARE(report.oracle.score, (Proportion{12, 12}));
        QCOMPARE(report.columns[0].cells[3].score, (Proportion{7, 12}));
        QCOMPARE(report.columns[0].cells[3].kinds[0], 7);
        QCOMPARE(report.columns[0].cells[3].kinds[1], 5);
        QVERIFY(std::abs(report.columns[0].cells[3].meanAnswerNll - (7 * 0.5 + 5 * 2.0) / 12) <
                1e-12);
        QCOMPARE(report.absolute.lengths.size(), std::size_t{5});
        QCOMPARE(report.items.size(), std::size_t{12});
        QCOMPARE(report.items[0].asked, (Proportion{25, 25}));
        QCOMPARE(report.progress.done.trials, std::int64_t(trials.size()));
        QCOMPARE(report.progress.queued.trials, 0);
        QCOMPARE(report.progress.secondsLeft, 0.0);
    }

    void aFactThatTheControlAnswersIsReplaced()
    {
        const SweepLayout layout{{100, 200}, {0.0, 100.0}, 3, 5, 3};
        const auto guessed = [](const SweepSpot& spot) {
            return spot.role != TrialRole::Control || (spot.item == 1 && spot.tokens == 200);
        };
        const auto trials = runAll(layout, guessed);
        const SweepPlan plan(layout, trials);
        QCOMPARE(plan.items(), (std::vector<std::int64_t>{0, 2, 3}));
        for (const SweepTrial& trial : trials)
            QVERIFY(trial.role != TrialRole::Asked || trial.item != 1);
        // The spare has its controls and its oracle too.
        for (const std::int64_t tokens : layout.lengths)
            QVERIFY(plan.trialAt({TrialRole::Control, tokens, 0.0, 3, 0}));
        QVERIFY(plan.trialAt({TrialRole::Oracle, 0, 0.0, 3, 0}));
        const SweepReport report = reportOf(layout, trials);
        QCOMPARE(report.columns[1].control.score, (Proportion{0, 3}));
        QCOMPARE(report.columns[0].pooled.score, (Proportion{6, 6}));
        const auto& item = report.items[1];
        QVERIFY(item.foundByControl && item.asked.trials == 0);
    }

    void withoutASpareItIsLeftOutOfTheScores()
    {
        const SweepLayout layout{{100}, {0.0, 50.0, 100.0}, 3, 3, 3};
        const auto trials = runAll(layout, [](const SweepSpot& spot) {
            return spot.role != TrialRole::Control || spot.item == 1;
        });
        const SweepReport report = reportOf(layout, trials);
        QCOMPARE(report.columns[0].control.score, (Proportion{1, 3}));
        QCOMPARE(report.columns[0].cells[0].score, (Proportion{2, 2}));
        QCOMPARE(report.columns[0].cells[0].trials.size(), std::size_t{3});
        QCOMPARE(report.columns[0].pooled.score, (Proportion{6, 6}));
        QCOMPARE(report.endsAgainstMiddle.ends, (Proportion{4, 4}));
        QCOMPARE(report.oracle.score, (Proportion{2, 2}));
        QVERIFY(report.items[1].foundByControl);
        QCOMPARE(report.items[1].asked, (Proportion{3, 3}));
    }

    void undecidedCellsAreGivenFurtherRounds()
    {
        const SweepLayout layout{{100, 200}, {0.0, 50.0}, 12, 12, 36};
        const auto trials = runAll(layout, [](const SweepSpot& spot) {
            return spot.role != TrialRole::Control && spot.tokens == 100;
        });
        const SweepReport report = reportOf(layout, trials);
        // 12 of 12 are undecided, 24 of 24 pass; 0 of 12 fail at once.
        for (const SweepCell& cell : report.columns[0].cells) {
            QCOMPARE(cell.score, (Proportion{24, 24}));
            QCOMPARE(cell.verdict, PassVerdict::Passes);
        }
        for (const SweepCell& cell : report.columns[1].cells)
            QCOMPARE(cell.score, (Proportion{0, 12}));
        QCOMPARE(report.absolute.tokens, 100);
        QVERIFY(report.absolute.isDecided());
    }

    void furtherRoundsEndAtTheLimit()
    {
        const SweepLayout layout{{100}, {0.0}, 4, 4, 10};
        const auto trials = runAll(layout, [](const SweepSpot& spot) {
            return spot.role != TrialRole::Control && spot.item != 0; // 3 of 4: undecided for long
        });
        QCOMPARE(reportOf(layout, trials).columns[0].cells[0].score, (Proportion{6, 8}));
    }

    void furtherTrialsDoNotWeighMore()
    {
        const std::vector<Proportion> equal{{10, 12}, {7, 12}, {12, 12}};
        QCOMPARE(pooledEqually(equal), (Proportion{29, 36}));
        const std::vector<Proportion> some{{12, 12}, {6, 24}};
        const Proportion together = pooledEqually(some);
        QCOMPARE(together.trials, 32);  // 4 / (1/12 + 1/24)
        QCOMPARE(together.correct, 20); // 0.625 of them
        QCOMPARE(pooledEqually(std::vector<Proportion>{{3, 4}, {0, 0}}), (Proportion{3, 4}));
        QCOMPARE(pooledEqually({}), (Proportion{0, 0}));
    }

    // Property: the same trials in any order, or cut anywhere, lead to the same trials.
    void theNextTrialFollowsFromThoseDone()
    {
        const SweepLayout layout{{100, 200}, {0.0, 50.0, 100.0}, 3, 5, 9};
        const Answers answers = [](const SweepSpot& spot) {
            const auto hash =
                spot.item * 7 + spot.tokens / 100 + std::int64_t(spot.depth) + spot.round * 3;
            return spot.role == TrialRole::Control ? spot.item == 2 : hash % 5 != 0;
        };
        const auto whole = runAll(layout, answers);
        std::mt19937 random(5);
        for (int run = 0; run < 20; ++run) {
            std::vector<SweepTrial> trials(whole.begin(),
                                           whole.begin() + std::ptrdiff_t(random() % whole.size()));
            std::shuffle(trials.begin(), trials.end(), random);
            while (const auto next = SweepPlan(layout, trials).next())
                trials.push_back(trialOf(*next, answers(*next)));
            QCOMPARE(trials.size(), whole.size());
            const SweepReport a = reportOf(layout, trials);
            const SweepReport b = reportOf(layout, whole);
            for (std::size_t i = 0; i < a.columns.size(); ++i)
                for (std::size_t j = 0; j < a.depths.size(); ++j)
                    QCOMPARE(a.columns[i].cells[j].score, b.columns[i].cells[j].score);
        }
    }

    void lengthsBeyondTheTrainedOneAreNotInRowsByDepth()
    {
        const SweepLayout layout{{100, 200}, {0.0, 50.0}, 2, 2, 2};
        const auto trials = runAll(layout, onlyWhenTold);
        const SweepReport report = reportOf(layout, trials, 150);
        QVERIFY(report.columns[1].isBeyondTrained && !report.columns[0].isBeyondTrained);
        QCOMPARE(report.byDepth[0].score, (Proportion{2, 2}));
        QCOMPARE(report.endsAgainstMiddle.ends, (Proportion{2, 2}));
        QCOMPARE(report.columns[1].pooled.score, (Proportion{4, 4}));
    }

    void timeLeftFollowsTheWork()
    {
        const SweepLayout layout{{100, 200}, {0.0, 50.0}, 2, 2, 2};
        const auto whole = runAll(layout, onlyWhenTold);
        const std::vector<SweepTrial> some(whole.begin(), whole.begin() + 8);
        const SweepReport report = reportOf(layout, some);
        double left = 0.0;
        for (auto trial = whole.begin() + 8; trial != whole.end(); ++trial)
            left += trial->seconds;
        QVERIFY(std::abs(report.progress.secondsLeft - left) < 1e-9);
        QVERIFY(std::abs(report.columns[0].secondsPerTrial - 0.6) < 1e-9);
        const SweepProgress& progress = report.progress;
        QCOMPARE(progress.done.trials + progress.running.trials + progress.queued.trials,
                 std::int64_t(whole.size()));
        QCOMPARE(progress.done.cells + progress.running.cells + progress.queued.cells, 7);
        QCOMPARE(reportOf(layout, {}).progress.secondsLeft, 0.0); // not known yet
    }

    // Stopped after depth 0 of the longer length: its easy ends say nothing of it.
    void aLengthThatIsNotFinishedIsNotMeasured()
    {
        const SweepLayout layout{{100, 200}, {0.0, 50.0, 100.0}, 12, 12, 12};
        auto trials = runAll(layout, onlyWhenTold);
        trials.resize(12 + 2 * 12 + 4 * 12);
        const SweepReport report = reportOf(layout, trials);
        QVERIFY(!report.columns[0].isUnfinished && report.columns[1].isUnfinished);
        QCOMPARE(report.columns[1].pooled.score, (Proportion{12, 12})); // shown all the same
        for (const EffectiveLength& length : {report.absolute, report.relative}) {
            QCOMPARE(length.lengths.size(), std::size_t{1});
            QCOMPARE(length.tokens, 100);
        }
        QCOMPARE(report.endsAgainstMiddle.ends, (Proportion{24, 24}));
        QCOMPARE(report.endsAgainstMiddle.middle, (Proportion{12, 12}));
        QCOMPARE(report.endsAgainstMiddle.beginning, (Proportion{12, 12}));
        QCOMPARE(longestColumn(report)->tokens, 100);
        const RecordJson json = sweepJson(report, Trials::LeftOut);
        QVERIFY(!json["columns"][0]["unfinished"] && json["columns"][1]["unfinished"]);
    }

    void aSearchWithoutAWholeLengthSaysSo()
    {
        const SweepLayout layout{{4096}, {0.0, 50.0, 100.0}, 100, 100, 100};
        auto trials = runAll(layout, onlyWhenTold);
        trials.resize(3 * 100);
        CardEvidence evidence;
        evidence.tokens = 4096;
        evidence.needle = reportOf(layout, trials);
        QVERIFY(evidence.needle->absolute.lengths.empty());
        QVERIFY(!evidence.needle->absolute.isDecided() && !evidence.needle->absolute.isCensored);
        QVERIFY(longestColumn(*evidence.needle) == nullptr);
        const CardResult result = usesResult(evidence);
        QVERIFY(result.verdict == CardVerdict::NotMeasured);
        const auto says = [&](const char* label, const char* text) {
            return std::any_of(result.notes.begin(), result.notes.end(), [&](const CardNote& note) {
                return note.label == label && note.text.find(text) != std::string::npos;
            });
        };
        QVERIFY(says("Not measured", "4,096 tokens: the search ended before every depth"));
        QVERIFY(says("Effective length", "Not measured"));
    }

    // A record may hold trials of a length that does not fit any more.
    void trialsOfSkippedLengthsAreInNoTest()
    {
        const SweepLayout layout{{100, 200}, {0.0, 50.0}, 3, 3, 3};
        SweepReport report;
        report.depths = layout.depths;
        report.trials = runAll(layout, onlyWhenTold);
        addColumn(report, 100);
        addColumn(report, 200).skipReason = "needs 3 GiB, 2 GiB are free";
        fillScores(report, SweepPlan({{100}, layout.depths, 3, 3, 3}, report.trials), std::nullopt);
        QCOMPARE(report.endsAgainstMiddle.ends, (Proportion{3, 3}));
        QCOMPARE(report.endsAgainstMiddle.middle, (Proportion{3, 3}));
        QCOMPARE(report.absolute.lengths.size(), std::size_t{1});
    }

    // With earlier rounds counted again for each, this took 40 seconds.
    void manyRoundsTakeTimeByTheirTrials()
    {
        constexpr int kRounds = 40'000;
        const SweepLayout layout{{100}, {0.0}, 1, 1, 2 * kRounds};
        std::vector<SweepTrial> trials;
        std::int64_t right = 0;
        for (std::int64_t round = 0; round < kRounds; ++round) { // at the line, so undecided
            const bool isRight = double(right) < kAbsolutePassRate * double(round + 1);
            right += isRight ? 1 : 0;
            trials.push_back(trialOf({TrialRole::Asked, 100, 0.0, 0, round}, isRight));
        }
        const auto start = std::chrono::steady_clock::now();
        const SweepPlan plan(layout, trials);
        QCOMPARE(plan.spots().size(), std::size_t{2 + kRounds + 1});
        QVERIFY(std::chrono::steady_clock::now() - start < std::chrono::seconds(10));
    }

    void aRecordPlansNoMoreThanItsBytesAreWorth()
    {
        QVERIFY_EXCEPTION_THROWN(recordedSweep(recordPlanning(4'900'000, 0)), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(recordedSweep(recordPlanning(40'000, 0)), ArgumentError);
        const RunRecordContent begun = recordPlanning(30'000, std::int64_t{1} << 50);
        QCOMPARE(recordedSweep(begun).columns[0].cells[0].plannedTrials, 30'000);
        // One that holds trials may have been of more.
        RunRecordContent large = recordPlanning(40'000, 0);
        for (std::int64_t item = 0; item < 2'000; ++item) {
            large.events.push_back({{"kind", kSweepTrialKind}});
            large.events.back().update(
                trialJson(trialOf({TrialRole::Oracle, 0, 0.0, item, 0}, true)));
        }
        QCOMPARE(recordedSweep(large).oracle.score, (Proportion{2'000, 2'000}));
    }

    void lengthsThatAreSkippedStayInThePlan()
    {
        const SweepLayout layout{{100}, {0.0, 50.0}, 2, 2, 2};
        SweepReport report;
        report.depths = layout.depths;
        addColumn(report, 100);
        addColumn(report, 200).skipReason = "needs 3 GiB, 2 GiB are free";
        const SweepPlan plan(layout, report.trials);
        fillScores(report, plan, std::nullopt);
        QCOMPARE(report.columns[1].cells.size(), std::size_t{2});
        QCOMPARE(report.columns[1].cells[0].state, CellState::CannotFit);
        QCOMPARE(report.columns[1].control.state, CellState::CannotFit);
        QCOMPARE(report.columns[0].cells[0].state, CellState::Queued);
        fillScores(report, plan, plan.next());
        QCOMPARE(report.oracle.state, CellState::Running);
    }
};

QTEST_GUILESS_MAIN(TestSweepPlan)
#include "tst_sweep_plan.moc"
