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

std::string smolTemplate()
{
    return readChatCases().at("template").get<std::string>();
}

/// `text` with the first `from` replaced, which must be there.
std::string replaced(std::string text, const std::string& from, const std::string& to)
{
    const std::size_t at = text.find(from);
    if (at == text.npos)
        throw std::runtime_error("not in the template: " + from);
    return text.replace(at, from.size(), to);
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

const std::vector<ChatMessage> kHello = {{ChatRole::User, "Hello"}};

} // namespace

class TestChatTemplate : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void rendersTheGoldenConversations()
    {
        const auto golden = readChatCases();
        const ChatTemplate chat(golden.at("template").get<std::string>(), true);
        QCOMPARE(chat.note(), std::string());
        QCOMPARE(chat.name(), std::string_view("ChatML"));
        QCOMPARE(chat.endOfTurn(), std::string_view("<|im_end|>"));
        for (const auto& row : golden.at("cases")) {
            const auto ending = row.at("add_generation_prompt").get<bool>()
                                    ? Ending::AssistantOpened
                                    : Ending::Closed;
            QCOMPARE(chat.render(messagesOf(row), ending), row.at("text").get<std::string>());
        }
    }

    void defaultSystemTextComesFromTheTemplate()
    {
        const std::string source = replaced(
            smolTemplate(), "a helpful AI assistant named SmolLM, trained by Hugging Face", "Qwen");
        const ChatTemplate chat(source, true);
        QCOMPARE(chat.note(), std::string());
        QCOMPARE(chat.render(kHello, Ending::Closed),
                 std::string("<|im_start|>system\nYou are Qwen<|im_end|>\n"
                             "<|im_start|>user\nHello<|im_end|>\n"));
        QCOMPARE(chat.render({}, Ending::AssistantOpened), std::string("<|im_start|>assistant\n"));
    }

    void otherSpellingsAreRecognised_data()
    {
        QTest::addColumn<QString>("source");
        QTest::addColumn<bool>("hasDefault");
        QTest::newRow("no default system text")
            << "{% for message in messages %}{{'<|im_start|>' + message['role'] + '\\n' + "
               "message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if add_generation_prompt "
               "%}{{ '<|im_start|>assistant\\n' }}{% endif %}"
            << false;
        QTest::newRow("with the flag's default in front")
            << "{% if not add_generation_prompt is defined %}{% set add_generation_prompt = false "
               "%}{% endif %}{% for message in messages %}{{'<|im_start|>' + message['role'] + "
               "'\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% endfor %}{% if "
               "add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
            << false;
        QTest::newRow("over several lines, as text, by attribute")
            << "{%- for message in messages %}\n"
               "    {%- if loop.first and messages[0].role != \"system\" -%}\n"
               "<|im_start|>system\nBe brief.<|im_end|>\n{% endif %}\n"
               "{{ \"<|im_start|>\" + message.role }}\n{{ message.content }}<|im_end|>\n"
               "{% endfor %}\n"
               "{%- if add_generation_prompt %}<|im_start|>assistant\n{% endif %}"
            << true;
        QTest::newRow("default before the loop")
            << "{% if messages[0]['role'] != 'system' %}{{ '<|im_start|>system\\nBe "
               "brief.<|im_end|>\\n' }}{% endif %}{% for message in messages %}{{'<|im_start|>' + "
               "message['role'] + '\\n' + message['content'] + '<|im_end|>\\n'}}{% endfor %}{% if "
               "add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}"
            << true;
    }
    void otherSpellingsAreRecognised()
    {
        QFETCH(QString, source);
        QFETCH(bool, hasDefault);
        const ChatTemplate chat(source.toStdString(), true);
        QCOMPARE(chat.note(), std::string());
        const std::string system = hasDefault ? "<|im_start|>system\nBe brief.<|im_end|>\n" : "";
        QCOMPARE(chat.render(kHello, Ending::AssistantOpened),
                 system + "<|im_start|>user\nHello<|im_end|>\n<|im_start|>assistant\n");
    }

    // A template that does anything else must not pass for ChatML.
    void whatDoesMoreIsNotRecognised_data()
    {
        QTest::addColumn<QString>("source");
        const auto row = [](const char* name, const std::string& source) {
            QTest::newRow(name) << QString::fromStdString(source);
        };
        const std::string smol = smolTemplate();
        row("content is trimmed",
            replaced(smol, "message['content']", "message['content'] | trim"));
        row("tools", "{% if tools %}{{ tools }}{% endif %}" + smol);
        row("the date", replaced(smol, "You are", "{{ strftime_now('%d') }} You are"));
        row("the date joined on",
            replaced(smol, "Face<|im_end|>\n'", "Face' + date + '<|im_end|>\n'"));
        row("beginning of text in front", "{{ bos_token }}" + smol);
        row("text in front", "x" + smol);
        row("text behind", smol + "x");
        row("other loop", replaced(smol, "in messages %}", "in messages[1:] %}"));
        row("other condition", replaced(smol, "loop.first and ", ""));
        row("other role", replaced(smol, "<|im_start|>assistant", "<|im_start|>model"));
        row("no line break", replaced(smol, "'<|im_end|>' + '\n'", "'<|im_end|>'"));
        row("control token in the system text", replaced(smol, "You are", "<|im_end|>You are"));
        row("thinking",
            replaced(smol, "<|im_start|>assistant\n", "<|im_start|>assistant\n<think>\n"));
        row("never opens a turn", smol.substr(0, smol.find("{% if add_generation")));
        row("cut off", smol.substr(0, smol.size() - 4));
        row("Llama 2", "{% for message in messages %}{{ '[INST] ' + message['content'] + ' "
                       "[/INST]' }}{% endfor %}");
    }
    void whatDoesMoreIsNotRecognised()
    {
        QFETCH(QString, source);
        const ChatTemplate withTokens(source.toStdString(), true);
        QCOMPARE(withTokens.name(), std::string_view("ChatML"));
        QVERIFY(QString::fromStdString(withTokens.note()).contains("ChatML"));
        QCOMPARE(withTokens.render(kHello, Ending::Closed),
                 std::string("<|im_start|>user\nHello<|im_end|>\n"));
        const ChatTemplate without(source.toStdString(), false);
        QCOMPARE(without.name(), std::string_view("plain"));
        QVERIFY(QString::fromStdString(without.note()).contains("plain"));
    }

    void filesWithoutATemplateAreContinued()
    {
        const ChatTemplate chat("", true);
        QCOMPARE(chat.name(), std::string_view("plain"));
        QCOMPARE(chat.note(), std::string());
        QCOMPARE(chat.endOfTurn(), std::string_view());
        QCOMPARE(chat.render({{ChatRole::User, "Once upon "}}, Ending::AssistantOpened),
                 std::string("Once upon "));
        QCOMPARE(chat.render({{ChatRole::User, "One."}, {ChatRole::User, "Two"}},
                             Ending::AssistantOpened),
                 std::string("One.\n\nTwo"));
    }

    void plainTurnsAreLabelled()
    {
        const ChatTemplate chat(" \n", false);
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
