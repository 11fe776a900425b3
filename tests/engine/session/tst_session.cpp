#include "engine/session/session.h"
#include "tests/support/event_log.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QTemporaryDir>
#include <QtTest>

#include <fstream>

using namespace kvscope;

// The engine thread end to end, on golden checkpoints and (where it is installed) on SmolLM2.
class TestSession : public QObject
{
    Q_OBJECT

    static OpenRequest goldenModel(const char* path)
    {
        OpenRequest request;
        request.path = goldenPath(path);
        return request;
    }

    static ChatRequest question(const std::string& text, std::int64_t maxNewTokens = 24)
    {
        ChatRequest request;
        request.messages = {{ChatRole::User, text}};
        request.sampling.temperature = 0.0;
        request.sampling.maxNewTokens = maxNewTokens;
        return request;
    }

private Q_SLOTS:
    void opensAndDescribesAModel()
    {
        EventLog log;
        Session session(log.callbacks());
        QCOMPARE(session.takeSnapshot()->phase, Phase::NoModel);
        session.open(goldenModel("gptosslite/tiny_a"));
        const auto opened = log.waitFor<ModelOpened>();
        QVERIFY(opened.has_value());
        QCOMPARE(opened->model.totalParameters, 452176);
        QCOMPARE(opened->model.activeParameters, 304720);
        QCOMPARE(opened->model.layers.size(), std::size_t{4});
        QVERIFY(opened->model.layers[0].isWindowed && !opened->model.layers[1].isWindowed);
        QVERIFY(!opened->model.canChat); // no tokenizer beside it
        QTRY_COMPARE(session.takeSnapshot()->phase, Phase::Idle);
    }

    // Told once for as many snapshots as come until it is taken, and again after that.
    void aWaitingSnapshotIsToldOnce()
    {
        EventLog log;
        Session session(log.callbacks());
        session.open(goldenModel("gptosslite/tiny_a"));
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        QTRY_COMPARE(log.snapshotsReady(), 1);
        session.newChat();
        session.takeSnapshot();
        session.newChat();
        QTRY_VERIFY(log.snapshotsReady() >= 2);
    }

    void aFailedOpenKeepsWhatWasOpen()
    {
        EventLog log;
        Session session(log.callbacks());
        session.open(goldenModel("gptosslite/tiny_a"));
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        session.open(goldenModel("no/such/model.gguf"));
        const auto failed = log.waitFor<CommandFailed>();
        QVERIFY(failed.has_value());
        QCOMPARE(failed->command, CommandFailed::Command::Open);
        QVERIFY(QString::fromStdString(failed->message).contains("model.gguf"));
        QTRY_COMPARE(session.takeSnapshot()->phase, Phase::Idle);
        QCOMPARE(session.takeSnapshot()->cache.layers.size(), std::size_t{4});
    }

    void generatingWithoutAModelOrTokenizerFailsClearly()
    {
        EventLog log;
        Session session(log.callbacks());
        const auto generation = session.generate(question("hi"));
        auto failed = log.waitFor<CommandFailed>();
        QVERIFY(failed.has_value());
        QCOMPARE(failed->generation, generation);
        QCOMPARE(failed->message, std::string("no model is open"));
        session.open(goldenModel("gptosslite/tiny_a"));
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        session.generate(question("hi"));
        failed = log.waitFor<CommandFailed>();
        QVERIFY(failed.has_value());
        QCOMPARE(failed->message,
                 std::string("this model has no usable tokenizer, so it cannot chat"));
    }

    // Stop and New chat are about answers: a model that is being opened, or waits to be, opens all
    // the same.
    void stoppingAnswersDoesNotStopAnOpening()
    {
        EventLog log;
        Session session(log.callbacks());
        session.open(goldenModel("gptosslite/tiny_a"));
        const auto generation = session.generate(question("hi"));
        session.open(goldenModel("hf/llama"));
        session.stopGenerating();
        QTRY_COMPARE(log.count<ModelOpened>(), 2);
        QCOMPARE(log.count<OpeningCancelled>(), 0);
        // The message ended one way or the other, once.
        QTRY_COMPARE(log.count<GenerationFinished>() + log.count<CommandFailed>(), 1);
        QVERIFY(generation > 0);
    }

    // A message given while another model opens was meant for the one before: it ends, and is not
    // answered.
    void aMessageBehindAnOpeningIsNotAnsweredByTheNewModel()
    {
        EventLog log;
        Session session(log.callbacks());
        session.open(goldenModel("gguf/llama_f32.gguf")); // it could answer
        const auto generation = session.generate(question("hi"));
        const auto finished = log.waitFor<GenerationFinished>();
        QVERIFY(finished.has_value());
        QCOMPARE(finished->generation, generation);
        QCOMPARE(finished->summary.finish, FinishReason::Cancelled);
        QCOMPARE(log.count<TokenGenerated>(), 0);
        QCOMPARE(log.count<CommandFailed>(), 0);
    }

    void aCancelledOpeningSaysSoAndKeepsTheModel()
    {
        EventLog log;
        Session session(log.callbacks());
        session.open(goldenModel("gptosslite/tiny_a"));
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        for (int i = 0; i < 20; ++i) // at least the later ones still wait when they are cancelled
            session.open(goldenModel("gguf/llama_f32.gguf"));
        session.cancelOpening();
        QTRY_COMPARE(log.count<OpeningCancelled>() + log.count<ModelOpened>(), 21);
        QVERIFY(log.count<OpeningCancelled>() > 0);
        QTRY_COMPARE(session.takeSnapshot()->phase, Phase::Idle);
    }

    void destroyingWhileItRunsStopsAndJoins_data()
    {
        QTest::addColumn<QString>("prompt");
        QTest::addColumn<bool>("waitsForAToken");
        QTest::newRow("while it opens") << QString() << false;
        QTest::newRow("while it answers") << QString(QLatin1Char('b')) << true;
        QTest::newRow("while it reads a prompt") << QString(200000, QLatin1Char('b')) << false;
    }
    void destroyingWhileItRunsStopsAndJoins()
    {
        QFETCH(QString, prompt);
        QFETCH(bool, waitsForAToken);
        EventLog log;
        QElapsedTimer timer;
        {
            Session session(log.callbacks());
            session.open(goldenModel("gguf/llama_q4_1.gguf"));
            if (!prompt.isEmpty()) {
                QVERIFY(log.waitFor<ModelOpened>().has_value());
                session.generate(question(prompt.toStdString(), 100000));
            }
            if (waitsForAToken)
                QVERIFY(log.waitFor<TokenGenerated>().has_value());
            timer.start();
        }
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
        QVERIFY(waitsForAToken || log.count<TokenGenerated>() == 0);
    }

    void smolLm2AnswersAndTheNextTurnReusesItsCache()
    {
        const auto path = smolLm2Path();
        if (!path)
            QSKIP("KVSCOPE_SMOLLM2 does not name the SmolLM2 GGUF (scripts/test sets it)");
        EventLog log;
        Session session(log.callbacks());
        OpenRequest open;
        open.path = *path;
        session.open(open);
        const auto opened = log.waitFor<ModelOpened>();
        QVERIFY(opened.has_value() && opened->model.canChat);
        QCOMPARE(opened->model.chatTemplate, std::string("ChatML"));

        ChatRequest request = question("What is the capital of France?");
        request.scoresPrompt = true;
        session.generate(request);
        const auto first = log.waitFor<GenerationFinished>();
        QVERIFY(first.has_value());
        QCOMPARE(first->summary.text, std::string("The capital of France is Paris."));
        QCOMPARE(first->summary.finish, FinishReason::EndToken);
        QCOMPARE(log.last<GenerationStarted>()->keptTokens, 0);
        QCOMPARE(log.last<GenerationStarted>()->prompt.size(), std::size_t{37});
        QVERIFY(log.count<PromptScored>() >= 1);
        QCOMPARE(log.count<TokenGenerated>(), static_cast<int>(first->summary.ids.size()));

        request.messages.push_back({ChatRole::Assistant, first->summary.text});
        request.messages.push_back({ChatRole::User, "And of Italy?"});
        log.clear();
        session.generate(request);
        const auto second = log.waitFor<GenerationFinished>();
        QVERIFY(second.has_value());
        QVERIFY2(QString::fromStdString(second->summary.text).contains("Rome"),
                 second->summary.text.c_str());
        // Everything but the last token of the answer (never run) was in the cache.
        QCOMPARE(log.last<GenerationStarted>()->keptTokens,
                 37 + static_cast<std::int64_t>(first->summary.ids.size()) - 1);
        QCOMPARE(session.takeSnapshot()->phase, Phase::Idle);
        QVERIFY(session.takeSnapshot()->decodeTokensPerSecond > 0.0);
    }

    void stopEndsAnAnswerAndTheChatGoesOn()
    {
        const auto path = smolLm2Path();
        if (!path)
            QSKIP("KVSCOPE_SMOLLM2 does not name the SmolLM2 GGUF (scripts/test sets it)");
        EventLog log;
        Session session(log.callbacks());
        OpenRequest open;
        open.path = *path;
        session.open(open);
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        session.generate(question("Write a very long story about a lighthouse.", 2000));
        QVERIFY(log.waitFor<TokenGenerated>().has_value());
        session.stopGenerating();
        const auto stopped = log.waitFor<GenerationFinished>();
        QVERIFY(stopped.has_value());
        QCOMPARE(stopped->summary.finish, FinishReason::Cancelled);
        QVERIFY(!stopped->summary.ids.empty());
        log.clear();
        session.generate(question("What is the capital of France?"));
        const auto next = log.waitFor<GenerationFinished>();
        QVERIFY(next.has_value());
        QCOMPARE(next->summary.text, std::string("The capital of France is Paris."));
    }

    // At the limit the chat asks; the answer decides, and what is left out is said.
    void aFullContextAsksOrKeepsTheNewest_data()
    {
        QTest::addColumn<bool>("asks");
        QTest::addColumn<bool>("givesUp");
        QTest::newRow("keeps the newest as set") << false << false;
        QTest::newRow("asks, and drops") << true << false;
        QTest::newRow("asks, and gives up") << true << true;
    }
    void aFullContextAsksOrKeepsTheNewest()
    {
        QFETCH(bool, asks);
        QFETCH(bool, givesUp);
        const auto path = smolLm2Path();
        if (!path)
            QSKIP("KVSCOPE_SMOLLM2 does not name the SmolLM2 GGUF (scripts/test sets it)");
        EventLog log;
        Session session(log.callbacks());
        OpenRequest open;
        open.path = *path;
        open.contextLimit = 120;
        session.open(open);
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        ChatRequest request = question("And now, in one word?", 8);
        const std::string longText(240, 'a');
        request.messages.insert(request.messages.begin(), {{ChatRole::User, longText + longText},
                                                           {ChatRole::Assistant, "I see."}});
        request.whenFull = asks ? ContextFullPolicy::Ask : ContextFullPolicy::KeepNewest;
        session.generate(request);
        if (asks) {
            const auto question_ = log.waitFor<ContextFullAsked>();
            QVERIFY(question_.has_value());
            QCOMPARE(question_->limitTokens, 120);
            QCOMPARE(question_->messagesToDrop, 2);
            session.answerContextFull(givesUp ? Session::ContextFullAnswer::GiveUp
                                              : Session::ContextFullAnswer::DropOldest);
        }
        const auto finished = log.waitFor<GenerationFinished>();
        QVERIFY(finished.has_value());
        QCOMPARE(finished->summary.finish == FinishReason::Cancelled, givesUp);
        if (!givesUp)
            QCOMPARE(log.last<GenerationStarted>()->droppedMessages, 2);
    }

    // The last message fits the limit but leaves less room than a whole answer: older turns still
    // go first.
    void aLongLastMessageStillDropsOlderTurns()
    {
        const auto path = smolLm2Path();
        if (!path)
            QSKIP("KVSCOPE_SMOLLM2 does not name the SmolLM2 GGUF (scripts/test sets it)");
        EventLog log;
        Session session(log.callbacks());
        OpenRequest open;
        open.path = *path;
        open.contextLimit = 200;
        session.open(open);
        std::string words; // some 120 tokens: more than half of the limit
        for (int i = 0; i < 100; ++i)
            words += "boat ";
        ChatRequest request = question(words, 100);
        request.messages.insert(request.messages.begin(),
                                {{ChatRole::User, words}, {ChatRole::Assistant, "I see."}});
        request.whenFull = ContextFullPolicy::KeepNewest;
        session.generate(request);
        const auto finished = log.waitFor<GenerationFinished>();
        QVERIFY(finished.has_value());
        QCOMPARE(log.last<GenerationStarted>()->droppedMessages, 2);
        QCOMPARE(log.count<Notice>(), 0);
        QVERIFY(finished->summary.promptTokens < 200);
    }

    void aPromptPastWhatTheModelWasMadeForGoesOnWithANotice()
    {
        EventLog log;
        Session session(log.callbacks());
        session.open(goldenModel("gguf/llama_f32.gguf")); // 256 positions
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        session.generate(question(std::string(600, 'b'), 4));
        const auto notice = log.waitFor<Notice>();
        QVERIFY(notice.has_value());
        QVERIFY(QString::fromStdString(notice->message).contains("more than the 256 positions"));
        const auto finished = log.waitFor<GenerationFinished>();
        QVERIFY(finished.has_value());
        QVERIFY(finished->summary.finish != FinishReason::Cancelled);
    }

    void aPromptPastAChosenContextIsRefused()
    {
        EventLog log;
        Session session(log.callbacks());
        OpenRequest open = goldenModel("gguf/llama_f32.gguf");
        open.contextLimit = 40;
        session.open(open);
        QVERIFY(log.waitFor<ModelOpened>().has_value());
        session.generate(question(std::string(600, 'b'), 4));
        const auto failed = log.waitFor<CommandFailed>();
        QVERIFY(failed.has_value());
        const QString message = QString::fromStdString(failed->message);
        QVERIFY2(message.contains("maximum context chosen when opening is 40"),
                 qPrintable(message));
        QTRY_COMPARE(session.takeSnapshot()->phase, Phase::Idle);
    }
};

QTEST_GUILESS_MAIN(TestSession)
#include "tst_session.moc"
