#include "app/lab_page.h"
#include "app/live_panels.h"
#include "app/main_window.h"
#include "engine/lab/run_record.h"
#include "tests/support/golden_json.h"
#include "widgets/chat_panel.h"
#include "widgets/context_gauge.h"
#include "widgets/lab_command_line.h"
#include "widgets/lab_latency_plots.h"
#include "widgets/lab_panel.h"
#include "widgets/lab_plan_form.h"
#include "widgets/lab_plan_table.h"
#include "widgets/lab_positions_plot.h"
#include "widgets/report_card_view.h"
#include "widgets/start_actions.h"
#include "widgets/sweep_map_panel.h"
#include "widgets/sweep_prompt_panel.h"
#include "widgets/sweep_trials_panel.h"
#include "widgets/trial_running_panel.h"

#include <QAction>
#include <QDockWidget>
#include <QLabel>
#include <QLineEdit>
#include <QPushButton>
#include <QSettings>
#include <QStackedWidget>
#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace kvscope;

// The Lab workspace of the window, with the real engine behind it.
class TestLabPage : public QObject
{
    Q_OBJECT

    QTemporaryDir m_home;
    std::unique_ptr<MainWindow> m_window;

    LabPage& lab() { return m_window->lab(); }
    LabPanel& panel() { return *m_window->lab().panel; }
    QString prose() const { return m_home.filePath("prose.txt"); }

    static OpenRequest readingModel()
    {
        OpenRequest request;
        request.path = goldenPath("hf/llama");
        request.tokenizerFile = goldenPath("tokenizers/json/contiguous.json");
        return request;
    }

    /// A window with the tiny model that reads texts, in its Lab workspace.
    void openReadingModel()
    {
        m_window = std::make_unique<MainWindow>(WindowOptions{});
        lab().setRecordFolder(m_home.filePath("runs"));
        m_window->show();
        m_window->showWorkspace(Workspace::Lab);
        open(readingModel());
    }
    void open(const OpenRequest& request)
    {
        QSignalSpy opened(&m_window->engine(), &EngineBridge::modelOpened);
        m_window->engine().session().open(request);
        QTRY_COMPARE(opened.count(), 1);
    }

    void choosePositions(std::int64_t tokens, std::int64_t chunk)
    {
        panel().list().choose(LabKind::Positions);
        LabForm& form = panel().form().form(LabKind::Positions);
        form.setText("text", prose());
        form.setNumber("length", tokens);
        form.setNumber("chunk", chunk);
    }
    /// What takes a while on any machine.
    void startLongRun()
    {
        choosePositions(4096, 16);
        QTRY_VERIFY(panel().startButton()->isEnabled() &&
                    panel().planTable().exportTable().rows.size() == 1);
        panel().startButton()->click();
    }

private Q_SLOTS:
    void initTestCase()
    {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_home.path());
        QCoreApplication::setOrganizationName("kvscope-test");
        QCoreApplication::setApplicationName("kvscope-test-lab");
        std::ofstream out(prose().toStdString());
        for (int i = 0; i < 200; ++i)
            out << "The ferry left the quay at " << i << " and nobody saw where it went. ";
    }
    void init() { QSettings().clear(); }
    void cleanup() { m_window.reset(); }

    void workspacesAreSavedArrangements()
    {
        m_window = std::make_unique<MainWindow>(WindowOptions{});
        m_window->show();
        QCOMPARE(m_window->workspace(), Workspace::Live);
        const auto isShown = [this](const char* name) {
            return !m_window->findChild<QDockWidget*>(name)->isHidden();
        };
        QVERIFY(isShown("chat") && isShown("memory") && !isShown("experiment"));
        m_window->action("Lab")->trigger();
        QCOMPARE(m_window->workspace(), Workspace::Lab);
        QVERIFY(isShown("experiment") && isShown("result") && !isShown("memory"));
        m_window->findChild<QDockWidget*>("globalLayers")->hide();
        m_window->action("Live")->trigger();
        QVERIFY(isShown("memory") && isShown("globalLayers") && !isShown("result"));
        m_window->action("Lab")->trigger();
        QVERIFY(!isShown("globalLayers") && isShown("result")); // as it was left
        m_window->resetLayout();
        QVERIFY(isShown("globalLayers"));
        m_window->close();
        m_window = std::make_unique<MainWindow>(WindowOptions{});
        QCOMPARE(m_window->workspace(), Workspace::Lab); // where it was closed
        QVERIFY(m_window->action("Lab")->isChecked());
    }

    void withoutAModelItSaysSo()
    {
        m_window = std::make_unique<MainWindow>(WindowOptions{});
        m_window->showWorkspace(Workspace::Lab);
        QVERIFY(!panel().startButton()->isEnabled());
        QVERIFY(panel().startButton()->toolTip().contains("No model open"));
    }

    void aPlanIsShownBeforeTheStart()
    {
        openReadingModel();
        choosePositions(256, 32);
        QTRY_COMPARE(panel().planTable().exportTable().rows.size(), 1);
        QTRY_VERIFY(panel().commandLine().command().contains("--length 256"));
        QVERIFY(panel().commandLine().command().startsWith("kvscope-cli positions "));
        QVERIFY(panel().commandLine().command().contains("--resume"));
        panel().form().form(LabKind::Positions).setText("text", m_home.filePath("missing.txt"));
        QTRY_VERIFY(!panel().startButton()->isEnabled());
        QTRY_VERIFY(panel().startButton()->toolTip().contains("missing.txt"));
    }

    void positionsRunAndAreRecorded()
    {
        openReadingModel();
        choosePositions(256, 32);
        panel().form().form(LabKind::Positions).setText("second", "linear:2");
        QTRY_COMPARE(panel().planTable().exportTable().rows.size(), 2);
        panel().startButton()->click();
        QCOMPARE(panel().list().state(LabKind::Positions), LabState::Running);
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Done);
        QVERIFY(panel().list().figure(LabKind::Positions).contains(QChar('0')) ||
                panel().list().figure(LabKind::Positions).contains("s"));
        QCOMPARE(lab().positions->numSeries(), std::size_t{2});
        QVERIFY(!lab().difference->isHidden());
        QVERIFY(lab().positions->csv().contains(",bin,"));
        const QStringList records = QDir(m_home.filePath("runs")).entryList({"positions-*.jsonl"});
        QCOMPARE(records.size(), 1);
        const auto record = readRunRecord((m_home.filePath("runs/") + records[0]).toStdString());
        QCOMPARE(record.events.size(), std::size_t{16});
        // The same plan again is read from its record, at once.
        panel().startButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Done);
        QVERIFY(!panel().notes().empty());
        QVERIFY(panel().notes()[0].text.contains("recorded parts"));
    }

    void latencyFillsBothPlots()
    {
        openReadingModel();
        panel().list().choose(LabKind::Latency);
        LabForm& form = panel().form().form(LabKind::Latency);
        form.setText("lengths", "8, 16, 32");
        form.setNumber("repeats", 1);
        form.setNumber("steps", 2);
        QTRY_COMPARE(panel().planTable().exportTable().rows.size(), 3);
        panel().startButton()->click();
        QTRY_COMPARE_WITH_TIMEOUT(panel().list().state(LabKind::Latency), LabState::Done, 30000);
        QTRY_COMPARE(lab().firstToken->readout().rows.size(), std::size_t{3});
        QTRY_COMPARE(lab().decodeStep->readout().rows.size(), std::size_t{3});
        // What the report says of itself stays with its kind.
        const auto notes = panel().notes();
        panel().list().choose(LabKind::Limits);
        QVERIFY(panel().notes().empty());
        panel().list().choose(LabKind::Latency);
        QVERIFY(panel().notes() == notes);
    }

    void oneClickStartsThePasskeySweep()
    {
        openReadingModel();
        m_window->showWorkspace(Workspace::Live);
        StartActions& start = m_window->panels().chat->startActions();
        QTRY_VERIFY(start.isVisible() &&
                    start.button(StartActions::Action::PasskeySweep)->isEnabled());
        QTest::mouseClick(start.button(StartActions::Action::PasskeySweep), Qt::LeftButton);
        QCOMPARE(m_window->workspace(), Workspace::Lab);
        QCOMPARE(panel().list().chosen(), LabKind::Passkey);
        QVERIFY(lab().isRunning());
        QVERIFY(!start.button(StartActions::Action::PasskeySweep)->isEnabled());
        QTRY_VERIFY_WITH_TIMEOUT(lab().map->report() != nullptr, 30000);
        QCOMPARE(lab().map->report()->experiment, std::string("passkey"));
        QCOMPARE(lab().map->report()->columns.size(), std::size_t{3});
        QCOMPARE(lab().map->report()->columns[0].tokens, 512);
        QCOMPARE(lab().map->report()->depths, (std::vector<double>{0.0, 50.0, 100.0}));
        QTRY_VERIFY_WITH_TIMEOUT(lab().running->description().startsWith("Passkey "), 30000);
        // The toolbar's Stop ends it: what landed stays.
        QAction* stop = m_window->action("Stop");
        QVERIFY(stop->isEnabled() && m_window->action("Pause or resume")->isEnabled());
        stop->trigger();
        QTRY_VERIFY_WITH_TIMEOUT(!lab().isRunning(), 30000);
        QCOMPARE(panel().list().state(LabKind::Passkey), LabState::Stopped);
        QCOMPARE(lab().running->description(), QString("nothing runs"));
        QVERIFY(!stop->isEnabled());
        QTRY_VERIFY(panel().passkeyButton()->isEnabled());
    }

    void theReportCardIsMeasuredShownAndKept()
    {
        openReadingModel();
        panel().list().choose(LabKind::Card);
        panel().form().form(LabKind::Card).setNumber("length", 128);
        panel().form().form(LabKind::Card).setNumber("chunk", 32);
        QTRY_COMPARE(panel().planTable().exportTable().rows.size(), 5);
        QTRY_VERIFY(panel().commandLine().command().contains("--length 128"));
        QVERIFY(panel().commandLine().command().startsWith("kvscope-cli report "));
        QCOMPARE(lab().results->currentWidget(), static_cast<QWidget*>(lab().card));
        panel().startButton()->click();
        QTRY_COMPARE_WITH_TIMEOUT(panel().list().state(LabKind::Card), LabState::Done, 60000);
        QVERIFY(panel().list().figure(LabKind::Card).endsWith("of 5 hold"));
        const ReportCardPage& page = *lab().card->page();
        QVERIFY(page.card() != nullptr);
        QCOMPARE(page.card()->tokens, 128);
        const QString path = m_home.filePath("card.html");
        QVERIFY(!page.saveHtml(path));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QVERIFY(file.readAll().contains("<svg"));
        QVERIFY(page.exportSource().json().contains("kvscope-card"));
        QVERIFY(QDir(m_home.filePath("runs")).entryList({"report*"}).isEmpty()); // not recorded
    }

    void aSweepFillsItsMapAndACellOpensItsTrials()
    {
        openReadingModel();
        panel().list().choose(LabKind::Needle);
        LabForm& form = panel().form().form(LabKind::Needle);
        form.setText("lengths", "300, 9000000");
        form.setText("depths", "0, 100");
        form.setNumber("items", 2);
        form.setNumber("room", 4);
        QTRY_VERIFY(lab().map->report() != nullptr && lab().map->report()->columns.size() == 2);
        QVERIFY(panel().planTable().toolTip().startsWith("9,000,000: "));
        QTRY_VERIFY(panel().startButton()->isEnabled());
        panel().startButton()->click();
        panel().pauseButton()->click();
        QTRY_COMPARE_WITH_TIMEOUT(panel().list().state(LabKind::Needle), LabState::Paused, 60000);
        const auto* recording = m_window->findChild<QLabel*>("recording");
        QTRY_VERIFY(recording->text().contains("recording needle"));
        const int wanted = recording->fontMetrics().horizontalAdvance(recording->text());
        QTRY_VERIFY(recording->contentsRect().width() >= wanted); // whole, and inside the window
        QVERIFY(recording->mapTo(m_window.get(), recording->contentsRect().topRight()).x() <
                m_window->width() - 4);
        panel().pauseButton()->click();
        QTRY_COMPARE_WITH_TIMEOUT(panel().list().state(LabKind::Needle), LabState::Done, 60000);
        QVERIFY(recording->text().isEmpty());
        QCOMPARE(lab().map->report()->trials.size(), std::size_t{8});
        QTest::qWait(500); // for the plan that follows a run
        QCOMPARE(panel().planTable().exportTable().rows[0][0], QString("Done"));
        lab().map->choose({TrialRole::Asked, 0, 1});
        QVERIFY(lab().trials->chosenTrial().has_value());
        const SweepTrial& trial = lab().map->report()->trials[*lab().trials->chosenTrial()];
        QCOMPARE(trial.depth, 100.0);
        QTRY_VERIFY(lab().prompt->shownText().contains(QString::fromStdString(trial.expected)));
    }

    void aRunPausesResumesAndIsCancelled()
    {
        openReadingModel();
        startLongRun();
        panel().pauseButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Paused);
        QCOMPARE(panel().pauseButton()->text(), QString("Resume"));
        panel().pauseButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Running);
        panel().cancelButton()->click();
        QTRY_VERIFY(panel().list().state(LabKind::Positions) == LabState::Stopped ||
                    panel().list().state(LabKind::Positions) == LabState::Done);
        QVERIFY(!lab().isRunning());
        QVERIFY(panel().startButton()->isVisible());
    }

    // The end of an answer says that the experiment goes on, which it does not.
    void aChatMeanwhileLeavesItPausedAndToBeResumed()
    {
        openReadingModel();
        startLongRun();
        panel().pauseButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Paused);
        int numResumed = 0;
        connect(&m_window->engine(), &EngineBridge::labEvent, this,
                [&numResumed](const LabEvent& event) {
                    numResumed += std::holds_alternative<ExperimentResumed>(event.what) ? 1 : 0;
                });
        ChatRequest request;
        request.messages = {{ChatRole::User, "Where is the key?"}};
        request.sampling.maxNewTokens = 4;
        m_window->engine().session().generate(request);
        QTRY_COMPARE(numResumed, 1);
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Paused);
        QVERIFY(lab().isPaused());
        QCOMPARE(panel().pauseButton()->text(), QString("Resume"));
        panel().pauseButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Running);
        panel().cancelButton()->click();
        QTRY_VERIFY(!lab().isRunning());
    }

    // What was started between an opening's end and its arrival here would run without its buttons.
    void oneThatRunsAsAModelArrivesIsGivenUp()
    {
        openReadingModel();
        startLongRun();
        lab().showModel(m_window->panels().model());
        QTRY_VERIFY(!lab().isRunning());
        QCOMPARE(panel().list().state(LabKind::Positions), LabState::Stopped);
        QVERIFY(panel().startButton()->isVisible());
    }

    void aModelOpenedAnotherWayHasARecordOfItsOwn_data()
    {
        QTest::addColumn<QString>("what");
        QTest::newRow("an int8 cache") << "cache";
        QTest::newRow("another rotation") << "rotary";
        QTest::newRow("a type that was named") << "dtype"; // also the one that auto takes
    }
    void aModelOpenedAnotherWayHasARecordOfItsOwn()
    {
        QFETCH(QString, what);
        QDir(m_home.filePath("runs")).removeRecursively();
        openReadingModel();
        const auto run = [this] {
            choosePositions(64, 32); // a model that opens suggests its own length
            QTRY_COMPARE(panel().planTable().exportTable().rows.size(), 1);
            panel().startButton()->click();
            QTRY_VERIFY(!lab().isRunning());
            QCOMPARE(panel().list().state(LabKind::Positions), LabState::Done);
        };
        const auto numRecords = [this] {
            return QDir(m_home.filePath("runs")).entryList({"positions-*.jsonl"}).size();
        };
        run();
        QCOMPARE(numRecords(), 1);
        OpenRequest other = readingModel();
        if (what == "cache")
            other.cacheDtype = "int8";
        else if (what == "rotary")
            other.rotary = "yarn:4";
        else
            other.dtype = "float32";
        open(other);
        run();
        QCOMPARE(numRecords(), 2);
        open(readingModel()); // the first again: its record is gone on with
        run();
        QCOMPARE(numRecords(), 2);
    }

    void theChatsGaugeDoesNotFollowAnExperiment()
    {
        openReadingModel();
        startLongRun();
        panel().pauseButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Paused);
        QTRY_COMPARE(m_window->engine().session().takeSnapshot()->phase, Phase::Lab);
        QVERIFY(!m_window->panels().chat->gauge().accessibleDescription().contains("4,0"));
        panel().cancelButton()->click();
        QTRY_VERIFY(!lab().isRunning());
    }

    void aFailureIsSaidInThePanel()
    {
        openReadingModel();
        choosePositions(256, 32);
        QTRY_COMPARE(panel().planTable().exportTable().rows.size(), 1);
        panel().recordField()->setText("/no/such/folder/at/all.jsonl");
        panel().startButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Failed);
        QVERIFY(panel().notes().front().text.contains("/no/such/folder"));
        QCOMPARE(panel().notes().front().kind, LabNote::Kind::Bad);
    }

    void anotherModelClearsTheResults()
    {
        openReadingModel();
        choosePositions(64, 32);
        QTRY_COMPARE(panel().planTable().exportTable().rows.size(), 1);
        panel().startButton()->click();
        QTRY_COMPARE(panel().list().state(LabKind::Positions), LabState::Done);
        QSignalSpy opened(&m_window->engine(), &EngineBridge::modelOpened);
        m_window->openModel(QString::fromStdString(goldenPath("gptosslite/tiny_a")));
        QTRY_COMPARE(opened.count(), 1);
        QCOMPARE(panel().list().state(LabKind::Positions), LabState::NotRun);
        QCOMPARE(lab().positions->numSeries(), std::size_t{0});
        QTRY_VERIFY(panel().startButton()->toolTip().contains("no usable tokenizer"));
    }
};

QTEST_MAIN(TestLabPage)
#include "tst_lab_page.moc"
