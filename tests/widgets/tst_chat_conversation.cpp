#include "tests/widgets/chat_fixture.h"
#include "widgets/chat_conversation.h"

#include <QtTest>

using namespace kvscope;

class TestChatConversation : public QObject
{
    Q_OBJECT

    /// One question and its whole answer of two tokens.
    static void runTurn(ChatConversation& chat, std::uint64_t generation, const QString& question)
    {
        chat.addTurn(question, {}, 1);
        const GenerationStarted begin = fake::started(generation, chat.messages());
        chat.generationStarted(begin);
        const auto next = static_cast<std::int64_t>(begin.prompt.size());
        chat.tokenGenerated(fake::token(generation, next, "Fine").token);
        chat.tokenGenerated(fake::token(generation, next + 1, " day").token);
        chat.generationFinished(
            fake::finished(generation, FinishReason::EndToken, "Fine day", 2).summary);
    }

private Q_SLOTS:
    void anAnswerBecomesPartOfTheConversation()
    {
        ChatConversation chat;
        runTurn(chat, 1, QStringLiteral("How are you?"));
        const ChatMessages expected{{ChatRole::User, "How are you?"},
                                    {ChatRole::Assistant, "Fine day"}};
        QCOMPARE(chat.messages(), expected);
        QVERIFY(!chat.isRunning());
        const ChatRow& answer = chat.model().row(1);
        QCOMPARE(answer.state, ChatRowState::Complete);
        QCOMPARE(answer.spans.size(), std::size_t(2));
        QCOMPARE(answer.text.mid(0, answer.spans[0].end), QStringLiteral("Fine"));
        QCOMPARE(answer.lastToken, answer.spans.back().position);
    }

    // Harmony: the next prompt holds the last channel alone.
    void ofAnAnswerWithChannelsTheLastOneIsInTheContext()
    {
        ChatConversation chat;
        chat.setAnswerOpening("<|channel|>final<|message|>");
        chat.addTurn(QStringLiteral("Hi"), {}, 1);
        chat.generationStarted(fake::started(1, chat.messages()));
        const std::string answer =
            "<|channel|>analysis<|message|>Fine day<|end|><|channel|>final<|message|>Fine day";
        chat.tokenGenerated(fake::token(1, 20, answer).token);
        chat.generationFinished(fake::finished(1, FinishReason::EndToken, answer, 1).summary);
        chat.addTurn(QStringLiteral("And now?"), {}, 1);
        chat.generationStarted(fake::started(2, {{ChatRole::User, "Hi"},
                                                 {ChatRole::Assistant, "Fine day"},
                                                 {ChatRole::User, "And now?"}}));
        const ChatRow& row = chat.model().row(1);
        QCOMPARE(row.text.toStdString(), answer);
        QVERIFY(row.firstToken >= 0);
        QCOMPARE(row.spans.size(), std::size_t(2));
        QCOMPARE(row.text.mid(row.spans[0].end), QStringLiteral(" day"));
        QCOMPARE(row.spans[1].end, row.text.size());
    }

    void theSystemPromptStandsFirst()
    {
        ChatConversation chat;
        chat.addTurn(QStringLiteral("Hi"), {}, 1);
        chat.setSystemPrompt(QStringLiteral("Be brief."));
        QCOMPARE(chat.messages().front().role, ChatRole::System);
        QCOMPARE(chat.model().row(0).text, QStringLiteral("Be brief."));
        chat.setSystemPrompt(QString());
        QCOMPARE(chat.messages().front().role, ChatRole::User);
    }

    void attachmentsStandBeforeTheTextUnderTheirNames()
    {
        ChatConversation chat;
        chat.addTurn(QStringLiteral("What is it?"),
                     {{QStringLiteral("a.txt"), QStringLiteral("AAA"), 3}}, 1);
        QCOMPARE(chat.messages()[0].content, std::string("a.txt:\nAAA\n\nWhat is it?"));
        const ChatRow& row = chat.model().row(0);
        QCOMPARE(row.parts.size(), std::size_t(2));
        QCOMPARE(row.text.mid(row.parts[0].first, row.parts[0].length), QStringLiteral("AAA"));
        QCOMPARE(row.text.mid(row.parts[1].first, row.parts[1].length),
                 QStringLiteral("What is it?"));
    }

    void aStoppedAnswerKeepsItsText()
    {
        ChatConversation chat;
        chat.addTurn(QStringLiteral("Hi"), {}, 1);
        const GenerationStarted begin = fake::started(1, chat.messages());
        chat.generationStarted(begin);
        chat.tokenGenerated(
            fake::token(1, static_cast<std::int64_t>(begin.prompt.size()), "Half").token);
        QVERIFY(!chat.generationFinished(
            fake::finished(1, FinishReason::Cancelled, "Half", 1).summary));
        QCOMPARE(chat.model().row(1).state, ChatRowState::Stopped);
        QCOMPARE(chat.messages().back().content, std::string("Half"));
    }

    void aTurnThatCameToNothingIsTakenBack_data()
    {
        QTest::addColumn<int>("reason");
        QTest::newRow("stopped while the prompt was read") << int(FinishReason::Cancelled);
        QTest::newRow("failed") << int(FinishReason::Failed);
        QTest::newRow("context full") << int(FinishReason::ContextFull);
    }
    void aTurnThatCameToNothingIsTakenBack()
    {
        QFETCH(int, reason);
        ChatConversation chat;
        runTurn(chat, 1, QStringLiteral("First"));
        chat.addTurn(QStringLiteral("Second"), {{QStringLiteral("a.txt"), QStringLiteral("A"), 1}},
                     1);
        const auto back =
            chat.generationFinished(fake::finished(2, FinishReason(reason), "", 0).summary);
        QVERIFY(back.has_value());
        QCOMPARE(back->text, QStringLiteral("Second"));
        QCOMPARE(back->attachments.size(), std::size_t(1));
        QCOMPARE(chat.model().rowCount(), 2);
        QVERIFY(!chat.isRunning());
    }

    void anAnswerOfNoWordsIsAnAnswer()
    {
        ChatConversation chat;
        chat.addTurn(QStringLiteral("Hi"), {}, 1);
        chat.generationStarted(fake::started(1, chat.messages()));
        QVERIFY(!chat.generationFinished(fake::finished(1, FinishReason::EndToken, "", 1).summary));
        QCOMPARE(chat.model().rowCount(), 2);
    }

    void theOldAnswerReturnsWhenItCannotBeWrittenAgain()
    {
        ChatConversation chat;
        runTurn(chat, 1, QStringLiteral("Hi"));
        chat.dropAnswer(2);
        QCOMPARE(chat.messages().size(), std::size_t(1));
        QVERIFY(!chat.generationFailed());
        QCOMPARE(chat.messages().back().content, std::string("Fine day"));
    }

    void droppedTurnsAreMarkedAndSaidOnce()
    {
        ChatConversation chat;
        chat.setSystemPrompt(QStringLiteral("Be brief."));
        runTurn(chat, 1, QStringLiteral("First"));
        chat.addTurn(QStringLiteral("Second"), {}, 1);
        chat.generationStarted(fake::started(2, chat.messages(), 0, 2));
        QVERIFY(!chat.model().row(0).isDropped);
        QVERIFY(chat.model().row(1).isDropped);
        QVERIFY(chat.model().row(2).isDropped);
        QCOMPARE(chat.model().row(2).firstToken, -1);
        QVERIFY(!chat.model().row(3).isDropped);
        QCOMPARE(chat.model().row(3).droppedAbove, 2);
        QCOMPARE(chat.model().row(3).firstToken, chat.model().row(0).lastToken + 1);
    }

    void aReusedPrefixKeepsItsPlaces()
    {
        ChatConversation chat;
        runTurn(chat, 1, QStringLiteral("First"));
        const std::int64_t first = chat.model().row(1).firstToken;
        chat.addTurn(QStringLiteral("Second"), {}, 1);
        chat.generationStarted(fake::started(2, chat.messages(), 9));
        QCOMPARE(chat.model().row(1).firstToken, first);
        QCOMPARE(chat.model().row(2).spans.size(), std::size_t(1));
    }

    void theTemplatesSystemTextIsShownButNotSent()
    {
        ChatConversation chat;
        chat.addTurn(QStringLiteral("Hi"), {}, 1);
        fake::PromptBuilder prompt;
        prompt.addTurn("system", "You are helpful.");
        prompt.addTurn("user", "Hi");
        prompt.openTurn("assistant");
        GenerationStarted event;
        event.prompt = prompt.tokens();
        chat.generationStarted(event);
        QVERIFY(chat.model().row(0).isTemplates);
        QCOMPARE(chat.messages().size(), std::size_t(1));
        chat.clear();
        QCOMPARE(chat.model().rowCount(), 0);
    }

    void lossesReachTheirTokens()
    {
        ChatConversation chat;
        chat.addTurn(QStringLiteral("one two"), {}, 1);
        chat.generationStarted(fake::started(1, chat.messages()));
        chat.promptScored({1, 3, {0.5, 2.5}});
        QCOMPARE(chat.model().row(0).spans[0].nll, 0.5);
        QCOMPARE(chat.model().row(0).spans[1].nll, 2.5);
        chat.promptScored({1, 100000, {1.0}}); // past the end
    }

    void textThatWaitedForACharacterIsCompletedAtTheEnd()
    {
        ChatConversation chat;
        chat.addTurn(QStringLiteral("Hi"), {}, 1);
        const GenerationStarted begin = fake::started(1, chat.messages());
        chat.generationStarted(begin);
        const auto next = static_cast<std::int64_t>(begin.prompt.size());
        chat.tokenGenerated(fake::token(1, next, "a").token);
        chat.tokenGenerated(fake::token(1, next + 1, "").token);
        chat.generationFinished(
            fake::finished(1, FinishReason::MaxNewTokens, "a\xEF\xBF\xBD", 2).summary);
        const ChatRow& answer = chat.model().row(1);
        QCOMPARE(answer.text, QStringLiteral("a\uFFFD"));
        QCOMPARE(answer.spanAt(1)->position, next + 1);
    }
};

QTEST_GUILESS_MAIN(TestChatConversation)
#include "tst_chat_conversation.moc"
