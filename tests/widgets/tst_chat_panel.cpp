#include "tests/widgets/chat_fixture.h"
#include "widgets/chat_panel.h"
#include "widgets/chat_view.h"
#include "widgets/composer.h"
#include "widgets/composer_edit.h"
#include "widgets/context_gauge.h"
#include "widgets/message_bar.h"
#include "widgets/message_bar_question.h"
#include "widgets/progress_strip.h"
#include "widgets/prompt_viewer.h"

#include <QPushButton>
#include <QSignalSpy>
#include <QtTest>

using namespace kvscope;

class TestChatPanel : public QObject
{
    Q_OBJECT

    struct Panel : ChatPanel
    {
        ChatMessages sent;
        ChatSettings settingsSent;

        Panel()
        {
            resize(340, 700);
            setModel(fake::model());
            show();
            const auto keep = [this](const ChatMessages& messages, const ChatSettings& with) {
                sent = messages;
                settingsSent = with;
            };
            connect(this, &ChatPanel::sendRequested, this, keep);
            connect(this, &ChatPanel::regenerateRequested, this, keep);
        }
        QWidget* edit() { return findChild<ComposerEdit*>(); }
        QPushButton* button(const QString& text)
        {
            for (auto* each : findChildren<QPushButton*>())
                if (each->text() == text)
                    return each;
            return nullptr;
        }
        void say(const QString& text)
        {
            QTest::keyClicks(edit(), text);
            QTest::keyClick(edit(), Qt::Key_Return);
        }
        /// Answers what was sent with one token.
        void answer(std::uint64_t generation, FinishReason finish = FinishReason::EndToken)
        {
            setExpectedGeneration(generation);
            const GenerationStarted begin = fake::started(generation, sent);
            generationStarted(begin);
            tokenGenerated(
                fake::token(generation, static_cast<std::int64_t>(begin.prompt.size()), "Fine."));
            generationFinished(fake::finished(generation, finish, "Fine.", 1));
        }
    };

private Q_SLOTS:
    void enterSendsTheConversation()
    {
        Panel panel;
        panel.say(QStringLiteral("How are you?"));
        QCOMPARE(panel.sent, (ChatMessages{{ChatRole::User, "How are you?"}}));
        QVERIFY(panel.isRunning());
        QCOMPARE(panel.composer().text(), QString());
        panel.answer(1);
        QVERIFY(!panel.isRunning());
        panel.say(QStringLiteral("And now?"));
        QCOMPARE(panel.sent.size(), std::size_t(3));
        QCOMPARE(panel.sent[1].content, std::string("Fine."));
    }

    void nothingIsSentWithoutAModelAndTheTextStays()
    {
        Panel panel;
        panel.clearModel();
        panel.say(QStringLiteral("Hello"));
        QVERIFY(panel.sent.empty());
        QCOMPARE(panel.composer().text(), QStringLiteral("Hello"));
        panel.setModel(fake::model(false));
        QTest::keyClick(panel.edit(), Qt::Key_Return);
        QVERIFY(panel.sent.empty());
        QVERIFY(
            panel.button(QStringLiteral("Send"))->toolTip().contains(QStringLiteral("tokenizer")));
    }

    void escapeStopsOnlyWhatRuns()
    {
        Panel panel;
        QSignalSpy stops(&panel, &ChatPanel::stopRequested);
        QSignalSpy escapes(&panel, &ChatPanel::escapePressed);
        QTest::keyClick(panel.edit(), Qt::Key_Escape);
        QCOMPARE(stops.size(), 0);
        QCOMPARE(escapes.size(), 1);
        panel.say(QStringLiteral("Hi"));
        QTest::keyClick(panel.edit(), Qt::Key_Escape);
        QCOMPARE(stops.size(), 1);
    }

    void theTextOfAFailedSendIsPutBackAheadOfWhatWasTypedSince()
    {
        Panel panel;
        panel.addAttachment(QStringLiteral("log.txt"), QStringLiteral("A"), 1);
        panel.say(QStringLiteral("First"));
        panel.setExpectedGeneration(4);
        QTest::keyClicks(panel.edit(), QStringLiteral("since"));
        panel.commandFailed(
            {CommandFailed::Command::Generate, "It does not fit.", "needs 9 GiB", 4});
        QCOMPARE(panel.composer().text(), QStringLiteral("First\nsince"));
        QCOMPARE(panel.composer().attachments().size(), std::size_t(1));
        QCOMPARE(panel.messageBar().text(), QStringLiteral("It does not fit."));
        QCOMPARE(panel.model().rowCount(), 0);
        QVERIFY(!panel.isRunning());
    }

    void aFailureAmidAnAnswerKeepsItsText()
    {
        Panel panel;
        panel.say(QStringLiteral("Hi"));
        panel.setExpectedGeneration(1);
        const GenerationStarted begin = fake::started(1, panel.sent);
        panel.generationStarted(begin);
        panel.tokenGenerated(
            fake::token(1, static_cast<std::int64_t>(begin.prompt.size()), "Half"));
        panel.commandFailed({CommandFailed::Command::Generate, "Out of memory.", "", 1});
        panel.generationFinished(fake::finished(1, FinishReason::Failed, "Half", 1)); // said twice
        QCOMPARE(panel.model().rows().back().text, QStringLiteral("Half"));
        QCOMPARE(panel.model().rows().back().state, ChatRowState::Failed);
        QCOMPARE(panel.composer().text(), QString());
    }

    void againDropsTheLastAnswerAndAsksAnew()
    {
        Panel panel;
        panel.regenerate(); // nothing to write again
        QVERIFY(panel.sent.empty());
        panel.say(QStringLiteral("Hi"));
        panel.answer(1);
        const std::uint64_t seed = panel.settingsSent.sampling.seed;
        QTest::mouseClick(panel.button(QStringLiteral("Again")), Qt::LeftButton);
        QCOMPARE(panel.sent, (ChatMessages{{ChatRole::User, "Hi"}}));
        QVERIFY(panel.settingsSent.sampling.seed != seed);
        panel.answer(2);
        QCOMPARE(panel.messages().size(), std::size_t(2));
    }

    void aKeptSeedIsSentAgain()
    {
        Panel panel;
        ChatSettings settings;
        settings.newSeedEachTime = false;
        settings.sampling.seed = 42;
        panel.setSettings(settings);
        panel.say(QStringLiteral("Hi"));
        QCOMPARE(panel.settingsSent.sampling.seed, std::uint64_t(42));
    }

    void lateEventsOfAnEndedChatAreDropped()
    {
        Panel panel;
        panel.say(QStringLiteral("Hi"));
        panel.setExpectedGeneration(7);
        const GenerationStarted begin = fake::started(7, panel.sent);
        panel.generationStarted(begin);
        panel.newChat();
        panel.tokenGenerated(
            fake::token(7, static_cast<std::int64_t>(begin.prompt.size()), "late"));
        panel.generationFinished(fake::finished(7, FinishReason::Cancelled, "late", 1));
        QCOMPARE(panel.model().rowCount(), 0);
        QCOMPARE(panel.composer().text(), QString());
        panel.say(QStringLiteral("New"));
        panel.generationStarted(begin); // still the old one
        panel.tokenGenerated(fake::token(7, 8, "late"));
        QCOMPARE(panel.model().rows().back().text, QString());
        QCOMPARE(panel.model().row(0).firstToken, -1);
        panel.answer(8);
        QCOMPARE(panel.messages().size(), std::size_t(2));
    }

    void aFullContextIsAskedAboutInPlace()
    {
        Panel panel;
        QSignalSpy answers(&panel, &ChatPanel::contextFullAnswered);
        panel.say(QStringLiteral("Hi"));
        panel.contextFullAsked({3, 8400, 8192, 2});
        QVERIFY(panel.questionBar().isVisible());
        QVERIFY(panel.questionBar().question().contains(QStringLiteral("8,400")));
        QTest::mouseClick(panel.button(QStringLiteral("Leave out the 2 oldest messages")),
                          Qt::LeftButton);
        QCOMPARE(answers.size(), 1);
        QCOMPARE(answers[0][0].toBool(), true);
        QVERIFY(!panel.questionBar().isVisible());
    }

    void theGaugeFollowsTheSnapshots()
    {
        Panel panel;
        panel.setSnapshot(fake::snapshot(1943));
        QCOMPARE(panel.gauge().usedText(), QStringLiteral("1,943 of 4,096"));
        QCOMPARE(panel.gauge().state().firstInWindows, 1943 - 128);
        panel.setContextLimit(2048);
        QCOMPARE(panel.gauge().usedText(), QStringLiteral("1,943 of 2,048"));
        panel.clearModel();
        QCOMPARE(panel.gauge().leftText(), QStringLiteral("no model"));
    }

    void thePrefillIsShownWhileItRuns()
    {
        Panel panel;
        panel.say(QStringLiteral("Hi"));
        auto snapshot = fake::snapshot(512);
        snapshot->phase = Phase::Prefill;
        snapshot->prefill = {0, 512, 1811, 1.0, 2.5};
        panel.setSnapshot(snapshot);
        QVERIFY(panel.progressStrip().isPrefill());
        QCOMPARE(panel.gauge().state().planned, 1811);
        panel.answer(1);
        QVERIFY(!panel.progressStrip().isActive());
    }

    void thePromptIsShownAsItWasGiven()
    {
        Panel panel;
        panel.say(QStringLiteral("Hi\u00A0there"));
        panel.answer(1);
        panel.showRawPrompt();
        QCOMPARE(
            panel.promptViewer().prompt(),
            QStringLiteral("<|im_start|>user\nHi\u00A0there<|im_end|>\n<|im_start|>assistant\n"));
    }

    void openingAnotherModelEndsTheChatButKeepsWhatIsTyped()
    {
        Panel panel;
        panel.say(QStringLiteral("Hi"));
        panel.answer(1);
        QTest::keyClicks(panel.edit(), QStringLiteral("draft"));
        panel.openingProgress({100, 200, 1.0});
        QVERIFY(panel.progressStrip().isActive());
        panel.setModel(fake::model());
        QVERIFY(!panel.progressStrip().isActive());
        QCOMPARE(panel.model().rowCount(), 0);
        QCOMPARE(panel.composer().text(), QStringLiteral("draft"));
    }
};

QTEST_MAIN(TestChatPanel)
#include "tst_chat_panel.moc"
