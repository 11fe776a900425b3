#include "app/live_panels.h"
#include "app/main_window.h"
#include "app/panel_help.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "widgets/chat_panel.h"
#include "widgets/checks_model.h"
#include "widgets/checks_view.h"
#include "widgets/composer.h"
#include "widgets/message_bar.h"
#include "widgets/open_dialog.h"
#include "widgets/rings_panel.h"
#include "widgets/start_actions.h"
#include "widgets/status_strip.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"

#include <QAction>
#include <QDockWidget>
#include <QDropEvent>
#include <QMenu>
#include <QMimeData>
#include <QPushButton>
#include <QSettings>
#include <QTemporaryDir>
#include <QTimer>
#include <QtTest>

#include <fstream>
#include <sys/stat.h>

using namespace kvscope;

// The window on the offscreen platform, with the real engine behind it.
class TestMainWindow : public QObject
{
    Q_OBJECT

    QTemporaryDir m_home;

    static QString golden(const char* path) { return QString::fromStdString(goldenPath(path)); }

    static void drop(MainWindow& window, const QStringList& paths)
    {
        QMimeData data;
        QList<QUrl> urls;
        for (const QString& path : paths)
            urls << QUrl::fromLocalFile(path);
        data.setUrls(urls);
        // QApplication delivers a drop to where a drag entered.
        QDragEnterEvent enter(QPoint(50, 50), Qt::CopyAction, &data, Qt::LeftButton,
                              Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent event(QPointF(50, 50), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&window, &event);
    }

private Q_SLOTS:
    void initTestCase()
    {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_home.path());
        QCoreApplication::setOrganizationName("kvscope-test");
        QCoreApplication::setApplicationName("kvscope-test");
    }
    void init() { QSettings().clear(); }

    void opensAModelAndRemembersIt()
    {
        MainWindow window({});
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        window.openModel(golden("gptosslite/tiny_a"));
        QTRY_COMPARE(opened.count(), 1);
        QVERIFY(window.windowTitle().endsWith("kvscope") && window.windowTitle() != "kvscope");
        QCOMPARE(WindowSettings().recentFiles(), QStringList{golden("gptosslite/tiny_a")});
        QTRY_VERIFY(window.panels().rings->chosenLayer().has_value());
        QVERIFY(window.panels().chat->messageBar().text().contains(
            "tokenizer")); // none beside it: said, not silent
    }

    void anEmptyWindowOffersWhatCanBeStarted()
    {
        QTemporaryDir folder;
        const QString model = folder.filePath("smollm2.gguf");
        QVERIFY(QFile::copy(golden("gguf/llama_q4_1.gguf"), model));
        MainWindow window({"cpu", "auto", model});
        window.show();
        StartActions& start = window.panels().chat->startActions();
        using Action = StartActions::Action;
        QVERIFY(start.isVisible());
        QVERIFY(!start.button(Action::PasskeySweep)->isEnabled());
        QVERIFY(start.button(Action::PasskeySweep)->text().endsWith("no model is open"));
        QCOMPARE(start.button(Action::OpenDemo)->isVisible(), // where it was trained
                 window.action("Open demo model")->isEnabled());
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        QTest::mouseClick(start.button(Action::OpenSmolLm2), Qt::LeftButton);
        QTRY_COMPARE(opened.count(), 1);
        QCOMPARE(window.panels().model().path, model.toStdString());
        QVERIFY(!start.button(Action::OpenSmolLm2)->isVisible()); // it is open
    }

    void aModelThatIsNotInstalledIsNotOneClickAway()
    {
        MainWindow window({"cpu", "auto", "/no/such/smollm2.gguf"});
        window.show();
        const QPushButton* button =
            window.panels().chat->startActions().button(StartActions::Action::OpenSmolLm2);
        QVERIFY(button->isVisible() && !button->isEnabled());
        QVERIFY(button->text().contains("not downloaded"));
    }

    void aFailedOpenIsOneLineAndKeepsTheModel()
    {
        MainWindow window({});
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        QSignalSpy failed(&window.engine(), &EngineBridge::commandFailed);
        window.openModel(golden("gptosslite/tiny_a"));
        QTRY_COMPARE(opened.count(), 1);
        const QString title = window.windowTitle();
        window.panels().chat->messageBar().clear();
        window.openModel(golden("tokenizers/index.json"));
        QTRY_COMPARE(failed.count(), 1);
        QVERIFY(window.panels().chat->messageBar().text().contains("index.json"));
        QCOMPARE(window.windowTitle(), title);
        QVERIFY(window.panels().rings->chosenLayer().has_value());
    }

    void aDroppedTextFileIsAttachedAndABadOneIsRefusedInOneLine()
    {
        MainWindow window({});
        window.show();
        QTemporaryDir folder;
        const QString good = folder.filePath("log.txt");
        const QString bad = folder.filePath("latin1.txt");
        std::ofstream(good.toStdString()) << "The passkey is 48213.";
        std::ofstream(bad.toStdString()) << "caf\xE9";
        drop(window, {good});
        QTRY_COMPARE(window.panels().chat->composer().attachments().size(), std::size_t{1});
        QCOMPARE(window.panels().chat->composer().attachments()[0].text,
                 QString("The passkey is 48213."));
        drop(window, {bad});
        QTRY_VERIFY(window.panels().chat->messageBar().text().contains("not UTF-8 text (byte 3)"));
        QCOMPARE(window.panels().chat->composer().attachments().size(), std::size_t{1});
    }

    // What was typed for the model before is in the composer again, not lost and not answered by
    // the new one.
    void aMessageOverADifferentModelGoesBackToTheComposer()
    {
        const auto path = smolLm2Path();
        if (!path)
            QSKIP("KVSCOPE_SMOLLM2 does not name the SmolLM2 GGUF (scripts/test sets it)");
        MainWindow window({});
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        window.openModel(QString::fromStdString(*path));
        QTRY_COMPARE_WITH_TIMEOUT(opened.count(), 1, 30000);
        ChatPanel* chat = window.panels().chat;
        window.openModel(golden("gptosslite/tiny_a"));
        chat->composer().putBack("Are you there?", {});
        chat->send();
        QTRY_COMPARE_WITH_TIMEOUT(opened.count(), 2, 30000);
        QTRY_VERIFY(!chat->isRunning());
        QCOMPARE(chat->composer().text(), QString("Are you there?"));
        QCOMPARE(window.panels().history->size(), 0);
    }

    void aDroppedPipeIsRefusedWithoutWaiting()
    {
        MainWindow window({});
        window.show();
        QTemporaryDir folder;
        const QString pipe = folder.filePath("pipe");
        QCOMPARE(::mkfifo(pipe.toLocal8Bit().constData(), 0600), 0);
        window.openDropped(pipe);
        QTRY_VERIFY(window.panels().chat->messageBar().text().contains("not a regular file"));
    }

    void aDroppedModelOpens()
    {
        MainWindow window({});
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        drop(window, {golden("gguf/llama_q4_1.gguf")});
        QTRY_COMPARE(opened.count(), 1);
    }

    void theOpenDialogShowsWhatAModelIsAndOpensItAsChosen()
    {
        MainWindow window({});
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        window.action("Open")->trigger();
        OpenDialog& dialog = window.openDialog();
        QVERIFY(dialog.isVisible());
        dialog.setPath(golden("gguf/llama_q4_1.gguf"));
        QTRY_VERIFY(dialog.openButton().isEnabled());
        QVERIFY(dialog.verdict().startsWith(QChar(0x2713)));
        QVERIFY(dialog.checks().checks().rowCount() > 20);
        OpenChoice choice = dialog.choice();
        choice.rotary = "linear:2";
        choice.cacheDtype = "float32";
        choice.maxContext = 300;
        dialog.setChoice(choice);
        QTest::mouseClick(&dialog.openButton(), Qt::LeftButton);
        QTRY_COMPARE(opened.count(), 1);
        QVERIFY(!dialog.isVisible());
        const ModelDescription& model = window.panels().model();
        QTRY_COMPARE(model.rotaryOverride, std::string("linear:2"));
        QCOMPARE(model.contextLimit, std::int64_t{300});
        // Said wherever results are shown: here the status strip.
        QVERIFY(window.panels().status->texts().join('\n').contains("! rotation linear x2"));
    }

    void cancellingTheDialogKeepsTheModel()
    {
        MainWindow window({});
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        window.openModel(golden("gptosslite/tiny_a"));
        QTRY_COMPARE(opened.count(), 1);
        window.action("File doctor")->trigger();
        OpenDialog& dialog = window.openDialog();
        QCOMPARE(dialog.path(), golden("gptosslite/tiny_a")); // the open model
        QTRY_VERIFY(dialog.checks().checks().rowCount() > 50);
        QVERIFY(dialog.checks().isVisible());
        dialog.setPath(golden("tokenizers/index.json"));
        QTRY_VERIFY(dialog.verdict().startsWith(QChar(0x2715)));
        QVERIFY(!dialog.openButton().isEnabled());
        QTest::keyClick(&dialog, Qt::Key_Escape);
        QVERIFY(!dialog.isVisible());
        QTest::qWait(50);
        QCOMPARE(opened.count(), 1);
        QVERIFY(window.panels().rings->chosenLayer().has_value());
    }

    void shiftShowsADroppedModelFirst()
    {
        MainWindow window({});
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        window.openDropped(golden("gguf/llama_q4_1.gguf"), Qt::ShiftModifier);
        QVERIFY(window.openDialog().isVisible());
        QCOMPARE(window.openDialog().path(), golden("gguf/llama_q4_1.gguf"));
        QTRY_VERIFY(window.openDialog().openButton().isEnabled());
        QCOMPARE(opened.count(), 0);
    }

    void everyPanelHasHelp()
    {
        MainWindow window({});
        window.show();
        const auto docks = window.findChildren<QDockWidget*>();
        QVERIFY(docks.size() >= 11);
        for (const QDockWidget* dock : docks)
            QVERIFY2(panelHelp(dock->objectName()).size() > 40, qPrintable(dock->objectName()));
        QCOMPARE(panelHelp("no such dock"), QString());
        QVERIFY(window.action("Help for this panel")->shortcut() == QKeySequence("F1"));
    }

    void theFocusedViewIsExportedFromItsMenu()
    {
        MainWindow window({});
        window.show();
        window.activateWindow();
        window.panels().rings->setFocus();
        QTRY_VERIFY(window.panels().rings->hasFocus());
        bool isOffered = false;
        QTimer::singleShot(0, &window, [&isOffered] {
            auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            if (menu == nullptr)
                return;
            for (const QAction* action : menu->actions())
                isOffered = isOffered || action->text().startsWith("Export SVG");
            menu->close();
        });
        QVERIFY(window.action("Export view")->shortcut() == QKeySequence("Ctrl+E"));
        window.action("Export view")->trigger();
        QVERIFY(isOffered);
    }

    void layoutComesBack()
    {
        {
            MainWindow window({});
            window.show();
            window.resize(1111, 777);
            window.findChild<QDockWidget*>("loss")->hide();
            window.close();
        }
        MainWindow window({});
        window.show();
        QCOMPARE(window.size(), QSize(1111, 777));
        QVERIFY(!window.findChild<QDockWidget*>("loss")->isVisible());
        window.action("Reset layout")->trigger();
        QTRY_VERIFY(window.findChild<QDockWidget*>("loss")->isVisible());
    }

    void aDamagedSettingsFileGivesDefaults()
    {
        QSettings().setValue("chat/temperature", "warm");
        QSettings().setValue("chat/topP", 7.5);
        QSettings().setValue("chat/maxNewTokens", -4);
        QSettings().setValue("window/geometry", QByteArray("garbage"));
        QSettings().setValue("window/layout", QByteArray("garbage"));
        const ChatSettings chat = WindowSettings().chat();
        QCOMPARE(chat.sampling.temperature, ChatSettings{}.sampling.temperature);
        QCOMPARE(chat.sampling.topP, 1.0);
        QCOMPARE(chat.sampling.maxNewTokens, 1);
        MainWindow window({});
        window.show();
        QVERIFY(window.findChild<QDockWidget*>("rings")->isVisible());
    }

    void everyActionHasANameAndShortcutsAreUnique()
    {
        MainWindow window({});
        QStringList shortcuts;
        for (QAction* action : window.findChildren<QAction*>()) {
            if (!action->shortcut().isEmpty()) {
                const QString shortcut = action->shortcut().toString();
                QVERIFY2(!shortcuts.contains(shortcut), qPrintable(shortcut));
                shortcuts << shortcut;
            }
        }
        QVERIFY(shortcuts.contains("Ctrl+O") && shortcuts.contains("Ctrl+N") &&
                shortcuts.contains("Ctrl+R"));
    }

    void smolLm2AnswersInTheWindow()
    {
        const auto path = smolLm2Path();
        if (!path)
            QSKIP("KVSCOPE_SMOLLM2 does not name the SmolLM2 GGUF (scripts/test sets it)");
        MainWindow window({});
        window.resize(1440, 900);
        window.show();
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        QSignalSpy finished(&window.engine(), &EngineBridge::generationFinished);
        window.openModel(QString::fromStdString(*path));
        QTRY_COMPARE_WITH_TIMEOUT(opened.count(), 1, 30000);
        ChatPanel* chat = window.panels().chat;
        ChatSettings settings = chat->settings();
        settings.sampling.temperature = 0.0;
        chat->setSettings(settings);
        chat->composer().putBack("What is the capital of France?", {});
        chat->send();
        QTRY_VERIFY(chat->isRunning());
        QTRY_COMPARE_WITH_TIMEOUT(finished.count(), 1, 60000);
        QTRY_VERIFY(!chat->isRunning());
        QCOMPARE(chat->messages().back().content, std::string("The capital of France is Paris."));
        QVERIFY(window.panels().history->size() > 40);
        chat->newChat();
        QCOMPARE(window.panels().history->size(), 0);
        QTRY_COMPARE(window.engine().session().takeSnapshot()->cache.contextLength, 0);
    }
};

QTEST_MAIN(TestMainWindow)
#include "tst_main_window.moc"
