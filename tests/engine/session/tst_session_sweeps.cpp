#include "engine/lab/run_record.h"
#include "engine/lab/sweep.h"
#include "tests/engine/session/lab_fixture.h"

#include <algorithm>
#include <csignal>
#include <sys/resource.h>

using namespace kvscope;

namespace {

constexpr std::size_t kTrials = 8; ///< two alone, two controls, two facts at two depths

SweepRequest needles()
{
    SweepRequest request;
    request.lengths = {300};
    request.depths = {0.0, 100.0};
    request.numItems = 2;
    request.answerRoom = 4;
    request.chunkTokens = 64;
    return request;
}

/// What must not depend on how a sweep came to its trials.
std::vector<RecordJson> resultsOf(const SweepReport& report)
{
    std::vector<RecordJson> results;
    for (const SweepTrial& trial : report.trials) {
        results.push_back(trialJson(trial));
        for (const char* timing : {"reused_tokens", "prefill_seconds", "seconds", "disturbed"})
            results.back().erase(timing);
    }
    return results;
}

} // namespace

// Needle sweeps on the engine thread: trials as they land, pausing, chats, records.
class TestSessionSweeps : public LabFixture
{
    Q_OBJECT

    ExperimentRequest sweep(const SweepRequest& request = needles(), const char* record = nullptr)
    {
        return {SweepSettings{request}, record != nullptr ? file(record) : std::string(), true, 7};
    }
    std::shared_ptr<const SweepReport> finished()
    {
        const auto end = m_log->waitFor<ExperimentFinished>();
        return end ? std::get<std::shared_ptr<const SweepReport>>(end->report) : nullptr;
    }
    std::shared_ptr<const SweepReport> reportOf(const ExperimentRequest& request)
    {
        m_session->runExperiment(request);
        return finished();
    }
    /// Pauses behind the first trial that lands. The empty map is told before it.
    void runUntilPaused(const ExperimentRequest& request)
    {
        m_log->onFirst<SweepTrialDone>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(request);
        const auto paused = m_log->waitFor<ExperimentPaused>();
        QVERIFY(paused && paused->reason == ExperimentPaused::Reason::Asked);
    }

private Q_SLOTS:
    void init() { setUp(); }
    void cleanup() { tearDown(); }

    void trialsLandOneByOne()
    {
        open();
        const auto report = reportOf(sweep());
        QVERIFY(report != nullptr);
        QCOMPARE(report->trials.size(), kTrials);
        const auto told = m_log->all<SweepTrialDone>();
        QCOMPARE(told.size(), kTrials + 1); // the empty map first
        for (std::size_t i = 0; i < told.size(); ++i)
            QCOMPARE(told[i].report->trials.size(), i);
        QCOMPARE(told[0].report->columns[0].cells.size(), std::size_t{2});
        QVERIFY(m_log->placeOf<ExperimentStarted>() < m_log->placeOf<SweepTrialDone>());
        QCOMPARE(report->columns[0].control.score.trials, 2);
        QCOMPARE(report->oracle.score.trials, 2);
        QCOMPARE(report->columns[0].pooled.score.trials, 4);
    }

    void progressRisesToTheEnd()
    {
        open();
        QVERIFY(reportOf(sweep()) != nullptr);
        double share = 0.0;
        for (const ExperimentProgress& progress : m_log->all<ExperimentProgress>()) {
            QVERIFY(progress.share >= share && progress.share <= 1.0);
            QVERIFY(progress.secondsGone >= 0.0 && progress.secondsLeft >= 0.0);
            share = progress.share;
        }
        QCOMPARE(share, 1.0);
        QCOMPARE(m_log->all<ExperimentProgress>().back().secondsLeft, 0.0);
    }

    void aPauseTakesEffectBehindTheTrial()
    {
        open();
        const auto undisturbed = reportOf(sweep());
        m_log->clear();
        runUntilPaused(sweep());
        QTest::qWait(30);
        QCOMPARE(m_log->all<SweepTrialDone>().size(), std::size_t{2});
        QCOMPARE(m_log->all<SweepTrialDone>()[1].report->trials.size(), std::size_t{1});
        m_session->resumeExperiment();
        const auto report = finished();
        QVERIFY(undisturbed != nullptr && report != nullptr);
        QCOMPARE(resultsOf(*report), resultsOf(*undisturbed));
    }

    void aCancelledSweepKeepsWhatLanded()
    {
        open();
        runUntilPaused(sweep(needles(), "needle.jsonl"));
        m_session->cancelExperiment();
        QVERIFY(m_log->waitFor<ExperimentCancelled>().has_value());
        QCOMPARE(m_log->all<ExperimentFinished>().size(), std::size_t{0});
        const RunRecordContent record = readRunRecord(file("needle.jsonl"));
        QCOMPARE(record.events.size(), std::size_t{1});
        QVERIFY(!record.summary.has_value());
        m_log->clear();
        QVERIFY(reportOf(sweep(needles(), "needle.jsonl")) != nullptr);
        QCOMPARE(readRunRecord(file("needle.jsonl")).events.size(), kTrials);
    }

    void aMessageIsAnsweredBehindTheTrialAndChangesNothing()
    {
        open();
        const auto undisturbed = reportOf(sweep());
        m_log->clear();
        std::size_t landed = 0;
        m_log->onFirst<GenerationStarted>(
            [&] { landed = m_log->all<SweepTrialDone>().back().report->trials.size(); });
        m_session->runExperiment(sweep());
        m_session->generate(question());
        const auto report = finished();
        QVERIFY(undisturbed != nullptr && report != nullptr);
        QCOMPARE(landed, std::size_t{1});
        const auto paused = m_log->waitFor<ExperimentPaused>();
        QVERIFY(paused && paused->reason == ExperimentPaused::Reason::Chat);
        QVERIFY(m_log->placeOf<ExperimentPaused>() < m_log->placeOf<GenerationStarted>());
        QVERIFY(m_log->placeOf<GenerationFinished>() < m_log->placeOf<ExperimentResumed>());
        QVERIFY(m_log->placeOf<ExperimentResumed>() < m_log->placeOf<ExperimentFinished>());
        QCOMPARE(m_log->all<GenerationFinished>()[0].summary.ids.size(), std::size_t{4});
        QCOMPARE(resultsOf(*report), resultsOf(*undisturbed));
    }

    // As when the window is closed, or the machine goes down.
    void anotherSessionGoesOnWithTheRecord()
    {
        open();
        const auto undisturbed = reportOf(sweep());
        m_log->clear();
        runUntilPaused(sweep(needles(), "needle.jsonl"));
        m_session.reset();
        m_log = std::make_unique<LabLog>();
        m_session = std::make_unique<Session>(m_log->callbacks());
        open();
        const auto report = reportOf(sweep(needles(), "needle.jsonl"));
        QVERIFY(undisturbed != nullptr && report != nullptr);
        QCOMPARE(resultsOf(*report), resultsOf(*undisturbed));
        QCOMPARE(m_log->all<SweepTrialDone>().size(), kTrials); // the first map has one trial
        const auto notes = m_log->all<ExperimentStarted>()[0].notes;
        QVERIFY(!notes.empty() && text(notes[0]).contains("1 recorded"));
        QCOMPARE(readRunRecord(file("needle.jsonl")).events.size(), kTrials);
    }

    void aRecordOfAnotherRunIsRefusedInWords_data()
    {
        QTest::addColumn<QString>("what");
        QTest::addColumn<QString>("says");
        QTest::newRow("other lengths") << "lengths"
                                       << "lengths";
        QTest::newRow("another seed") << "seed"
                                      << "seed";
        QTest::newRow("another experiment") << "positions"
                                            << "experiment";
        QTest::newRow("another model") << "model"
                                       << "recorded with rope"; // the first that differs
    }
    void aRecordOfAnotherRunIsRefusedInWords()
    {
        QFETCH(QString, what);
        QFETCH(QString, says);
        open();
        if (what == "positions") {
            ExperimentRequest other = positions();
            other.recordPath = file("needle.jsonl");
            QVERIFY(positionsReportOf(other) != nullptr);
        } else {
            runUntilPaused(sweep(needles(), "needle.jsonl"));
            m_session->cancelExperiment();
            QVERIFY(m_log->waitFor<ExperimentCancelled>().has_value());
        }
        const auto before = readRunRecord(file("needle.jsonl")).events.size();
        m_log->clear();
        if (what == "model") {
            OpenRequest other = readingModel();
            other.path = goldenPath("gguf/llama_f32.gguf");
            other.tokenizerFile.clear();
            open(other);
        }
        SweepRequest request = needles();
        if (what == "lengths")
            request.lengths = {320};
        ExperimentRequest wanted = sweep(request, "needle.jsonl");
        if (what == "seed")
            wanted.seed = 8;
        const QString message = failureOf(wanted);
        QVERIFY2(message.contains("needle.jsonl") && message.contains(says), qPrintable(message));
        QCOMPARE(message.count('\n'), 0);
        QCOMPARE(readRunRecord(file("needle.jsonl")).events.size(), before); // left as it was
    }

    void aFullDiskPausesAndNoTrialIsLost()
    {
        open();
        struct rlimit old = {};
        ::getrlimit(RLIMIT_FSIZE, &old);
        const auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
        const struct rlimit tight = {4000, old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &tight);
        m_session->runExperiment(sweep(needles(), "needle.jsonl"));
        const auto paused = m_log->waitFor<ExperimentPaused>();
        ::setrlimit(RLIMIT_FSIZE, &old);
        std::signal(SIGXFSZ, oldHandler);
        QVERIFY(paused && paused->reason == ExperimentPaused::Reason::Record);
        QVERIFY2(text(paused->message).contains("cannot be written"), paused->message.c_str());
        QVERIFY(m_log->all<SweepTrialDone>().size() < kTrials);
        m_session->resumeExperiment();
        const auto report = finished();
        QVERIFY(report != nullptr);
        const RunRecordContent record = readRunRecord(file("needle.jsonl"));
        QCOMPARE(record.events.size(), kTrials);
        QVERIFY(record.summary.has_value() && !record.hasCutLine);
    }

    void aPlanMarksWhatCannotFit()
    {
        open();
        SweepRequest request = needles();
        request.lengths = {300, 2'000'000};
        m_session->planExperiment(sweep(request));
        const auto planned = m_log->waitFor<ExperimentPlanned>();
        QVERIFY(planned && planned->plan.sweep != nullptr);
        const ExperimentPlan& plan = planned->plan;
        QVERIFY2(plan.refusal.empty(), plan.refusal.c_str());
        QVERIFY(plan.sweep->columns[0].skipReason.empty());
        QVERIFY(!plan.sweep->columns[1].skipReason.empty());
        QCOMPARE(plan.rows[1].skipReason, plan.sweep->columns[1].skipReason);
        QVERIFY(plan.sweep->columns[1].cells[0].state == CellState::CannotFit);
        QCOMPARE(plan.sweep->progress.cannotFit.cells, 3); // two depths and the control
        QVERIFY(plan.tokens < 300 * 10);                   // of what is run alone
    }

    void aTrialsPromptIsMadeAgain()
    {
        open();
        const auto report = reportOf(sweep());
        QVERIFY(report != nullptr);
        SweepRequest request = needles();
        request.seed = 7;
        for (const TrialRole role : {TrialRole::Asked, TrialRole::Control}) {
            const auto trial =
                std::find_if(report->trials.begin(), report->trials.end(),
                             [role](const SweepTrial& one) { return one.role == role; });
            QVERIFY(trial != report->trials.end());
            m_log->clear();
            m_session->makePrompt(request, *trial);
            const auto prompt = m_log->waitFor<TrialPrompt>();
            QVERIFY(prompt.has_value());
            QVERIFY2(prompt->missing.empty(), prompt->missing.c_str());
            QCOMPARE(prompt->statements.size(), std::size_t{role == TrialRole::Asked ? 1U : 0U});
            QVERIFY(prompt->question.end > prompt->question.begin);
            if (role == TrialRole::Control)
                continue;
            const TrialPrompt::Range said = prompt->statements[0];
            QVERIFY(text(prompt->text.substr(said.begin, said.end - said.begin))
                        .contains(text(trial->expected)));
        }
    }

    void snapshotsShowTheSweepsCache()
    {
        open();
        QTest::qWait(20); // so that a snapshot is due
        runUntilPaused(sweep());
        const auto snapshot = m_session->takeSnapshot();
        QCOMPARE(snapshot->phase, Phase::Lab);
        QVERIFY(snapshot->cache.contextLength > 0);
    }
};

QTEST_GUILESS_MAIN(TestSessionSweeps)
#include "tst_session_sweeps.moc"
