#include "engine/base/errors.h"
#include "engine/tokenizer/chat_template.h"

#include <QtTest>

#include <fstream>
#include <nlohmann/json.hpp>

using namespace kvscope;
using Ending = ChatTemplate::Ending;

namespace {

nlohmann::json readChatCases()
{
    std::ifstream file(KVSCOPE_TEST_DATA "/tokenizers/smollm2_chat.json");
    return nlohmann::json::parse(file);
}

std::vector<ChatMessage> messagesOf(const nlohmann::json& row)
{
    std::vector<ChatMessage> messages;
    for (const auto& message : row.at("messages")) {
        const auto role = message.at("role").get<std::string>();
        messages.push_back({role == "system" ? ChatRole::System
                            : role == "user" ? ChatRole::User
                                             : ChatRole::Assistant,
                            message.at("content").get<std::string>()});
    }
    return messages;
}

ChatVocabulary chatMlVocabulary()
{
    ChatVocabulary vocabulary;
    vocabulary.hasChatMlTokens = true;
    return vocabulary;
}

const std::vector<ChatMessage> kHello = {{ChatRole::User, "Hello"}};

/// A loop over the messages with `text` for each.
std::string loop(const std::string& text)
{
    return "{% for m in messages %}" + text + "{% endfor %}";
}

} // namespace

class TestChatTemplate : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void rendersTheGoldenConversations()
    {
        const auto golden = readChatCases();
        const ChatTemplate chat(golden.at("template").get<std::string>());
        QCOMPARE(chat.note(), std::string());
        QCOMPARE(chat.name(), std::string_view("ChatML"));
        QCOMPARE(chat.endOfTurn(), std::string("<|im_end|>"));
        for (const auto& row : golden.at("cases")) {
            const auto ending = row.at("add_generation_prompt").get<bool>()
                                    ? Ending::AssistantOpened
                                    : Ending::Closed;
            QCOMPARE(chat.render(messagesOf(row), ending), row.at("text").get<std::string>());
        }
    }

    void theVocabularysTokensGoIn()
    {
        const std::string source = "{{ bos_token }}" + loop("{{ m.content ~ eos_token }}");
        const ChatTemplate chat(source, {false, "<begin>", "<end>"});
        QCOMPARE(chat.render(kHello, Ending::Closed), std::string("<begin>Hello<end>"));
        QCOMPARE(chat.endOfTurn(), std::string("<end>"));
        QCOMPARE(ChatTemplate(source).render(kHello, Ending::Closed), std::string("Hello"));
    }

    void theDateIsTheClocks()
    {
        const auto clock = [] {
            std::tm time{};
            time.tm_year = 125;
            time.tm_mon = 1;
            time.tm_mday = 3;
            return time;
        };
        const std::string source = "{{ strftime_now('%d %b %Y') }} " + loop("{{ m.content }}");
        QCOMPARE(ChatTemplate(source, {}, clock).render(kHello, Ending::Closed),
                 std::string("03 Feb 2025 Hello"));
        QVERIFY(!ChatTemplate(source).render(kHello, Ending::Closed).starts_with("03 Feb 2025"));
    }

    void endOfTurnIsWhatFollowsAnAnswer_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("endOfTurn");
        const auto row = [](const char* name, const std::string& text, const char* end) {
            QTest::newRow(name) << QString::fromStdString(loop(text)) << QString(end);
        };
        row("a control token", "{{ m.content }}<|eot|>\n", "<|eot|>");
        row("after a space", "{{ m.content }} </s>", "</s>");
        row("the first of two", "{{ m.content }}<|end|>\n<|endoftext|>", "<|end|>");
        row("EOS in any spelling", "{{ m.content }}[END]<x>", "[END]");
        row("the next turn's start", "<|{{ m.role }}|>\n{{ m.content }}", "<|user|>");
        row("no token", "{{ m.role }}: {{ m.content }}\n\n", "");
        row("text before it", "{{ m.content }} and <b>", "");
        row("no closing sign", "{{ m.content }}<unfinished", "");
        row("a space in it", "{{ m.content }}<a b>", "");
        row("nothing for an answer", "{% if m.role == 'user' %}{{ m.content }}{% endif %}", "");
        row("an answer must not be the last",
            "{% if loop.last and m.role == 'assistant' %}{{ raise_exception('no') }}{% endif %}"
            "{{ m.content }}<|e|>",
            "<|e|>");
    }
    void endOfTurnIsWhatFollowsAnAnswer()
    {
        QFETCH(QString, source);
        QFETCH(QString, endOfTurn);
        const ChatTemplate chat(source.toStdString(), {false, "", "[END]"});
        QCOMPARE(chat.note(), std::string());
        QCOMPARE(QString::fromStdString(chat.endOfTurn()), endOfTurn);
    }

    void whatCannotBeRenderedFallsBack_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<QString>("why");
        const auto row = [](const char* name, const std::string& source, const char* why) {
            QTest::newRow(name) << QString::fromStdString(source) << QString(why);
        };
        row("another tag", loop("{{ m.content }}") + "\n{% include 'x' %}",
            "line 2: the tag 'include'");
        row("cut off", "{% for m in messages %}{{ m.content }}", "endfor");
        row("an unknown filter", loop("{{ m.content | markdown }}"), "'markdown'");
        row("an unknown function", loop("{{ m.content ~ now() }}"), "'now' is undefined");
        row("it wants tools", "{{ tools[0].name }}" + loop("{{ m.content }}"), "line 1");
        row("it refuses everything", "{{ raise_exception('Not for chats') }}", "Not for chats");
        row("it never ends",
            loop("{% for i in range(99999) %}{% for j in range(99999) %}"
                 "{% endfor %}{% endfor %}{{ m.content }}"),
            "it takes too many steps");
        row("it leaves out the question", "Hello.", "leaves out what the user says");
        row("not Jinja at all", "{{{{%%", "line 1");
    }
    void whatCannotBeRenderedFallsBack()
    {
        QFETCH(QString, source);
        QFETCH(QString, why);
        const ChatTemplate withTokens(source.toStdString(), chatMlVocabulary());
        QCOMPARE(withTokens.name(), std::string_view("ChatML"));
        QCOMPARE(withTokens.endOfTurn(), std::string("<|im_end|>"));
        QVERIFY(withTokens.systemRefusal().empty());
        for (const QString& part : {QString("ChatML"), why})
            QVERIFY2(QString::fromStdString(withTokens.note()).contains(part),
                     withTokens.note().c_str());
        QVERIFY(!QString::fromStdString(withTokens.note()).contains('\n'));
        QCOMPARE(withTokens.render({{ChatRole::System, "S"}, {ChatRole::User, "U"}},
                                   Ending::AssistantOpened),
                 std::string("<|im_start|>system\nS<|im_end|>\n<|im_start|>user\nU<|im_end|>\n"
                             "<|im_start|>assistant\n"));
        const ChatTemplate without(source.toStdString());
        QCOMPARE(without.name(), std::string_view("plain"));
        QCOMPARE(without.endOfTurn(), std::string());
        QVERIFY(QString::fromStdString(without.note()).contains("plain"));
    }

    void refusedConversationsAreSaidInTheTemplatesWords()
    {
        const ChatTemplate chat(
            loop("{% if (m.role == 'user') != (loop.index0 is even) %}\n"
                 "{{ raise_exception('Roles must alternate') }}{% endif %}{{ m.content }}"));
        QCOMPARE(chat.note(), std::string());
        try {
            chat.render({{ChatRole::User, "a"}, {ChatRole::User, "b"}}, Ending::Closed);
            QFAIL("two questions were taken");
        } catch (const TokenizerError& error) {
            QCOMPARE(QString(error.what()), QString("The chat template (line 2) refuses this "
                                                    "conversation: Roles must alternate"));
        }
    }

    // Some templates know no system role and write nothing for it: the text must not be lost.
    void aSystemMessageThatIsLeftOutIsSaid()
    {
        const ChatTemplate chat(loop("{% if m.role != 'system' %}{{ m.content }}{% endif %}"));
        QCOMPARE(chat.note(), std::string());
        QVERIFY(!chat.systemRefusal().empty());
        const ChatMessage question{ChatRole::User, "Hi"};
        QVERIFY_EXCEPTION_THROWN(
            chat.render({{ChatRole::System, "Be brief."}, question}, Ending::Closed),
            TokenizerError);
        QCOMPARE(chat.render({{ChatRole::System, " "}, question}, Ending::Closed),
                 std::string("Hi"));
        QCOMPARE(chat.render({question}, Ending::Closed), std::string("Hi"));
    }

    // Not the system text is at fault where the conversation is refused without it too.
    void anotherFaultIsNotBlamedOnABlankSystemMessage()
    {
        const ChatTemplate chat(
            loop("{% if m.role == 'system' %}{{ raise_exception('none') }}"
                 "{% endif %}{% if m.content == 'bad' %}"
                 "{{ raise_exception('bad word') }}{% endif %}{{ m.content }}"));
        try {
            chat.render({{ChatRole::System, ""}, {ChatRole::User, "bad"}}, Ending::Closed);
            QFAIL("no error");
        } catch (const TokenizerError& error) {
            QVERIFY2(QString(error.what()).contains("bad word"), error.what());
        }
    }

    void copiesShareTheTemplate()
    {
        const ChatTemplate chat(readChatCases().at("template").get<std::string>());
        const ChatTemplate copy = chat;
        QCOMPARE(copy.render(kHello, Ending::Closed), chat.render(kHello, Ending::Closed));
    }

    void filesWithoutATemplateAreContinued()
    {
        const ChatTemplate chat("", chatMlVocabulary());
        QCOMPARE(chat.name(), std::string_view("plain"));
        QCOMPARE(chat.note(), std::string());
        QCOMPARE(chat.endOfTurn(), std::string());
        QCOMPARE(chat.render({{ChatRole::User, "Once upon "}}, Ending::AssistantOpened),
                 std::string("Once upon "));
        QCOMPARE(chat.render({{ChatRole::User, "One."}, {ChatRole::User, "Two"}},
                             Ending::AssistantOpened),
                 std::string("One.\n\nTwo"));
    }

    void plainTurnsAreLabelled()
    {
        const ChatTemplate chat(" \n");
        const std::vector<ChatMessage> messages = {{ChatRole::System, "A talk."},
                                                   {ChatRole::User, "Hi"},
                                                   {ChatRole::Assistant, "Hello"},
                                                   {ChatRole::User, "Bye"}};
        const std::string closed = "A talk.\n\nUser: Hi\n\nAssistant: Hello\n\nUser: Bye";
        QCOMPARE(chat.render(messages, Ending::Closed), closed);
        QCOMPARE(chat.render(messages, Ending::AssistantOpened), closed + "\n\nAssistant:");
    }

    void rolesHaveTheNamesOfTheTemplates()
    {
        QCOMPARE(roleName(ChatRole::System), std::string_view("system"));
        QCOMPARE(roleName(ChatRole::User), std::string_view("user"));
        QCOMPARE(roleName(ChatRole::Assistant), std::string_view("assistant"));
    }
};

QTEST_GUILESS_MAIN(TestChatTemplate)
#include "tst_chat_template.moc"
