#include "engine/checkpoint/tokenizer_config.h"
#include "engine/checkpoint/tokenizer_json.h"
#include "engine/checkpoint/tokenizer_source.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

using namespace kvscope;

namespace {

constexpr const char* kSentencePiece = "\x0a\x05";
constexpr const char* kTiktoken = "IQ== 0\n";
/// Its post-processor puts token 5 in front.
constexpr const char* kTokenizerJson = R"({"post_processor":{"type":"Sequence","processors":[
    {"type":"ByteLevel"},{"type":"TemplateProcessing",
    "single":[{"SpecialToken":{"id":"<s>","type_id":0}},{"Sequence":{"id":"A","type_id":0}}],
    "special_tokens":{"<s>":{"id":"<s>","ids":[5],"tokens":["<s>"]}}}]},
    "model":{"type":"BPE","vocab":{"a":0},"merges":[]}})";

} // namespace

class TestFolderTokenizer : public QObject
{
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;
    std::vector<std::string> m_warnings;

    std::filesystem::path path(const char* name) const
    {
        return std::filesystem::path(m_folder->path().toStdString()) / name;
    }
    void write(const char* name, const char* text) const { writeFile(path(name), text); }
    TokenizerSource read(const char* config = "{}")
    {
        return readFolderTokenizer(m_folder->path().toStdString(),
                                   ConfigObject(nlohmann::json::parse(config), "config.json"), 100,
                                   m_warnings);
    }

private Q_SLOTS:
    void init()
    {
        m_folder = std::make_unique<QTemporaryDir>();
        m_warnings.clear();
    }

    void aFolderMayHaveNone()
    {
        const TokenizerSource source = read();
        QVERIFY(source.tokenizerJsonFile.empty() && source.sentencePieceFile.empty() &&
                source.tiktokenFile.empty() && source.unsupported.empty());
        QVERIFY(!source.addsBeginToken && !source.beginToken);
        QCOMPARE(source.modelVocabularySize.value(), std::int64_t{100});
    }

    void contentTellsTheKind()
    {
        write("tokenizer.model", kSentencePiece);
        QCOMPARE(read().sentencePieceFile, path("tokenizer.model"));
        write("tokenizer.model", kTiktoken);
        QCOMPARE(read().tiktokenFile, path("tokenizer.model"));
        QVERIFY(read().sentencePieceFile.empty());
    }

    void tokenizerJsonWinsOverTheModelBesideIt()
    {
        write("tokenizer.model", kSentencePiece);
        write("tokenizer.json", kTokenizerJson);
        const TokenizerSource source = read();
        QCOMPARE(source.tokenizerJsonFile, path("tokenizer.json"));
        QVERIFY(source.sentencePieceFile.empty());
        write("tokenizer.json", "");
        QCOMPARE(read().sentencePieceFile, path("tokenizer.model")); // an empty file is none
    }

    void postProcessorAsksForBegin()
    {
        write("tokenizer.json", kTokenizerJson);
        const TokenizerSource source = read(R"({"bos_token_id": 1})");
        QVERIFY(source.addsBeginToken);
        QCOMPARE(source.beginToken.value(), std::int64_t{5}); // the one that is put in front
        QVERIFY(m_warnings.empty());
    }

    void theConfigurationSaysOtherwise()
    {
        write("tokenizer.json", kTokenizerJson);
        write("tokenizer_config.json", R"({"add_bos_token": false})");
        const TokenizerSource source = read(R"({"bos_token_id": 1})");
        QVERIFY(!source.addsBeginToken);
        QCOMPARE(source.beginToken.value(), std::int64_t{1});
    }

    void classesAskForBeginByThemselves_data()
    {
        QTest::addColumn<QString>("config");
        QTest::addColumn<bool>("asks");
        QTest::newRow("Llama") << R"({"tokenizer_class": "LlamaTokenizer"})" << true;
        QTest::newRow("Gemma") << R"({"tokenizer_class": "GemmaTokenizer"})" << true;
        QTest::newRow("Llama that says no")
            << R"({"tokenizer_class": "LlamaTokenizer", "add_bos_token": false})" << false;
        QTest::newRow("another") << R"({"tokenizer_class": "T5Tokenizer"})" << false;
        QTest::newRow("none named") << "{}" << false;
    }
    void classesAskForBeginByThemselves()
    {
        QFETCH(QString, config);
        write("tokenizer.model", kSentencePiece);
        write("tokenizer_config.json", qPrintable(config));
        QTEST(read().addsBeginToken, "asks");
    }

    void specialTokensAreFoundByTheirText()
    {
        write("tokenizer_config.json",
              R"({"bos_token": {"content": "<s>"}, "eos_token": "</s>", "add_bos_token": true,
                  "added_tokens_decoder": {"12": {"content": "</s>", "special": true},
                      "3": {"content": "<s>", "special": true, "lstrip": true, "rstrip": true},
                      "99": {"content": "word", "single_word": true}}})");
        const TokenizerSource source = read();
        QCOMPARE(source.beginToken.value(), std::int64_t{3});
        QCOMPARE(source.endTokens, std::vector<std::int64_t>{12});
        QCOMPARE(source.addedTokens.size(), std::size_t{3});
        const AddedToken& first = source.addedTokens.front(); // by id
        QCOMPARE(first.id, std::int64_t{3});
        QVERIFY(first.isSpecial && first.stripsLeft && first.stripsRight && !first.isNormalized);
        QVERIFY(source.addedTokens.back().isSingleWord && source.addedTokens.back().isNormalized);
        // The model's own configuration comes first.
        QCOMPARE(read(R"({"eos_token_id": 7})").endTokens, std::vector<std::int64_t>{7});
    }

    void idsBeyondTheEmbeddingAreNotUsed()
    {
        write("tokenizer_config.json",
              R"({"bos_token": "<s>", "add_bos_token": true,
                  "added_tokens_decoder": {"100": {"content": "<s>"}}})");
        const TokenizerSource source = read();
        QVERIFY(!source.beginToken);
        QCOMPARE(m_warnings.size(), std::size_t{1});
        QVERIFY(m_warnings.front().find("100") != std::string::npos);
    }

    void configurationsThatMakeNoSenseAreRefused_data()
    {
        QTest::addColumn<QString>("config");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* config, const char* message) {
            QTest::newRow(name) << config << message;
        };
        row("BOS is a number", R"({"bos_token": 1})", "bos_token is neither text nor");
        row("tokens are a list", R"({"added_tokens_decoder": []})", "a section was expected");
        row("id is a word", R"({"added_tokens_decoder": {"x": {"content": "a"}}})",
            "added_tokens_decoder.x is no token id");
        row("id is negative", R"({"added_tokens_decoder": {"-1": {"content": "a"}}})",
            "added_tokens_decoder.-1 is no token id");
        row("token is null", R"({"added_tokens_decoder": {"1": null}})", "1 is null");
        row("token without text", R"({"added_tokens_decoder": {"1": {}}})", "content is missing");
        row("flag is text", R"({"added_tokens_decoder": {"1": {"content": "a", "special": "no"}}})",
            "special is \"no\"");
    }
    void configurationsThatMakeNoSenseAreRefused()
    {
        QFETCH(QString, config);
        QFETCH(QString, message);
        write("tokenizer_config.json", qPrintable(config));
        KVSCOPE_CONTAINS(errorOf([&] { read(); }), message);
    }

    void aDamagedTokenizerJsonLeavesTheFolderOpen()
    {
        write("tokenizer.json", R"({"post_processor")");
        const TokenizerSource source = read();
        QCOMPARE(source.tokenizerJsonFile, path("tokenizer.json"));
        QVERIFY(!source.addsBeginToken);
    }

    void outlinesEndWhereTheModelBegins()
    {
        write("tokenizer.json", R"({"post_processor": null, "model": {"vocab": {"a": -1}}})");
        const TokenizerJson outline =
            readTokenizerJson(path("tokenizer.json"), TokenizerJsonExtent::Outline);
        QVERIFY(outline.vocabulary.empty() && !beginTokenOf(outline));
        KVSCOPE_CONTAINS(
            errorOf([&] { readTokenizerJson(path("tokenizer.json"), TokenizerJsonExtent::Whole); }),
            "model.vocab.a is -1");
        write("tokenizer.json", R"({"model": {"vocab": {"a": 0}, "merges": ["a a"]},)"
                                R"("post_processor": {"type": "TemplateProcessing"}})");
        QVERIFY(readTokenizerJson(path("tokenizer.json"), TokenizerJsonExtent::Outline)
                    .outline.contains("post_processor"));
    }

    void processorsThatPutNothingInFront_data()
    {
        QTest::addColumn<QString>("processor");
        QTest::newRow("text first")
            << R"({"type":"TemplateProcessing","single":[{"Sequence":{"id":"A"}}]})";
        QTest::newRow("nothing at all") << R"({"type":"TemplateProcessing","single":[]})";
        QTest::newRow("a token without ids")
            << R"({"type":"TemplateProcessing","single":[{"SpecialToken":{"id":"<s>"}}],)"
               R"("special_tokens":{"<s>":{"ids":[]}}})";
        QTest::newRow("wrong types")
            << R"({"type":"TemplateProcessing","single":[{"SpecialToken":[]}],"special_tokens":1})";
        QTest::newRow("another kind") << R"({"type":"ByteLevel"})";
        QTest::newRow("a list") << "[]";
    }
    void processorsThatPutNothingInFront()
    {
        QFETCH(QString, processor);
        write("tokenizer.json", qPrintable("{\"post_processor\":" + processor + "}"));
        QVERIFY(!read().addsBeginToken);
    }

    // Wherever it stands.
    void aTemplateBeyondAMebibyteIsRefused()
    {
        const std::string longText(std::size_t{1} << 20, 't');
        write("tokenizer_config.json", ("{\"chat_template\": \"" + longText + "\"}").c_str());
        QCOMPARE(read().chatTemplate.size(), longText.size());
        write("tokenizer_config.json", ("{\"chat_template\": \"t" + longText + "\"}").c_str());
        KVSCOPE_CONTAINS(errorOf([this] { read(); }),
                         "tokenizer_config.json: chat_template has 1048577 bytes");
        std::filesystem::remove(path("tokenizer_config.json"));
        write("chat_template.jinja", (longText + "t").c_str());
        KVSCOPE_CONTAINS(errorOf([this] { read(); }),
                         "chat_template.jinja: the template has 1048577 bytes");
        std::vector<std::string> warnings;
        writeFile(path("a.gguf"),
                  GgufBytes().entry("tokenizer.chat_template", (longText + "t").c_str()).bytes());
        KVSCOPE_CONTAINS(
            errorOf([&] { readGgufTokenizer(GgufFile(path("a.gguf")), std::nullopt, warnings); }),
            "a.gguf: tokenizer.chat_template has 1048577 bytes");
    }

    void endTokensAreAFew()
    {
        std::string list = "0";
        for (int id = 1; id <= 1024; ++id)
            list += "," + std::to_string(id);
        KVSCOPE_CONTAINS(errorOf([&] { read(("{\"eos_token_id\": [" + list + "]}").c_str()); }),
                         "config.json: eos_token_id has 1025 entries; at most 1024");
    }

    void theSourceKnowsItsFile()
    {
        write("tokenizer.json", kTokenizerJson);
        QCOMPARE(read().file, std::string("tokenizer.json"));
    }

    void ownFilesAreReadWithTheConfigurationBesideThem()
    {
        write("tokenizer.json", kTokenizerJson);
        write("tokenizer_config.json",
              R"({"eos_token": "</s>", "added_tokens_decoder": {"9": {"content": "</s>"}}})");
        const TokenizerSource source = readTokenizerSource(path("tokenizer.json"));
        QCOMPARE(source.tokenizerJsonFile, path("tokenizer.json"));
        QCOMPARE(source.beginToken.value(), std::int64_t{5});
        QCOMPARE(source.endTokens, std::vector<std::int64_t>{9});
        QVERIFY(!source.modelVocabularySize);
    }
};

QTEST_GUILESS_MAIN(TestFolderTokenizer)
#include "tst_folder_tokenizer.moc"
