#include "widgets/lab_command_line.h"
#include "widgets/lab_notes.h"
#include "widgets/lab_panel.h"
#include "widgets/lab_plan_form.h"
#include "widgets/lab_plan_table.h"
#include "widgets/lab_progress.h"

#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QPushButton>
#include <QtTest>

using namespace kvscope;

namespace {

ExperimentPlan somePlan()
{
    ExperimentPlan plan;
    plan.rows = {{"256", 768, 1.5, false, {}},
                 {"1,048,576", 3'145'728, 0.0, true, "needs 44.0 GiB, 3.10 GiB are free"}};
    plan.tokens = 768;
    plan.seconds = 1.5;
    plan.basis = "by 4 timed prefills";
    plan.commandLine = "kvscope-cli latency model.gguf --lengths 256";
    return plan;
}

} // namespace

// What a person plans, starts and ends, without a session.
class TestLabPanel : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void lengthsAreReadAsTheyAreTyped_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QList<qlonglong>>("lengths");
        QTest::addColumn<bool>("isRight");
        QTest::newRow("commas") << "16,32" << QList<qlonglong>{16, 32} << true;
        QTest::newRow("spaces and thousands")
            << " 1K  2k;4096 " << QList<qlonglong>{1024, 2048, 4096} << true;
        QTest::newRow("none") << "" << QList<qlonglong>{} << true;
        QTest::newRow("the longest")
            << "1073741824K" << QList<qlonglong>{qlonglong{1} << 40} << true;
        QTest::newRow("beyond it") << "1073741825K" << QList<qlonglong>{} << false;
        QTest::newRow("zero") << "0" << QList<qlonglong>{} << false;
        QTest::newRow("negative") << "-4" << QList<qlonglong>{} << false;
        QTest::newRow("a fraction") << "1.5K" << QList<qlonglong>{} << false;
        QTest::newRow("words") << "many" << QList<qlonglong>{} << false;
        QTest::newRow("past 64 bits") << "99999999999999999999" << QList<qlonglong>{} << false;
        QTest::newRow("a K alone") << "K" << QList<qlonglong>{} << false;
    }
    void lengthsAreReadAsTheyAreTyped()
    {
        QFETCH(QString, text);
        QFETCH(QList<qlonglong>, lengths);
        QFETCH(bool, isRight);
        const auto read = lengthsFrom(text);
        QCOMPARE(read.has_value(), isRight);
        if (isRight)
            QCOMPARE(QList<qlonglong>(read->begin(), read->end()), lengths);
    }

    void depthsArePerCent()
    {
        QCOMPARE(*depthsFrom("0, 12.5 100"), (std::vector<double>{0.0, 12.5, 100.0}));
        for (const char* wrong : {"101", "-1", "nan", "half", "1e9"})
            QVERIFY2(!depthsFrom(wrong), wrong);
    }

    void lengthsThatSuitTheModelAreSuggested_data()
    {
        QTest::addColumn<int>("trained");
        QTest::addColumn<QString>("lengths");
        QTest::newRow("8K") << 8192 << "1024, 2048, 4096, 7680";
        QTest::newRow("512") << 512 << "128, 256, 480";
        QTest::newRow("not stated") << 0 << "512, 1024, 2048, 3840";
        QTest::newRow("absurd") << 1 << "1";
    }
    void lengthsThatSuitTheModelAreSuggested()
    {
        QFETCH(int, trained);
        QFETCH(QString, lengths);
        QCOMPARE(suggestedLengths(trained), lengths);
    }

    void formsBecomeExperiments()
    {
        LabPlanForm form;
        form.setRotaryChoices({"plain", "dynamic:2"});
        LabForm& positions = form.form(LabKind::Positions);
        QVERIFY(
            std::get<PositionsExperiment>(form.experiment(LabKind::Positions)).rotaries.empty());
        positions.setNumber("length", 4096);
        positions.setText("second", "dynamic:2");
        positions.setText("text", "/tmp/a.txt");
        auto experiment = std::get<PositionsExperiment>(form.experiment(LabKind::Positions));
        QCOMPARE(experiment.rotaries, (std::vector<std::string>{"", "dynamic:2"}));
        QCOMPARE(experiment.text, (LabText{"/tmp/a.txt", 4096}));
        positions.setText("first", "plain");
        positions.setText("second", "(the model's)");
        experiment = std::get<PositionsExperiment>(form.experiment(LabKind::Positions));
        QCOMPARE(experiment.rotaries, (std::vector<std::string>{"plain", ""}));
        QVERIFY(experiment.cacheDtypes.empty());
        positions.setText("cache", "fp8");
        experiment = std::get<PositionsExperiment>(form.experiment(LabKind::Positions));
        QCOMPARE(experiment.cacheDtypes, (std::vector<std::string>{"", "fp8"}));
        positions.setText("cache", "int8");
        experiment = std::get<PositionsExperiment>(form.experiment(LabKind::Positions));
        QCOMPARE(experiment.cacheDtypes, (std::vector<std::string>{"", "int8"}));
        form.showKind(LabKind::Positions);
        QVERIFY(form.problem().contains("not both"));
        positions.setText("second", "(none)");
        QVERIFY(form.problem().isEmpty());

        form.form(LabKind::Latency).setText("lengths", "8, 1K");
        const auto latency = std::get<LatencyExperiment>(form.experiment(LabKind::Latency));
        QCOMPARE(latency.lengths, (std::vector<std::int64_t>{8, 1024}));

        form.form(LabKind::Card).setNumber("length", 4096);
        auto card = std::get<CardExperiment>(form.experiment(LabKind::Card));
        QCOMPARE(card, (CardExperiment{4096, 30.0, true, 512}));
        form.form(LabKind::Card).setChecked("thorough", true);
        QVERIFY(!std::get<CardExperiment>(form.experiment(LabKind::Card)).isQuick);
        form.form(LabKind::Passkey).setChecked("leaky", true);
        form.form(LabKind::Passkey).setText("protocol", "reference");
        const auto passkey = std::get<SweepSettings>(form.experiment(LabKind::Passkey)).request;
        QVERIFY(passkey.experiment == SweepExperiment::Passkey && passkey.isLeaky);
        QVERIFY(passkey.protocol == PasskeyProtocol::Reference);
        QCOMPARE(form.seed(LabKind::Passkey), std::uint64_t{kPasskeySeed});
        form.form(LabKind::Needle).setChecked("pairs", true);
        const auto needle = std::get<SweepSettings>(form.experiment(LabKind::Needle)).request;
        QVERIFY(needle.experiment == SweepExperiment::NeedlePairs);
        QCOMPARE(needle.depths.size(), std::size_t{5});
        QCOMPARE(needle.numItems, 12);
    }

    void aShortFormLeavesNoGap()
    {
        LabPlanForm form;
        form.showKind(LabKind::Needle);
        const int needle = form.sizeHint().height();
        form.showKind(LabKind::Card);
        const int card = form.sizeHint().height();
        QVERIFY(card < needle - 60);
        QCOMPARE(card, form.form(LabKind::Card).sizeHint().height());
        form.showKind(LabKind::Needle);
        QCOMPARE(form.sizeHint().height(), needle);
    }

    void progressAndButtonsStayWhileThePlanScrolls()
    {
        LabPanel panel;
        panel.resize(280, 448); // as in a window of 800x600
        panel.show();
        panel.setUnavailable({});
        panel.list().choose(LabKind::Passkey);
        panel.setPlan(somePlan());
        panel.setState(LabState::Running);
        QTest::qWait(20);
        for (const QWidget* one : {static_cast<QWidget*>(panel.cancelButton()),
                                   static_cast<QWidget*>(&panel.progress())}) {
            QVERIFY(!one->visibleRegion().isEmpty());
            QCOMPARE(one->visibleRegion().boundingRect(), one->rect()); // all of it
        }
    }

    void oneClickAsksForThePasskeySweep()
    {
        LabPanel panel;
        panel.setUnavailable("No model open.");
        QVERIFY(!panel.passkeyButton()->isEnabled());
        QCOMPARE(panel.passkeyButton()->toolTip(), QString("No model open."));
        panel.setUnavailable({});
        QSignalSpy wanted(&panel, &LabPanel::passkeySweepWanted);
        QTest::mouseClick(panel.passkeyButton(), Qt::LeftButton);
        QCOMPARE(wanted.count(), 1);
        panel.setState(LabState::Running);
        QVERIFY(!panel.passkeyButton()->isEnabled());
    }

    void thePasskeySweepIsSmallAndWhateverWasTypedBeforeIsGone()
    {
        LabPlanForm form;
        LabForm& passkey = form.form(LabKind::Passkey);
        passkey.setText("lengths", "not a length");
        passkey.setNumber("more", 7);
        passkey.setText("protocol", "reference");
        passkey.setChecked("leaky", true);
        form.fillPasskeySweep();
        const auto request = std::get<SweepSettings>(form.experiment(LabKind::Passkey)).request;
        QCOMPARE(request.lengths, (std::vector<std::int64_t>{512, 1024, 4096}));
        QCOMPARE(request.depths, (std::vector<double>{0.0, 50.0, 100.0}));
        QCOMPARE(request.numItems, 20);
        QCOMPARE(request.maxTrials, 0);
        QVERIFY(request.protocol == PasskeyProtocol::Ours && !request.isLeaky);
    }

    void whatIsTypedWrongIsSaidAndCannotBeStarted()
    {
        LabPanel panel;
        panel.setUnavailable({});
        panel.list().choose(LabKind::Latency);
        QSignalSpy wanted(&panel, &LabPanel::planWanted);
        panel.form().form(LabKind::Latency).setText("lengths", "1K, two");
        QVERIFY(panel.form().problem().contains("whole numbers of tokens"));
        QTRY_COMPARE(wanted.count(), 1); // when typing rests, once
        panel.setUnavailable({});
        QVERIFY(!panel.startButton()->isEnabled());
        panel.form().form(LabKind::Latency).setText("lengths", "");
        QVERIFY(panel.form().problem().contains("at least one"));
        panel.form().form(LabKind::Latency).setText("lengths", "1K");
        panel.setPlan(somePlan());
        QVERIFY(panel.startButton()->isEnabled());

        panel.list().choose(LabKind::Positions);
        panel.form().setRotaryChoices({"plain", "linear:2"});
        panel.setUnavailable({});
        panel.setPlan(somePlan());
        QVERIFY(panel.startButton()->isEnabled());
        panel.form().form(LabKind::Positions).setText("second", "linear:2");
        panel.form().form(LabKind::Positions).setText("cache", "int8");
        panel.setUnavailable({});
        QVERIFY(!panel.startButton()->isEnabled());
        QVERIFY(panel.startButton()->toolTip().contains("not both at once"));
    }

    void aRefusedPlanCannotBeStartedAndSaysWhy()
    {
        LabPanel panel;
        panel.setUnavailable({});
        ExperimentPlan plan = somePlan();
        plan.refusal = "the text has 7 tokens";
        panel.setPlan(plan);
        QVERIFY(!panel.startButton()->isEnabled());
        QVERIFY(panel.startButton()->toolTip().contains("the text has 7 tokens"));
    }

    void thePlanMarksWhatCannotFit()
    {
        LabPanel panel;
        panel.setUnavailable({});
        panel.setPlan(somePlan());
        const SnapshotTable table = panel.planTable().exportTable();
        QCOMPARE(table.rows.size(), 2);
        QVERIFY(table.rows[1][0].startsWith(QChar(0x2715)));
        QVERIFY(panel.planTable().toolTip().contains("needs 44.0 GiB, 3.10 GiB are free"));
        QCOMPARE(table.rows[0][2], QString("1.50 s"));
        QCOMPARE(panel.commandLine().command(),
                 QString("kvscope-cli latency model.gguf --lengths 256"));
        panel.commandLine().copy();
        QCOMPARE(QApplication::clipboard()->text(), panel.commandLine().command());
    }

    void aLongPlanIsCutAndSaysHowMuch()
    {
        LabPlanTable table;
        ExperimentPlan plan;
        for (int i = 0; i < 20; ++i)
            plan.rows.push_back({std::to_string(i + 1), i + 1, 0.0, false, {}});
        table.setPlan(plan);
        QCOMPARE(table.exportTable().rows.size(), 8);
        QCOMPARE(table.exportTable().rows.last()[0], QString("and 13 more"));
    }

    void aSweepsPlanIsByHowFarItIs()
    {
        SweepReport report;
        report.progress.done = {22, 396, 1'721'000};
        report.progress.queued = {2, 24, 39'300};
        report.progress.cannotFit = {5, 60, 7'864'000};
        SweepColumn column;
        column.tokens = 131072;
        column.skipReason = "needs 3.35 GiB, 3.10 GiB are free";
        report.columns.push_back(column);
        LabPlanTable table;
        table.setSweep(report);
        QCOMPARE(table.exportTable().rows.size(), 3);
        QCOMPARE(table.exportTable().rows[0], (QStringList{"Done", "22", "396", "1,721 k"}));
        QCOMPARE(table.exportTable().columns[0], QString("controls too"));
        QCOMPARE(table.exportTable().rows[1][3], QString("39,300"));
        QVERIFY(table.toolTip().startsWith("131,072: needs 3.35 GiB"));
        report.progress.cannotFit.tokens = 72'000'000;
        table.setSweep(report);
        QCOMPARE(table.exportTable().rows[2][3], QString("72 M"));
    }

    void aReasonThatDoesNotFitItsLineIsWrapped()
    {
        SweepReport report;
        report.progress.cannotFit = {5, 60, 7'864'000};
        SweepColumn column;
        column.tokens = 131072;
        column.skipReason = "short";
        report.columns.push_back(column);
        LabPlanTable table;
        table.setSweep(report);
        const int oneLine = table.heightForWidth(260);
        report.columns[0].skipReason = "the filler text makes no more than 376,772 tokens: give a "
                                       "longer one, or ask for fewer lengths than these";
        table.setSweep(report);
        QVERIFY(table.heightForWidth(260) > oneLine + 20);
        QVERIFY(table.heightForWidth(900) < table.heightForWidth(260));
        QVERIFY(table.sizeHint().height() == table.heightForWidth(260));
    }

    void buttonsFollowTheState()
    {
        LabPanel panel;
        panel.resize(300, 800);
        panel.show();
        panel.setUnavailable({});
        panel.setPlan(somePlan());
        QVERIFY(panel.startButton()->isVisible() && !panel.pauseButton()->isVisible());
        panel.setState(LabState::Running);
        QVERIFY(!panel.startButton()->isVisible() && panel.cancelButton()->isVisible());
        QVERIFY(!panel.form().isEnabled());
        QSignalSpy paused(&panel, &LabPanel::pauseWanted);
        QSignalSpy resumed(&panel, &LabPanel::resumeWanted);
        QTest::keyClick(&panel, Qt::Key_Space);
        QCOMPARE(paused.count(), 1);
        panel.setState(LabState::Paused);
        QCOMPARE(panel.pauseButton()->text(), QString("Resume"));
        QTest::keyClick(&panel, Qt::Key_Space);
        QCOMPARE(resumed.count(), 1);
        panel.setState(LabState::Done);
        QVERIFY(panel.startButton()->isVisible() && panel.form().isEnabled());
    }

    void aTypedRecordStaysAndTheUsualOneFollows()
    {
        LabPanel panel;
        panel.list().choose(LabKind::Positions);
        panel.setUsualRecord("/runs/a.jsonl");
        QCOMPARE(panel.request().recordPath, std::string("/runs/a.jsonl"));
        panel.setUsualRecord("/runs/b.jsonl");
        QCOMPARE(panel.request().recordPath, std::string("/runs/b.jsonl"));
        panel.recordField()->setText("/mine.jsonl");
        panel.setUsualRecord("/runs/c.jsonl");
        QCOMPARE(panel.request().recordPath, std::string("/mine.jsonl"));
        panel.list().choose(LabKind::Card); // a page of its own is not, either
        QVERIFY(panel.request().recordPath.empty());
        panel.list().choose(LabKind::Limits); // arithmetic is not recorded
        QVERIFY(panel.request().recordPath.empty());
    }

    void progressIsByTime()
    {
        LabProgress progress;
        progress.setProgress(0.729, 5400.0, 2100.0, "4,096 at 50 %, ferry");
        QCOMPARE(progress.texts(),
                 (QStringList{"72 % of the time", "1 h 30 min gone, 35 min 0 s left",
                              "4,096 at 50 %, ferry"}));
        progress.setProgress(1.0, 7.0, 0.0, {});
        QCOMPARE(progress.texts()[0], QString("100 % of the time"));
        QCOMPARE(progress.texts()[1], QString("7.00 s gone")); // nothing is left to say
    }

    void aSweepSaysHowSoundItIs()
    {
        SweepReport report;
        report.numLintedPrompts = 432;
        report.progress.reusedTokens = 41;
        report.progress.promptTokens = 100;
        report.progress.numDisturbed = 3;
        SweepColumn column;
        column.control.score = {0, 60};
        report.columns.push_back(column);
        auto notes = notesOf(report);
        QCOMPARE(notes.size(), std::size_t{4});
        QVERIFY(notes[0].text.contains("41 %"));
        QVERIFY(notes[1].text.contains("432 prompts") && notes[1].kind == LabNote::Kind::Good);
        QVERIFY(notes[2].text.contains("0/60") && notes[2].kind == LabNote::Kind::Good);
        QVERIFY(notes[3].kind == LabNote::Kind::Caution);
        report.columns[0].control.score.correct = 2;
        report.isLeaking = true;
        notes = notesOf(report);
        QVERIFY(notes[1].kind == LabNote::Kind::Bad); // never "no answer in them"
        QVERIFY(notes[2].kind == LabNote::Kind::Caution);
        QVERIFY(notesOf(SweepReport()).empty());
    }

    void theListSaysStatesWithoutColour()
    {
        LabExperimentList list;
        QSignalSpy chosen(&list, &LabExperimentList::kindChosen);
        list.setState(LabKind::Use, LabState::Done, "+0.33 nats");
        list.setState(LabKind::Latency, LabState::Failed);
        QCOMPARE(list.figure(LabKind::Use), QString("+0.33 nats"));
        QCOMPARE(list.figure(LabKind::Latency), QString("failed"));
        QCOMPARE(list.figure(LabKind::Needle), QString("not run"));
        QTest::keyClick(&list, Qt::Key_Down);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(list.chosen(), LabKind::Positions);
    }
};

QTEST_MAIN(TestLabPanel)
#include "tst_lab_panel.moc"
