#include "tests/widgets/chat_fixture.h"
#include "widgets/chat_tokens.h"

#include <QtTest>

#include <random>

using namespace kvscope;

namespace {

std::vector<ContextToken> contextOf(const std::vector<TokenRecord>& tokens)
{
    std::vector<ContextToken> context;
    for (const TokenRecord& token : tokens)
        context.push_back({QString::fromStdString(token.text), token.isControl, token.nll});
    return context;
}

QString textOf(const std::vector<ContextToken>& context, std::int64_t first, std::int64_t last)
{
    QString text;
    for (std::int64_t i = first; i <= last; ++i)
        text += context[static_cast<std::size_t>(i)].text;
    return text;
}

} // namespace

class TestChatTokens : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Worked by hand: <|im_start|> user \n Hi there <|im_end|> \n <|im_start|> assistant \n
    void oneTurnTakesItsControlTokensToo()
    {
        const ChatMessages messages{{ChatRole::User, "Hi there"}};
        const auto context = contextOf(fake::started(1, messages).prompt);
        const PromptAlignment alignment = alignMessages(context, messages);
        QCOMPARE(alignment.preamble.first, -1);
        QCOMPARE(alignment.messages[0].first, 0);
        QCOMPARE(alignment.messages[0].last, 6);
        QCOMPARE(alignment.answerFirst, 7);
        const std::vector<ChatTokenSpan> spans{{2, 3, -1.0}, {8, 4, -1.0}};
        QCOMPARE(alignment.messages[0].spans, spans);
    }

    void turnsFollowEachOtherWithoutGaps()
    {
        const ChatMessages messages{{ChatRole::System, "Be brief."},
                                    {ChatRole::User, "one two"},
                                    {ChatRole::Assistant, "three"},
                                    {ChatRole::User, "four"}};
        const auto context = contextOf(fake::started(1, messages).prompt);
        const PromptAlignment alignment = alignMessages(context, messages);
        std::int64_t next = 0;
        for (const MessageTokens& message : alignment.messages) {
            QCOMPARE(message.first, next);
            next = message.last + 1;
        }
        QCOMPARE(alignment.answerFirst, next);
    }

    // Llama 3's form, with a role's name between two control tokens.
    void turnsMayOpenWithSeveralControlTokens()
    {
        fake::PromptBuilder prompt;
        prompt.add("<|begin_of_text|>", true); // 0
        for (const char* said : {"Hi", "Yes"}) {
            prompt.add("<|start_header_id|>", true); // 1, 7
            prompt.add("user", false);
            prompt.add("<|end_header_id|>", true);
            prompt.add("\n\n", false);
            prompt.add(said, false); // 5, 11
            prompt.add("<|eot_id|>", true);
        }
        const PromptAlignment alignment = alignMessages(
            contextOf(prompt.tokens()), {{ChatRole::User, "Hi"}, {ChatRole::User, "Yes"}});
        QCOMPARE(alignment.preamble.first, -1);
        QCOMPARE(alignment.messages[0].first, 0);
        QCOMPARE(alignment.messages[0].last, 6);
        QCOMPARE(alignment.messages[1].first, 7);
        QCOMPARE(alignment.messages[1].spans.front().position, 11);
    }

    void aMessageIsNotFoundInItsRoleName()
    {
        const ChatMessages messages{
            {ChatRole::User, "user"}, {ChatRole::Assistant, "assistant"}, {ChatRole::User, "user"}};
        const auto context = contextOf(fake::started(1, messages).prompt);
        const PromptAlignment alignment = alignMessages(context, messages);
        QCOMPARE(alignment.messages[0].spans.front().position, 3);
        QCOMPARE(alignment.messages[1].spans.front().position, 9);
        QCOMPARE(alignment.messages[2].spans.front().position, 15);
    }

    void theTemplatesOwnSystemTextIsAPreamble()
    {
        fake::PromptBuilder prompt;
        prompt.addTurn("system", "You are helpful.");
        prompt.addTurn("user", "Hi");
        prompt.openTurn("assistant");
        const auto context = contextOf(prompt.tokens());
        const PromptAlignment alignment = alignMessages(context, {{ChatRole::User, "Hi"}});
        QCOMPARE(alignment.preamble.first, 0);
        QCOMPARE(alignment.preambleText, QStringLiteral("You are helpful."));
        QCOMPARE(alignment.messages[0].first, alignment.preamble.last + 1);
        QCOMPARE(textOf(context, alignment.messages[0].first, alignment.messages[0].first),
                 QStringLiteral("<|im_start|>"));
    }

    void aBeginTokenIsNoPreamble()
    {
        fake::PromptBuilder prompt;
        prompt.add("<s>", true);
        prompt.addTurn("user", "Hi");
        const PromptAlignment alignment =
            alignMessages(contextOf(prompt.tokens()), {{ChatRole::User, "Hi"}});
        QCOMPARE(alignment.preamble.first, -1);
        QCOMPARE(alignment.messages[0].first, 0);
    }

    void aTemplateWithoutControlTokensServesToo()
    {
        fake::PromptBuilder prompt;
        prompt.addWords("one two\n\nthree\n\nfour");
        const auto context = contextOf(prompt.tokens());
        const PromptAlignment alignment = alignMessages(context, {{ChatRole::User, "one two"},
                                                                  {ChatRole::Assistant, "three"},
                                                                  {ChatRole::User, "four"}});
        QCOMPARE(alignment.messages[0].first, 0);
        QVERIFY(textOf(context, alignment.messages[1].first, alignment.messages[1].last)
                    .contains(QStringLiteral("three")));
        QVERIFY(textOf(context, alignment.messages[2].first, alignment.messages[2].last)
                    .contains(QStringLiteral("four")));
    }

    void aMessageThatTheTokenizerAlteredTakesNoTokens()
    {
        const ChatMessages sent{{ChatRole::User, "abc"}, {ChatRole::User, "def"}};
        const auto context = contextOf(fake::started(1, sent).prompt);
        const PromptAlignment alignment =
            alignMessages(context, {{ChatRole::User, "ABC"}, {ChatRole::User, "def"}});
        QCOMPARE(alignment.messages[0].first, -1);
        QVERIFY(alignment.messages[0].spans.empty());
        QCOMPARE(alignment.messages[1].spans.size(), std::size_t(1));
    }

    // Property: whatever the words, a message's spans spell its text, token by token.
    void spansSpellTheMessages()
    {
        std::mt19937 random(11);
        const QStringList vocabulary{QStringLiteral("a"),    QStringLiteral("Ä"),
                                     QStringLiteral("日本"), QStringLiteral("😀"),
                                     QStringLiteral("user"), QStringLiteral("x\ny")};
        for (int round = 0; round < 60; ++round) {
            ChatMessages messages;
            const int turns = 1 + static_cast<int>(random() % 6);
            for (int t = 0; t < turns; ++t) {
                QStringList said;
                for (unsigned w = 0; w <= random() % 9; ++w)
                    said << vocabulary[static_cast<qsizetype>(random() % 6)];
                messages.push_back({t % 2 == 0 ? ChatRole::User : ChatRole::Assistant,
                                    said.join(u' ').toStdString()});
            }
            const auto context = contextOf(fake::started(1, messages).prompt);
            const PromptAlignment alignment = alignMessages(context, messages);
            for (std::size_t m = 0; m < messages.size(); ++m) {
                const QString text = QString::fromStdString(messages[m].content);
                qsizetype begin = 0;
                for (const ChatTokenSpan& span : alignment.messages[m].spans) {
                    QCOMPARE(text.mid(begin, span.end - begin),
                             context[static_cast<std::size_t>(span.position)].text);
                    begin = span.end;
                }
                QCOMPARE(begin, text.size());
            }
        }
    }

    void hostileInputIsHarmless()
    {
        QCOMPARE(alignMessages({}, {{ChatRole::User, "x"}}).messages[0].first, -1);
        QCOMPARE(alignMessages({}, {}).answerFirst, 0);
        const std::vector<ContextToken> empty(5);
        QCOMPARE(
            alignMessages(empty, {{ChatRole::User, ""}, {ChatRole::User, " "}}).messages[1].first,
            -1);
    }
};

QTEST_GUILESS_MAIN(TestChatTokens)
#include "tst_chat_tokens.moc"
