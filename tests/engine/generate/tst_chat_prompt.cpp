#include "engine/generate/chat_prompt.h"
#include "tests/support/golden_json.h"

#include <QtTest>

using namespace kvscope;

class TestChatPrompt : public QObject
{
    Q_OBJECT

    std::unique_ptr<const Tokenizer> m_tokenizer;
    std::string m_template;

    ChatPrompter prompter() const
    {
        return {*m_tokenizer, ChatTemplate(m_template, true), std::nullopt};
    }

private Q_SLOTS:
    void initTestCase()
    {
        m_tokenizer = openTokenizer(goldenPath("tokenizers/smollm2_vocab.gguf"));
        m_template =
            readGoldenJson("tokenizers/smollm2_chat.json").at("template").get<std::string>();
    }

    void rendersAsTheTemplateSays()
    {
        for (const auto& entry : readGoldenJson("tokenizers/smollm2_chat.json").at("cases")) {
            if (!entry.at("add_generation_prompt").get<bool>())
                continue;
            std::vector<ChatMessage> messages;
            for (const auto& message : entry.at("messages")) {
                const auto role = message.at("role").get<std::string>();
                messages.push_back({role == "system" ? ChatRole::System
                                    : role == "user" ? ChatRole::User
                                                     : ChatRole::Assistant,
                                    message.at("content").get<std::string>()});
            }
            const TokenizedText prompt = prompter().prompt(messages, {});
            QCOMPARE(prompt.text, entry.at("text").get<std::string>());
            QCOMPARE(prompt.ids, entry.at("ids").get<std::vector<TokenId>>());
        }
    }

    // An answer's own ids are kept even where encoding its text again would split it otherwise.
    void theNextTurnBeginsWithTheIdsOfTheLast()
    {
        std::vector<ChatMessage> messages{{ChatRole::User, "Hello!"}};
        TokenizedText known = prompter().prompt(messages, {});
        for (const char letter : std::string("Hi")) { // letter by letter, as no encoder would
            const auto ids = m_tokenizer->encode(std::string(1, letter), ControlTokens::Literal);
            known.ids.insert(known.ids.end(), ids.begin(), ids.end());
        }
        known.ids.push_back(*m_tokenizer->controlToken("<|im_end|>"));
        known.text += "Hi<|im_end|>";
        messages.push_back({ChatRole::Assistant, "Hi"});
        messages.push_back({ChatRole::User, "Again?"});
        const TokenizedText next = prompter().prompt(messages, known);
        QVERIFY(next.text.starts_with(known.text));
        QVERIFY(std::equal(known.ids.begin(), known.ids.end(), next.ids.begin()));
        QCOMPARE(m_tokenizer->decode(next.ids), next.text);
        const TokenizedText canonical = prompter().prompt(messages, {});
        QCOMPARE(canonical.text, next.text);
        QVERIFY(canonical.ids != next.ids);
    }

    void anEditedChatIsEncodedAnew()
    {
        const TokenizedText known = prompter().prompt({{ChatRole::User, "First"}}, {});
        const TokenizedText other = prompter().prompt({{ChatRole::User, "Second"}}, known);
        QCOMPARE(other.ids, prompter().prompt({{ChatRole::User, "Second"}}, {}).ids);
    }

    void dropsTheFewestOldestTurnsAndNeverTheSystemOrLastMessage()
    {
        std::vector<ChatMessage> messages{{ChatRole::System, "Be brief."}};
        for (int turn = 0; turn < 6; ++turn) {
            messages.push_back({ChatRole::User, "Question number " + std::to_string(turn)});
            messages.push_back({ChatRole::Assistant, "An answer of some words."});
        }
        messages.push_back({ChatRole::User, "And now?"});
        const auto length = [&](const std::vector<ChatMessage>& some) {
            return static_cast<std::int64_t>(prompter().prompt(some, {}).ids.size());
        };
        QCOMPARE(prompter().messagesToDrop(messages, length(messages)),
                 std::optional<std::int64_t>(0));
        const auto dropped = prompter().messagesToDrop(messages, length(messages) - 1);
        QCOMPARE(dropped, std::optional<std::int64_t>(2));
        const auto kept = ChatPrompter::withoutOldest(messages, *dropped);
        QCOMPARE(kept.front().content, std::string("Be brief."));
        QCOMPARE(kept[1].content, std::string("Question number 1"));
        QCOMPARE(kept.back().content, std::string("And now?"));
        const auto most =
            prompter().messagesToDrop(messages, length({messages.front(), messages.back()}));
        QCOMPARE(most, std::optional<std::int64_t>(12));
        QVERIFY(!prompter().messagesToDrop(messages, 5).has_value());
    }
};

QTEST_GUILESS_MAIN(TestChatPrompt)
#include "tst_chat_prompt.moc"
