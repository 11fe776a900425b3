#include "tests/engine/session/lab_fixture.h"

using namespace kvscope;

// What is known of an experiment before it starts, and what cannot be run.
class TestSessionLabPlans : public LabFixture
{
    Q_OBJECT
private Q_SLOTS:
    void init() { setUp(); }
    void cleanup() { tearDown(); }

    void whatCannotBeRunFailsInOneSentence_data()
    {
        QTest::addColumn<QString>("what");
        QTest::addColumn<QString>("says");
        QTest::newRow("no such text") << "no text"
                                      << "nowhere.txt";
        QTest::newRow("a folder for a text") << "folder"
                                             << "not a regular file";
        QTest::newRow("not UTF-8") << "latin"
                                   << "not UTF-8 text (byte 3)";
        QTest::newRow("an empty text") << "empty"
                                       << "two tokens or more, the text has 0";
        QTest::newRow("a shorter text than asked for") << "short"
                                                       << "a smaller length";
        QTest::newRow("three schemes") << "three"
                                       << "at most two";
        QTest::newRow("a cache and itself") << "same cache"
                                            << "nothing to compare";
        QTest::newRow("a scheme that is none") << "scheme"
                                               << "sideways";
        QTest::newRow("no length") << "no length"
                                   << "at least one length";
        QTest::newRow("a length below one") << "negative"
                                            << "-5 is not positive";
        QTest::newRow("segments too short") << "segments"
                                            << "tokens a segment";
    }
    void whatCannotBeRunFailsInOneSentence()
    {
        QFETCH(QString, what);
        QFETCH(QString, says);
        open();
        std::ofstream(file("latin.txt")) << "caf\xE9";
        std::ofstream(file("empty.txt")) << "";
        PositionsExperiment loss;
        loss.text = {prose(), kTokens};
        LatencyExperiment latency;
        UseExperiment use;
        use.text = {prose(), 20};
        ExperimentRequest request;
        if (what == "no text")
            loss.text.file = file("nowhere.txt");
        else if (what == "folder")
            loss.text.file = m_folder->path().toStdString();
        else if (what == "latin")
            loss.text.file = file("latin.txt");
        else if (what == "empty")
            loss.text = {file("empty.txt"), 0};
        else if (what == "short")
            loss.text.length = 1'000'000;
        else if (what == "three")
            loss.rotaries = {"", "plain", "linear:2"};
        else if (what == "scheme")
            loss.rotaries = {"", "sideways"};
        else if (what == "same cache") // float32 throughout is what "auto" finds in this model
            loss.cacheDtypes = {"", "float32"};
        else if (what == "no length")
            latency.lengths.clear();
        else if (what == "negative")
            latency.lengths = {8, -5};
        request.experiment = loss;
        if (what == "no length" || what == "negative")
            request.experiment = latency;
        if (what == "segments")
            request.experiment = use;
        const QString message = failureOf(request);
        QVERIFY2(message.contains(says), qPrintable(message));
        m_session->planExperiment(request);
        const auto planned = m_log->waitFor<ExperimentPlanned>();
        QVERIFY(planned.has_value());
        QCOMPARE(text(planned->plan.refusal), message); // known before the start
        QTRY_COMPARE(m_session->takeSnapshot()->phase, Phase::Idle);
    }

    void withoutAModelOrTokenizerItSaysSo()
    {
        QCOMPARE(failureOf(positions()), QString("no model is open"));
        m_log->clear();
        OpenRequest mute;
        mute.path = goldenPath("gptosslite/tiny_a");
        open(mute);
        QVERIFY(failureOf(positions()).contains("no usable tokenizer"));
    }

    void aPlanSaysWhatWillBeRun()
    {
        open();
        LatencyExperiment latency;
        latency.lengths = {32, 8, 32, 1024};
        latency.chunkTokens = 16;
        latency.repeats = 2;
        m_session->planExperiment({latency, file("latency.jsonl"), true, 0});
        const auto planned = m_log->waitFor<ExperimentPlanned>();
        QVERIFY(planned.has_value());
        const ExperimentPlan& plan = planned->plan;
        QVERIFY2(plan.refusal.empty(), plan.refusal.c_str());
        QCOMPARE(plan.rows.size(), std::size_t{3});
        QCOMPARE(text(plan.rows[0].label), QString("8"));
        QCOMPARE(plan.tokens, 2 * 8 + 2 * 2 * 32 + 2 * 2 * 1024);
        QVERIFY(plan.rows[2].isBeyondTrained && !plan.rows[1].isBeyondTrained);
        QCOMPARE(plan.seconds, 0.0);
        QVERIFY(text(plan.basis).contains("nothing was timed"));
        QVERIFY(text(plan.commandLine).startsWith("kvscope-cli latency "));
        QVERIFY(!std::filesystem::exists(file("latency.jsonl")));
    }

    void aPlanEstimatesByWhatWasTimed()
    {
        open();
        LatencyExperiment latency;
        latency.lengths = {32, 64};
        latency.repeats = 1;
        latency.decodeSteps = 1;
        // A disturbed run does not count, so it may take several.
        for (int i = 0; i < 20 && (m_log->all<ExperimentPlanned>().empty() ||
                                   m_log->all<ExperimentPlanned>().back().plan.seconds == 0.0);
             ++i) {
            m_session->runExperiment({latency, {}, true, 0});
            QVERIFY(m_log->waitFor<ExperimentFinished>(i + 1).has_value());
            m_session->planExperiment(positions());
            QVERIFY(m_log->waitFor<ExperimentPlanned>(i + 1).has_value());
        }
        const ExperimentPlan plan = m_log->all<ExperimentPlanned>().back().plan;
        if (wereAllRunsDisturbed()) {
            QCOMPARE(plan.seconds, 0.0);
            QSKIP("other load disturbed every run, so that nothing was timed");
        }
        QVERIFY(plan.seconds > 0.0);
        QVERIFY(text(plan.basis).contains("timed prefill"));
    }

private:
    bool wereAllRunsDisturbed() const
    {
        for (const ExperimentFinished& finished : m_log->all<ExperimentFinished>())
            for (const FirstTokenRow& row :
                 std::get<std::shared_ptr<const LatencyReport>>(finished.report)->firstToken)
                if (!row.isDisturbed)
                    return false;
        return true;
    }
};

QTEST_GUILESS_MAIN(TestSessionLabPlans)
#include "tst_session_lab_plans.moc"
