#include "engine/base/errors.h"
#include "engine/tokenizer/chat_template.h"
#include "engine/tokenizer/jinja/template.h"
#include "tests/engine/tokenizer/jinja/json_values.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

#include <fstream>
#include <sstream>

using namespace kvscope;
using Ending = ChatTemplate::Ending;
using Json = nlohmann::ordered_json;

namespace {

const std::string kFolder = KVSCOPE_TEST_DATA "/chat_templates/";

/// What Python's jinja2 made of each family's template (make_expected.py there).
const Json& golden()
{
    static const Json kGolden = [] {
        std::ifstream file(kFolder + "expected.json");
        return Json::parse(file);
    }();
    return kGolden;
}

const Json& family(const std::string& name)
{
    for (const Json& entry : golden().at("families")) {
        if (entry.at("name").get<std::string>() == name)
            return entry;
    }
    throw std::runtime_error("no family " + name);
}

std::string sourceOf(const std::string& name)
{
    std::ifstream file(kFolder + name + ".jinja");
    std::stringstream text;
    text << file.rdbuf();
    return text.str();
}

ChatTemplate templateOf(const std::string& name)
{
    ChatVocabulary vocabulary;
    vocabulary.beginToken = family(name).at("bos_token").get<std::string>();
    vocabulary.endToken = family(name).at("eos_token").get<std::string>();
    return ChatTemplate(sourceOf(name), vocabulary, &jinja::fixedTime);
}

const Json& messagesOf(const Json& row)
{
    return golden().at("messages").at(row.at("messages").get<std::string>());
}

bool hasToolTurns(const Json& row)
{
    return row.contains("tools") || row.at("messages") == "tool turns";
}

std::vector<ChatMessage> chatOf(const Json& messages)
{
    std::vector<ChatMessage> chat;
    for (const Json& message : messages) {
        const auto role = message.at("role").get<std::string>();
        chat.push_back({role == "system" ? ChatRole::System
                        : role == "user" ? ChatRole::User
                                         : ChatRole::Assistant,
                        message.at("content").get<std::string>()});
    }
    return chat;
}

Ending endingOf(const Json& row)
{
    return row.at("opened").get<bool>() ? Ending::AssistantOpened : Ending::Closed;
}

/// The row's text from the interpreter alone, with tools and all.
std::string interpreted(const jinja::Template& page, const Json& chosen, const Json& row)
{
    Json variables = {{"messages", messagesOf(row)},
                      {"tools", row.contains("tools") ? row.at("tools") : Json()},
                      {"documents", nullptr},
                      {"add_generation_prompt", row.at("opened")},
                      {"bos_token", chosen.at("bos_token")},
                      {"eos_token", chosen.at("eos_token")}};
    return page.render(*jinja::valueFrom(variables).asDict(), 0, &jinja::fixedTime);
}

QString nameOf(const Json& row)
{
    return QString("%1, %2%3")
        .arg(row.at("messages").get<std::string>().c_str(),
             row.at("opened").get<bool>() ? "opened" : "closed",
             row.contains("tools") ? ", with tools" : "");
}

void addFamilies()
{
    QTest::addColumn<QString>("name");
    for (const Json& entry : golden().at("families"))
        QTest::newRow(entry.at("name").get<std::string>().c_str())
            << QString::fromStdString(entry.at("name").get<std::string>());
}

std::vector<ChatMessage> longChat(int turns, const std::string& text)
{
    std::vector<ChatMessage> chat;
    for (int i = 0; i < turns; ++i)
        chat.push_back({i % 2 == 0 ? ChatRole::User : ChatRole::Assistant, text});
    return chat;
}

} // namespace

class TestChatFamilies : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theInterpreterAgreesWithPython_data() { addFamilies(); }
    void theInterpreterAgreesWithPython()
    {
        QFETCH(QString, name);
        const Json& chosen = family(name.toStdString());
        const jinja::Template page(sourceOf(name.toStdString()));
        for (const Json& row : chosen.at("cases")) {
            std::string text;
            try {
                text = interpreted(page, chosen, row);
            } catch (const jinja::TemplateError& error) {
                QVERIFY2(row.contains("error"), qPrintable(nameOf(row) + ": " + error.what()));
                if (row.at("raised").get<bool>())
                    QCOMPARE(error.words(), row.at("error").get<std::string>());
                continue;
            }
            QVERIFY2(row.contains("text"), qPrintable(nameOf(row)));
            QCOMPARE(text, row.at("text").get<std::string>());
        }
    }

    void conversationsAreRenderedAsPythonDoes_data() { addFamilies(); }
    void conversationsAreRenderedAsPythonDoes()
    {
        QFETCH(QString, name);
        const ChatTemplate chat = templateOf(name.toStdString());
        QCOMPARE(chat.note(), std::string());
        int rendered = 0;
        for (const Json& row : family(name.toStdString()).at("cases")) {
            if (hasToolTurns(row))
                continue;
            const auto messages = chatOf(messagesOf(row));
            if (row.contains("text")) {
                QCOMPARE(chat.render(messages, endingOf(row)), row.at("text").get<std::string>());
                ++rendered;
            } else if (row.at("messages") != "empty") { // its blank system text is left out
                QVERIFY_EXCEPTION_THROWN(chat.render(messages, endingOf(row)), TokenizerError);
            }
        }
        QVERIFY(rendered >= 8);
    }

    void traitsAreFound_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("shown");
        QTest::addColumn<QString>("endOfTurn");
        QTest::addColumn<bool>("takesSystem");
        const auto row = [](const char* name, const char* shown, const char* end, bool takes) {
            QTest::newRow(name) << name << shown << QString::fromUtf8(end) << takes;
        };
        row("chatml", "ChatML", "<|im_end|>", true);
        row("command_r", "Command R", "<|END_OF_TURN_TOKEN|>", true);
        row("deepseek_r1", "DeepSeek", "<\uFF5Cend\u2581of\u2581sentence\uFF5C>", true);
        row("gemma2", "Gemma", "<end_of_turn>", false);
        row("gemma3", "Gemma", "<end_of_turn>", true);
        row("gpt_oss", "Harmony", "<|return|>", true);
        row("granite", "Granite", "<|end_of_text|>", true);
        row("llama2", "Llama 2 or Mistral", "</s>", true);
        row("llama3", "Llama 3", "<|eot_id|>", true);
        row("llama3_1", "Llama 3", "<|eot_id|>", true);
        row("mistral_v0_1", "Llama 2 or Mistral", "</s>", false);
        row("mistral_v0_3", "Llama 2 or Mistral", "</s>", true);
        row("phi3", "Zephyr or Phi", "<|end|>", true);
        row("phi4", "ChatML", "<|im_end|>", true);
        row("qwen2_5", "ChatML", "<|im_end|>", true);
        row("qwen3", "ChatML", "<|im_end|>", true);
        row("smollm3", "ChatML", "<|im_end|>", true);
        row("tinyllama", "Zephyr or Phi", "</s>", true);
        row("vicuna", "the file's own", "</s>", true);
        row("zephyr", "Zephyr or Phi", "</s>", true);
    }
    void traitsAreFound()
    {
        QFETCH(QString, name);
        QFETCH(QString, shown);
        QFETCH(QString, endOfTurn);
        QFETCH(bool, takesSystem);
        const ChatTemplate chat = templateOf(name.toStdString());
        QCOMPARE(QString::fromStdString(std::string(chat.name())), shown);
        QCOMPARE(QString::fromStdString(chat.endOfTurn()), endOfTurn);
        QCOMPARE(chat.systemRefusal().empty(), takesSystem);
    }

    void anAnswerWithChannelsIsGivenBackWithoutItsReasoning()
    {
        const ChatTemplate chat = templateOf("gpt_oss");
        QCOMPARE(chat.answerOpening(), std::string("<|channel|>final<|message|>"));
        const auto prompt = [&chat](const std::string& answer) {
            return chat.render(
                {{ChatRole::User, "One?"}, {ChatRole::Assistant, answer}, {ChatRole::User, "Two?"}},
                Ending::AssistantOpened);
        };
        QCOMPARE(prompt("<|channel|>analysis<|message|>Hm.<|end|><|start|>assistant"
                        "<|channel|>final<|message|>First."),
                 prompt("First."));
    }

    void othersHaveNoChannels_data() { addFamilies(); }
    void othersHaveNoChannels()
    {
        QFETCH(QString, name);
        if (name != "gpt_oss")
            QCOMPARE(templateOf(name.toStdString()).answerOpening(), std::string());
    }

    // What a context holds after an answer has to be how the next prompt begins, or its ids are
    // thrown away. Families that write history another way cannot have that.
    void theNextPromptBeginsWithTheLast_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"chatml", "command_r", "gemma2", "gemma3", "granite", "llama3", "llama3_1",
              "mistral_v0_1", "phi3", "phi4", "qwen2_5", "qwen3", "smollm3", "zephyr"})
            QTest::newRow(name) << name;
    }
    void theNextPromptBeginsWithTheLast()
    {
        QFETCH(QString, name);
        const ChatTemplate chat = templateOf(name.toStdString());
        std::vector<ChatMessage> messages = {{ChatRole::User, "One?"}};
        const std::string known =
            chat.render(messages, Ending::AssistantOpened) + "First." + chat.endOfTurn();
        messages.push_back({ChatRole::Assistant, "First."});
        messages.push_back({ChatRole::User, "Two?"});
        const std::string next = chat.render(messages, Ending::AssistantOpened);
        QVERIFY2(next.starts_with(known), next.c_str());
    }

    void aRefusedSystemMessageIsSaid_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("words");
        QTest::newRow("in its own words") << "gemma2"
                                          << "System role not supported";
        QTest::newRow("as a role out of turn") << "mistral_v0_1"
                                               << "must alternate";
    }
    void aRefusedSystemMessageIsSaid()
    {
        QFETCH(QString, name);
        QFETCH(QString, words);
        const ChatTemplate chat = templateOf(name.toStdString());
        const ChatMessage question{ChatRole::User, "Hello"};
        try {
            chat.render({{ChatRole::System, "Be brief."}, question}, Ending::AssistantOpened);
            QFAIL("the system text was lost");
        } catch (const TokenizerError& error) {
            QVERIFY2(QString(error.what()).contains(words), error.what());
            QVERIFY2(QString(error.what()).contains("system message"), error.what());
        }
        QCOMPARE(chat.render({{ChatRole::System, " \n"}, question}, Ending::AssistantOpened),
                 chat.render({question}, Ending::AssistantOpened));
    }

    void aThousandMessagesOfAMegabyteTakeFewMilliseconds_data() { addFamilies(); }
    void aThousandMessagesOfAMegabyteTakeFewMilliseconds()
    {
        QFETCH(QString, name);
        const ChatTemplate chat = templateOf(name.toStdString());
        const std::string text(1000, 'x');
        const auto thousand = longChat(1001, text); // a question is the last
        const auto four = longChat(4001, text);
        Scaling scaling;
        for (int round = 0; round < 5; ++round) {
            const auto time = [&](const std::vector<ChatMessage>& messages) {
                return processorSeconds([&] { chat.render(messages, Ending::AssistantOpened); });
            };
            scaling.small = std::min(scaling.small, time(thousand));
            scaling.large = std::min(scaling.large, time(four));
        }
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
        QVERIFY2(scaling.small < 0.05, scaling.text().c_str());
        if (qEnvironmentVariableIsSet("KVSCOPE_SHOW_TIMES"))
            qInfo() << scaling.text().c_str();
    }
};

QTEST_GUILESS_MAIN(TestChatFamilies)
#include "tst_chat_families.moc"
