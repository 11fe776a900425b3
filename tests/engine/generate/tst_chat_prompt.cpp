#include "engine/base/errors.h"
#include "engine/generate/chat_prompt.h"
#include "tests/support/golden_json.h"

#include <QtTest>

using namespace kvscope;

class TestChatPrompt : public QObject
{
    Q_OBJECT

    std::unique_ptr<const Tokenizer> m_tokenizer;
    std::string m_template;

    ChatPrompter prompter() const { return {*m_tokenizer, ChatTemplate(m_template), std::nullopt}; }

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

    // Mistral's own tokenizer, whose BOS <s> (1) many templates write themselves.
    void beginTokenComesOnce_data()
    {
        QTest::addColumn<QString>("source");
        const QString turn = "{% for m in messages %}[INST] {{ m.content }} [/INST]{% endfor %}";
        QTest::newRow("written by the template") << "{{ bos_token }}" + turn;
        QTest::newRow("not written by the template") << turn;
        QTest::newRow("written as text") << "<s>" + turn;
    }
    void beginTokenComesOnce()
    {
        QFETCH(QString, source);
        const auto tokenizer = openTokenizer(goldenPath("tokenizers/mistral_v3.model"));
        TokenizerSource file;
        file.chatTemplate = source.toStdString();
        file.beginToken = 1;
        file.endTokens = {2};
        file.addsBeginToken = true;
        const ChatPrompter chat = makeChatPrompter(*tokenizer, file);
        QCOMPARE(chat.chatTemplate().note(), std::string());
        const std::vector<ChatMessage> messages{{ChatRole::User, "Hello!"}};
        const auto prompt = chat.prompt(messages, {});
        QCOMPARE(prompt.ids.front(), TokenId(1));
        QCOMPARE(std::count(prompt.ids.begin(), prompt.ids.end(), 1), 1);
        QCOMPARE(chat.prompt(messages, prompt).ids, prompt.ids); // as the known text it is
    }

    void withoutABeginTokenNoneIsAdded()
    {
        const auto tokenizer = openTokenizer(goldenPath("tokenizers/mistral_v3.model"));
        TokenizerSource file;
        file.chatTemplate = "{% for m in messages %}{{ m.content }}{% endfor %}";
        file.beginToken = 1;
        const auto ids =
            makeChatPrompter(*tokenizer, file).prompt({{ChatRole::User, "Hi"}}, {}).ids;
        QVERIFY(std::find(ids.begin(), ids.end(), 1) == ids.end());
    }

    void theVocabularyTellsTheTemplateItsTokens()
    {
        TokenizerSource file;
        file.beginToken = 1;
        file.endTokens = {2, 7};
        const auto mistral = openTokenizer(goldenPath("tokenizers/mistral_v3.model"));
        const ChatVocabulary other = chatVocabulary(*mistral, file);
        QCOMPARE(other.beginToken, std::string("<s>"));
        QCOMPARE(other.endToken, std::string("</s>"));
        QVERIFY(!other.hasChatMlTokens);
        QVERIFY(chatVocabulary(*m_tokenizer, {}).hasChatMlTokens);
        file.beginToken = 1'000'000; // of a vocabulary that a tokenizer of another file replaces
        QCOMPARE(chatVocabulary(*mistral, file).beginToken, std::string());
        QCOMPARE(makeChatPrompter(*mistral, file).prompt({{ChatRole::User, "Hi"}}, {}).text,
                 std::string("Hi"));
    }

    void aRefusedConversationIsAnError()
    {
        TokenizerSource file;
        file.chatTemplate = "{% for m in messages %}{% if m.role == 'system' %}"
                            "{{ raise_exception('No system role') }}{% endif %}{{ m.content }}"
                            "{% endfor %}";
        const ChatPrompter chat = makeChatPrompter(*m_tokenizer, file);
        QVERIFY_EXCEPTION_THROWN(chat.prompt({{ChatRole::System, "S"}, {ChatRole::User, "U"}}, {}),
                                 TokenizerError);
        QCOMPARE(chat.prompt({{ChatRole::User, "U"}}, {}).text, std::string("U"));
    }

    // Of a template that rewrites what was said, nothing that is cached can be kept.
    void rewrittenHistoryIsEncodedAnew()
    {
        TokenizerSource file;
        file.chatTemplate = "{% for m in messages %}{{ m.content.split('</think>')[-1] }}<|im_end|>"
                            "{% endfor %}";
        const ChatPrompter chat = makeChatPrompter(*m_tokenizer, file);
        std::vector<ChatMessage> messages{{ChatRole::User, "One?"}};
        TokenizedText known = chat.prompt(messages, {});
        known.text += "so</think>First.<|im_end|>";
        known.ids = m_tokenizer->encode(known.text, ControlTokens::Parsed);
        messages.push_back({ChatRole::Assistant, "so</think>First."});
        messages.push_back({ChatRole::User, "Two?"});
        const TokenizedText next = chat.prompt(messages, known);
        QCOMPARE(next.text, std::string("One?<|im_end|>First.<|im_end|>Two?<|im_end|>"));
        QCOMPARE(next.ids, m_tokenizer->encode(next.text, ControlTokens::Parsed));
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
