#include "engine/lab/positions.h"
#include "engine/lab/run_record.h"
#include "tests/engine/session/lab_fixture.h"

#include <QTemporaryDir>
#include <QtTest>

#include <csignal>
#include <filesystem>
#include <fstream>
#include <sys/resource.h>

using namespace kvscope;

// Experiments on the engine thread: their events in order, pausing, chats meanwhile, records.
class TestSessionLab : public LabFixture
{
    Q_OBJECT

private Q_SLOTS:
    void init() { setUp(); }
    void cleanup() { tearDown(); }

    void positionsTellTheirPartsInOrder()
    {
        open();
        const auto report = positionsReportOf(positions());
        QVERIFY(report != nullptr);
        QVERIFY(m_log->placeOf<ExperimentStarted>() < m_log->placeOf<PositionsBegun>());
        QVERIFY(m_log->placeOf<PositionsBegun>() < m_log->placeOf<PositionsScored>());
        QVERIFY(m_log->placeOf<PositionsScored>() < m_log->placeOf<ExperimentFinished>());
        QCOMPARE(m_log->all<PositionsBegun>()[0].tokens, kTokens);
        QCOMPARE(m_log->all<PositionsBegun>()[0].trainedPositions, 512);
        std::vector<double> told;
        for (const PositionsScored& part : m_log->all<PositionsScored>()) {
            QCOMPARE(part.scored.firstPosition, static_cast<std::int64_t>(told.size()));
            told.insert(told.end(), part.scored.nll.begin(), part.scored.nll.end());
        }
        QCOMPARE(std::ssize(told), kTokens - 1);
        QCOMPARE(report->series[0].nll, told);
        const ExperimentProgress last = m_log->all<ExperimentProgress>().back();
        QCOMPARE(last.share, 1.0);
        QCOMPARE(last.secondsLeft, 0.0);
        for (const ExperimentProgress& progress : m_log->all<ExperimentProgress>())
            QVERIFY(progress.share >= 0.0 && progress.share <= 1.0);
    }

    void twoSchemesEndWithTheirDifference()
    {
        open();
        const auto report = positionsReportOf(positions({"", "linear:4"}));
        QVERIFY(report != nullptr);
        QCOMPARE(report->series.size(), std::size_t{2});
        QVERIFY(text(report->series[1].rotary).contains("linear x4"));
        QVERIFY(!report->differences.empty());
        QVERIFY(report->series[0].nll != report->series[1].nll);
        QCOMPARE(m_log->all<PositionsBegun>().back().series, std::size_t{1});
    }

    void twoCachesEndWithTheirDifference()
    {
        open();
        ExperimentRequest request = positions();
        std::get<PositionsExperiment>(request.experiment).cacheDtypes = {"", "int8"};
        const auto report = positionsReportOf(request);
        QVERIFY(report != nullptr);
        QCOMPARE(report->series.size(), std::size_t{2});
        QVERIFY(text(report->series[1].name()).endsWith(", int8 cache"));
        QCOMPARE(report->series[0].rotary, report->series[1].rotary);
        QVERIFY(report->series[0].nll != report->series[1].nll);
        QCOMPARE(text(m_log->all<PositionsBegun>().back().name), text(report->series[1].name()));
    }

    void latencyTellsItsRowsAndKeepsARecord()
    {
        open();
        LatencyExperiment latency;
        latency.lengths = {8, 16, 32};
        latency.chunkTokens = 8;
        latency.repeats = 2;
        latency.decodeSteps = 3;
        m_session->runExperiment({latency, file("latency.jsonl"), true, 0});
        const auto finished = m_log->waitFor<ExperimentFinished>();
        QVERIFY(finished.has_value());
        const auto report = std::get<std::shared_ptr<const LatencyReport>>(finished->report);
        QCOMPARE(report->firstToken.size(), std::size_t{5}); // one shot thrice, chunks twice
        QCOMPARE(m_log->all<FirstTokenRow>().size(), std::size_t{5});
        QCOMPARE(m_log->all<DecodeStepRow>().size(), std::size_t{3});
        QVERIFY(report->bandwidthBytesPerSecond > 0.0);
        const RunRecordContent record = readRunRecord(file("latency.jsonl"));
        QCOMPARE(text(record.header.at("experiment")), QString("latency"));
        QCOMPARE(record.events.size(), std::size_t{13}); // ten prefills, three decodes
        QVERIFY(record.summary.has_value());
    }

    void useTellsItsSegments()
    {
        open();
        UseExperiment use;
        use.text = {prose(), kTokens};
        use.numSegments = 4;
        use.chunkTokens = kChunk;
        m_session->runExperiment({use, file("use.jsonl"), true, 0});
        const auto finished = m_log->waitFor<ExperimentFinished>();
        QVERIFY(finished.has_value());
        const auto report = std::get<std::shared_ptr<const UseReport>>(finished->report);
        QCOMPARE(m_log->all<UseSegment>().size(), std::size_t{4});
        QVERIFY(report->firstSegmentAgrees());
        QCOMPARE(readRunRecord(file("use.jsonl")).events.size(), std::size_t{4});
    }

    void limitsAreArithmeticAndRecordNothing()
    {
        open(); // no tokenizer is needed for them, but a model is
        m_session->runExperiment({LimitsExperiment{{64, 256}, 1.0}, file("limits.jsonl"), true, 0});
        const auto finished = m_log->waitFor<ExperimentFinished>();
        QVERIFY(finished.has_value());
        const auto report = std::get<std::shared_ptr<const LimitsReport>>(finished->report);
        QCOMPARE(report->rows.size(), std::size_t{2});
        QCOMPARE(report->rows[1].tokens, 256);
        QCOMPARE(report->budget->budgetBytes, std::uint64_t{1} << 30);
        QVERIFY(!std::filesystem::exists(file("limits.jsonl")));
    }

    void aPauseTakesEffectBehindTheChunk()
    {
        open();
        m_log->onFirst<PositionsScored>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(positions());
        const auto paused = m_log->waitFor<ExperimentPaused>();
        QVERIFY(paused.has_value());
        QVERIFY(paused->reason == ExperimentPaused::Reason::Asked);
        QTest::qWait(30);
        QCOMPARE(m_log->all<PositionsScored>().size(), std::size_t{1});
        m_session->resumeExperiment();
        const auto finished = m_log->waitFor<ExperimentFinished>();
        QVERIFY(finished.has_value());
        QVERIFY(m_log->placeOf<ExperimentResumed>() > m_log->placeOf<ExperimentPaused>());
        QCOMPARE(m_log->all<PositionsScored>().size(), std::size_t{kTokens / kChunk});
        QVERIFY2(finished->seconds < 0.03 + 20.0, "the pause is not time gone");
    }

    void pausedTimeIsNotTimeGone()
    {
        open();
        m_log->onFirst<PositionsScored>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        const auto waited = std::chrono::milliseconds(400);
        QTest::qWait(static_cast<int>(waited.count()));
        const auto before = std::chrono::steady_clock::now();
        m_session->resumeExperiment();
        const auto finished = m_log->waitFor<ExperimentFinished>();
        QVERIFY(finished.has_value());
        const std::chrono::duration<double> after = std::chrono::steady_clock::now() - before;
        // At most what ran after the pause, and the chunk before it.
        QVERIFY2(finished->seconds < after.count() + 0.3,
                 qPrintable(QString::number(finished->seconds)));
        const auto report = std::get<std::shared_ptr<const PositionsReport>>(finished->report);
        QVERIFY(report->series[0].seconds <= finished->seconds);
    }

    void aCancelledOneEndsAndTheNextRuns()
    {
        open();
        m_log->onFirst<PositionsScored>([this] { m_session->cancelExperiment(); });
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<ExperimentCancelled>().has_value());
        QVERIFY(m_log->all<PositionsScored>().size() < kTokens / kChunk);
        QCOMPARE(m_log->all<ExperimentFinished>().size(), std::size_t{0});
        QVERIFY(positionsReportOf(positions()) != nullptr);
    }

    void aPausedOneMayBeCancelledAndOnesThatWaitGoToo()
    {
        open();
        m_log->onFirst<PositionsScored>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(positions());
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        m_session->cancelExperiment();
        QVERIFY(m_log->waitFor<ExperimentCancelled>(2).has_value());
        QCOMPARE(m_log->all<ExperimentCancelled>().size(), std::size_t{2});
        QTRY_COMPARE(m_session->takeSnapshot()->phase, Phase::Idle);
    }

    void aChatIsAnsweredBetweenChunksAndChangesNothing()
    {
        open();
        const auto alone = positionsReportOf(positions());
        m_log->clear();
        m_log->onFirst<PositionsScored>([this] { m_session->generate(question()); });
        const auto report = positionsReportOf(positions());
        QVERIFY(alone != nullptr && report != nullptr);
        const auto paused = m_log->waitFor<ExperimentPaused>();
        QVERIFY(paused && paused->reason == ExperimentPaused::Reason::Chat);
        QVERIFY(m_log->placeOf<ExperimentPaused>() < m_log->placeOf<GenerationStarted>());
        QVERIFY(m_log->placeOf<GenerationFinished>() < m_log->placeOf<ExperimentResumed>());
        QVERIFY(m_log->placeOf<ExperimentResumed>() < m_log->placeOf<ExperimentFinished>());
        QCOMPARE(m_log->all<GenerationFinished>()[0].summary.ids.size(), std::size_t{4});
        QCOMPARE(report->series[0].nll, alone->series[0].nll);
    }

    void aChatWhilePausedIsAnsweredAndItStaysPaused()
    {
        open();
        m_log->onFirst<PositionsScored>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        std::size_t pausesBefore = 0;
        m_log->onFirst<ExperimentResumed>(
            [&] { pausesBefore = m_log->all<ExperimentPaused>().size(); });
        m_session->generate(question());
        QVERIFY(m_log->waitFor<GenerationFinished>().has_value());
        // Told anew behind the end of the chat, which says that it goes on.
        QTRY_COMPARE(m_log->all<ExperimentPaused>().size(), std::size_t{3});
        using Reason = ExperimentPaused::Reason;
        const auto pauses = m_log->all<ExperimentPaused>();
        QVERIFY(pauses[0].reason == Reason::Asked && pauses[1].reason == Reason::Chat &&
                pauses[2].reason == Reason::Asked);
        QCOMPARE(m_log->all<ExperimentResumed>().size(), std::size_t{1});
        QCOMPARE(pausesBefore, std::size_t{2});
        QTest::qWait(20);
        QCOMPARE(m_log->all<PositionsScored>().size(), std::size_t{1});
        m_session->resumeExperiment();
        QVERIFY(m_log->waitFor<ExperimentFinished>().has_value());
        QCOMPARE(m_log->all<ExperimentResumed>().size(), std::size_t{2});
    }

    void stoppingAChatDoesNotEndTheExperiment()
    {
        open();
        ChatRequest endless = question();
        endless.sampling.maxNewTokens = 100'000;
        endless.sampling.stopsAtEndTokens = false;
        m_log->onFirst<PositionsScored>([&] { m_session->generate(endless); });
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<TokenGenerated>().has_value());
        m_session->stopGenerating();
        QVERIFY(m_log->waitFor<ExperimentFinished>().has_value());
        QCOMPARE(m_log->all<GenerationFinished>()[0].summary.finish, FinishReason::Cancelled);
    }

    // A click on Pause just behind Start comes before the engine has begun.
    void aPauseBeforeTheBeginningIsKept()
    {
        open();
        m_session->runExperiment(positions());
        m_session->pauseExperiment();
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        m_session->resumeExperiment();
        QVERIFY(m_log->waitFor<ExperimentFinished>().has_value());
        m_log->clear();
        m_session->pauseExperiment(); // of nothing
        QVERIFY(positionsReportOf(positions()) != nullptr);
    }

    void theChatsContextIsNotTouched()
    {
        open();
        ChatRequest request = question();
        m_session->generate(request);
        const auto first = m_log->waitFor<GenerationFinished>();
        QVERIFY(first.has_value());
        QTRY_COMPARE(m_session->takeSnapshot()->phase, Phase::Idle);
        const auto before = m_session->takeSnapshot()->cache.contextLength;
        QVERIFY(positionsReportOf(positions()) != nullptr);
        QTRY_COMPARE(m_session->takeSnapshot()->phase, Phase::Idle);
        const auto held = m_session->takeSnapshot()->cache.contextLength;
        QVERIFY(held > 0 && held < kTokens);
        QCOMPARE(held, before);
        m_log->clear();
        m_session->generate(question()); // the same prompt: all of it but its last token is there
        const auto again = m_log->waitFor<GenerationFinished>();
        QVERIFY(again.has_value());
        QCOMPARE(m_log->all<GenerationStarted>()[0].keptTokens, again->summary.promptTokens - 1);
    }

    void snapshotsShowTheExperimentsCache()
    {
        open();
        QTest::qWait(20); // so that a snapshot is due
        m_log->onFirst<ExperimentProgress>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        const auto snapshot = m_session->takeSnapshot();
        QCOMPARE(snapshot->phase, Phase::Lab);
        QCOMPARE(snapshot->cache.contextLength, kChunk);
    }

    void aRecordIsResumedSchemeByScheme()
    {
        open();
        ExperimentRequest request = positions({"", "linear:2"});
        request.recordPath = file("positions.jsonl");
        // Ends within the second scheme.
        std::size_t begun = 0;
        m_log->onFirst<ExperimentStarted>([] {});
        m_session->runExperiment(request);
        const auto whole = m_log->waitFor<ExperimentFinished>();
        QVERIFY(whole.has_value());
        const RunRecordContent record = readRunRecord(request.recordPath);
        QCOMPARE(record.events.size(), std::size_t{2 * kTokens / kChunk});
        // As a kill leaves it: the first scheme whole, the second begun, the last line cut.
        std::ifstream in(request.recordPath);
        std::string kept;
        for (std::string line; std::getline(in, line) && begun < kTokens / kChunk + 3; ++begun)
            kept += line + '\n';
        std::ofstream(request.recordPath) << kept << "{\"line\":\"event\",\"ki";
        m_log->clear();
        m_session->runExperiment(request);
        const auto resumed = m_log->waitFor<ExperimentFinished>();
        QVERIFY(resumed.has_value());
        const auto notes = m_log->all<ExperimentStarted>()[0].notes;
        QCOMPARE(notes.size(), std::size_t{2});
        QVERIFY(text(notes[0]).contains("cut off"));
        // The recorded scheme comes in one piece.
        QCOMPARE(m_log->all<PositionsScored>()[0].scored.nll.size(), std::size_t{kTokens - 1});
        const auto first = std::get<std::shared_ptr<const PositionsReport>>(whole->report);
        const auto second = std::get<std::shared_ptr<const PositionsReport>>(resumed->report);
        QCOMPARE(second->series[0].nll, first->series[0].nll);
        QCOMPARE(second->series[1].nll, first->series[1].nll);
    }

    void aRecordOfAnotherRunIsRefusedByName()
    {
        open();
        ExperimentRequest request = positions();
        request.recordPath = file("positions.jsonl");
        QVERIFY(positionsReportOf(request) != nullptr);
        ExperimentRequest other = positions({}, 32);
        other.recordPath = request.recordPath;
        const QString message = failureOf(other);
        QVERIFY2(message.contains("chunk"), qPrintable(message));
        m_log->clear();
        request.resumes = false; // a record that is there is not written over
        QVERIFY(failureOf(request).contains("positions.jsonl"));
    }

    void whatIsMeasuredAsOneIsNotGoneOnWith_data()
    {
        QTest::addColumn<bool>("isLatency");
        QTest::newRow("latency") << true;
        QTest::newRow("use") << false;
    }
    void whatIsMeasuredAsOneIsNotGoneOnWith()
    {
        QFETCH(bool, isLatency);
        open();
        LatencyExperiment latency;
        latency.lengths = {8};
        latency.repeats = 1;
        latency.decodeSteps = 1;
        UseExperiment use;
        use.text = {prose(), kTokens};
        ExperimentRequest request{use, file("once.jsonl"), true, 0};
        if (isLatency)
            request.experiment = latency;
        m_session->runExperiment(request);
        QVERIFY(m_log->waitFor<ExperimentFinished>().has_value());
        const auto events = readRunRecord(request.recordPath).events.size();
        QVERIFY(failureOf(request).contains("once.jsonl"));
        QCOMPARE(readRunRecord(request.recordPath).events.size(), events);
    }

    void aFullDiskPausesAndNothingIsLost()
    {
        open();
        ExperimentRequest request = positions();
        request.recordPath = file("positions.jsonl");
        struct rlimit old = {};
        ::getrlimit(RLIMIT_FSIZE, &old);
        const auto oldHandler = std::signal(SIGXFSZ, SIG_IGN);
        const struct rlimit tight = {2500, old.rlim_max};
        ::setrlimit(RLIMIT_FSIZE, &tight);
        m_session->runExperiment(request);
        const auto paused = m_log->waitFor<ExperimentPaused>();
        ::setrlimit(RLIMIT_FSIZE, &old);
        std::signal(SIGXFSZ, oldHandler);
        QVERIFY(paused.has_value());
        QVERIFY(paused->reason == ExperimentPaused::Reason::Record);
        QVERIFY2(text(paused->message).contains("cannot be written"), paused->message.c_str());
        m_session->resumeExperiment();
        QVERIFY(m_log->waitFor<ExperimentFinished>().has_value());
        const RunRecordContent record = readRunRecord(request.recordPath);
        QCOMPARE(record.events.size(), std::size_t{kTokens / kChunk});
        QVERIFY(record.summary.has_value() && !record.hasCutLine);
    }

    void openingAnotherModelGivesItUp()
    {
        open();
        m_log->onFirst<PositionsScored>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        m_session->open(readingModel());
        QVERIFY(m_log->waitFor<ExperimentCancelled>().has_value());
        QVERIFY(m_log->waitFor<ModelOpened>(2).has_value());
    }

    // It was asked for when the window still showed the model before, and its plan.
    void oneThatIsAskedForWhileAModelOpensIsGivenUp()
    {
        m_log->onFirst<OpeningProgress>([this] { m_session->runExperiment(positions()); });
        open();
        QVERIFY(m_log->waitFor<ExperimentCancelled>().has_value());
        QVERIFY(m_log->placeOf<ExperimentCancelled>() < m_log->placeOf<ModelOpened>());
        QCOMPARE(m_log->all<ExperimentStarted>().size(), std::size_t{0});
        QVERIFY(positionsReportOf(positions()) != nullptr); // but on the open one it runs
    }

    // Nothing of the chat's cache is copied as it is shown again behind an experiment's.
    void growthOfAnotherCacheIsNoGrowth()
    {
        open();
        ChatRequest request = question();
        m_session->generate(request);
        QVERIFY(m_log->waitFor<GenerationFinished>().has_value());
        // So much longer that what the cache held moves to larger arrays.
        request.messages.push_back({ChatRole::Assistant, "Under the mat."});
        request.messages.push_back({ChatRole::User, std::string(200, 'b')});
        m_session->generate(request);
        QVERIFY(m_log->waitFor<GenerationFinished>(2).has_value());
        QTRY_COMPARE(m_session->takeSnapshot()->phase, Phase::Idle);
        QVERIFY(m_session->takeSnapshot()->cache.peakGrowthBytes > 0);
        QTest::qWait(20); // so that a snapshot is due
        // Read in one piece, so that its cache grows once.
        QVERIFY(positionsReportOf(positions({}, kTokens)) != nullptr);
        QTRY_COMPARE(m_session->takeSnapshot()->phase, Phase::Idle);
        QCOMPARE(m_session->takeSnapshot()->memory.growthCopy, std::uint64_t{0});
    }

    void destroyingTheSessionWhilePausedJoins()
    {
        open();
        m_log->onFirst<PositionsScored>([this] { m_session->pauseExperiment(); });
        m_session->runExperiment(positions());
        QVERIFY(m_log->waitFor<ExperimentPaused>().has_value());
        m_session.reset();
        QVERIFY(true); // reached: the thread was joined
    }
};

QTEST_GUILESS_MAIN(TestSessionLab)
#include "tst_session_lab.moc"
