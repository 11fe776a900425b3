#include "engine/base/errors.h"
#include "engine/tokenizer/chat_template.h"
#include "engine/tokenizer/split_patterns.h"
#include "engine/tokenizer/tiktoken_file.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QTemporaryDir>
#include <QtTest>

#include <algorithm>
#include <fstream>
#include <nlohmann/json.hpp>
#include <random>
#include <set>
#include <unordered_set>

using namespace kvscope;

// Ids from the tokenizers' own libraries; see golden/README.md and golden/tokenizers/index.json for
// sources and versions.

namespace {

const std::string kFolder = KVSCOPE_TEST_DATA "/tokenizers/";

std::vector<nlohmann::json> readRows(const std::string& name)
{
    std::ifstream file(kFolder + name);
    std::vector<nlohmann::json> rows;
    for (std::string line; std::getline(file, line);)
        rows.push_back(nlohmann::json::parse(line));
    return rows;
}

nlohmann::json readJson(const std::string& name)
{
    std::ifstream file(kFolder + name);
    return nlohmann::json::parse(file);
}

const Tokenizer& smolLm()
{
    static const auto kTokenizer = openTokenizer(kFolder + "smollm2_vocab.gguf");
    return *kTokenizer;
}

/// Rows are named after their text, so that a failure says which.
void addRows(const std::string& file)
{
    QTest::addColumn<QByteArray>("row");
    const auto rows = readRows(file);
    QVERIFY(rows.size() > 70);
    for (const auto& row : rows) {
        const std::string text = row.at("text").dump().substr(0, 60);
        QTest::addRow("%s", text.c_str()) << QByteArray::fromStdString(row.dump());
    }
}

QByteArray hexOf(const std::string& bytes)
{
    return QByteArray::fromStdString(bytes).toHex();
}

/// Both readings of the row's text, its pieces in hexadecimal, and its way back.
void compareByteLevelRow(const Tokenizer& tokenizer, const nlohmann::json& row)
{
    const auto text = row.at("text").get<std::string>();
    const auto ids = row.at("ids").get<std::vector<TokenId>>();
    QCOMPARE(tokenizer.encode(text, ControlTokens::Literal), ids);
    QCOMPARE(tokenizer.encode(text, ControlTokens::Parsed),
             row.at("ids_special").get<std::vector<TokenId>>());
    std::vector<std::string> pieces;
    for (const TokenId id : ids)
        pieces.push_back(hexOf(tokenizer.piece(id)).toStdString());
    QCOMPARE(pieces, row.at("pieces_hex").get<std::vector<std::string>>());
    if (row.value("lossless", true))
        QCOMPARE(tokenizer.decode(ids), text);
}

/// The bytes that a piece of a sentencepiece model stands for, from its printed name.
std::string bytesOfName(const std::string& name)
{
    const auto text = QByteArray::fromStdString(name);
    if (text.size() == 6 && text.startsWith("<0x") && text.endsWith('>'))
        return QByteArray::fromHex(text.sliced(3, 2)).toStdString();
    return QByteArray(text).replace("\xE2\x96\x81", " ").toStdString();
}

void compareSentencePieceRow(const Tokenizer& tokenizer, const nlohmann::json& row)
{
    const auto ids = row.at("ids").get<std::vector<TokenId>>();
    QCOMPARE(tokenizer.encode(row.at("text").get<std::string>(), ControlTokens::Literal), ids);
    const auto names = row.at("pieces").get<std::vector<std::string>>();
    QCOMPARE(names.size(), ids.size());
    for (std::size_t i = 0; i < ids.size(); ++i)
        QCOMPARE(hexOf(tokenizer.piece(ids[i])), hexOf(bytesOfName(names[i])));
    QCOMPARE(tokenizer.decode(ids), row.at("decoded").get<std::string>());
}

/// Every pair of tokens that makes a third, the third's rank deciding. A file holds fewer, but
/// those that it leaves out never come to pass.
std::vector<std::pair<std::string, std::string>> mergesOf(const std::vector<std::string>& tokens)
{
    std::unordered_set<std::string> known(tokens.begin(), tokens.end());
    std::vector<std::pair<std::string, std::string>> merges;
    for (const std::string& token : tokens) {
        for (std::size_t cut = 1; cut < token.size(); ++cut) {
            const std::string left = token.substr(0, cut);
            const std::string right = token.substr(cut);
            if (known.contains(left) && known.contains(right))
                merges.emplace_back(left, right);
        }
    }
    return merges;
}

/// Llama 3's tokenizer from its tiktoken file, or from what the other formats would hold of it.
std::unique_ptr<const Tokenizer> llama3As(const QString& form, const std::string& file)
{
    auto parts = bpePartsFromTiktoken(file, {});
    if (form == "tiktoken")
        return openTokenizer(file);
    const auto merges = mergesOf(parts.rules.tokens);
    if (form == "gguf") {
        TokenizerSource source;
        source.bpe.emplace();
        source.bpe->tokens = parts.rules.tokens;
        source.bpe->types.assign(parts.rules.tokens.size(), 1);
        source.bpe->preTokenizer = "llama-bpe";
        for (const auto& [left, right] : merges)
            source.bpe->merges.push_back(left + " " + right);
        for (const AddedToken& token : parts.addedTokens) {
            source.bpe->tokens.push_back(token.content);
            source.bpe->types.push_back(3);
        }
        return makeTokenizer(source);
    }
    nlohmann::json vocabulary = nlohmann::json::object();
    for (std::size_t id = 0; id < parts.rules.tokens.size(); ++id)
        vocabulary[parts.rules.tokens[id]] = id;
    nlohmann::json added = nlohmann::json::array();
    for (const AddedToken& token : parts.addedTokens)
        added.push_back({{"id", token.id}, {"content", token.content}, {"special", true}});
    const nlohmann::json split = {{"type", "Split"},
                                  {"pattern", {{"Regex", kLlama3Pattern}}},
                                  {"behavior", "Isolated"},
                                  {"invert", false}};
    const nlohmann::json bytes = {
        {"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", false}};
    const nlohmann::json json = {
        {"added_tokens", added},
        {"pre_tokenizer", {{"type", "Sequence"}, {"pretokenizers", {split, bytes}}}},
        {"decoder", {{"type", "ByteLevel"}}},
        {"model",
         {{"type", "BPE"}, {"ignore_merges", true}, {"vocab", vocabulary}, {"merges", merges}}},
    };
    const QTemporaryDir folder;
    const std::string path = folder.path().toStdString() + "/tokenizer.json";
    std::ofstream(path) << json.dump();
    return openTokenizer(path);
}

} // namespace

class TestGoldenTokenizers : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void smolLm2_data() { addRows("smollm2.jsonl"); }
    void smolLm2()
    {
        QFETCH(QByteArray, row);
        compareByteLevelRow(smolLm(), nlohmann::json::parse(row.toStdString()));
    }

    void smolLm2Vocabulary()
    {
        const auto facts = readJson("index.json").at("smollm2.jsonl");
        QCOMPARE(smolLm().vocabularySize(), facts.at("vocabulary").get<std::int64_t>());
        QCOMPARE(smolLm().description(), std::string("byte-level BPE (smollm), 49,152 tokens"));
        for (const auto& [text, id] : facts.at("control_tokens").items()) {
            QCOMPARE(smolLm().controlToken(text), std::optional(id.get<TokenId>()));
            QVERIFY(smolLm().isControl(id.get<TokenId>()));
            QCOMPARE(smolLm().piece(id.get<TokenId>()), text);
        }
    }

    void smolLm2RefusesBytesWithoutAToken()
    {
        const auto facts = readJson("index.json").at("smollm2.jsonl");
        std::set<int> missing;
        for (int byte = 0; byte < 0x80; ++byte) {
            try {
                smolLm().encode(std::string("ab") + static_cast<char>(byte),
                                ControlTokens::Literal);
            } catch (const TokenizerError& error) {
                missing.insert(byte);
                QVERIFY2(QString(error.what()).contains("byte 2 of the text"), error.what());
            }
        }
        // Of the bytes beyond ASCII only F1 and F2 occur in well-formed text.
        std::set<int> expected;
        for (const int byte : facts.at("bytes_without_a_token").get<std::vector<int>>()) {
            if (byte < 0x80)
                expected.insert(byte);
        }
        QCOMPARE(missing, expected);
        QVERIFY_EXCEPTION_THROWN(smolLm().encode("\xF1\x80\x80\x80", ControlTokens::Literal),
                                 TokenizerError);
    }

    void smolLm2Chat()
    {
        const auto golden = readJson("smollm2_chat.json");
        const ChatTemplate chat(golden.at("template").get<std::string>());
        for (const auto& row : golden.at("cases")) {
            QCOMPARE(smolLm().encode(row.at("text").get<std::string>(), ControlTokens::Parsed),
                     row.at("ids").get<std::vector<TokenId>>());
        }
        QVERIFY(smolLm().controlToken(chat.endOfTurn()));
    }

    // The template of the file itself, not only its copy in the golden data.
    void smolLm2FileHoldsItsTemplate()
    {
        const TokenizerSource source = readTokenizerSource(kFolder + "smollm2_vocab.gguf");
        QCOMPARE(source.chatTemplate,
                 readJson("smollm2_chat.json").at("template").get<std::string>());
        QVERIFY(ChatTemplate(source.chatTemplate).note().empty());
    }

    void randomTextComesBack()
    {
        std::mt19937 random(13);
        for (int round = 0; round < 200; ++round) {
            std::u32string text;
            for (int i = static_cast<int>(random() % 30); i >= 0; --i) {
                // Letters, scripts and emoji whose bytes all have tokens.
                const char32_t c = random() % 3 == 0   ? 0x20 + random() % 0x5F
                                   : random() % 2 == 0 ? 0x80 + random() % 0xD780
                                                       : 0x1F300 + random() % 0x300;
                text += c;
            }
            const std::string utf8 = QString::fromStdU32String(text).toStdString();
            for (const auto control : {ControlTokens::Parsed, ControlTokens::Literal})
                QCOMPARE(smolLm().decode(smolLm().encode(utf8, control)), utf8);
        }
    }

    void aMillionLettersTakeUnderTwoSeconds()
    {
        const std::string text(1'000'000, 'a');
        double best = 1e9;
        for (int i = 0; i < 3; ++i) {
            best = std::min(
                best, processorSeconds([&] { smolLm().encode(text, ControlTokens::Parsed); }));
        }
        QVERIFY2(best < 2.0, qPrintable(QString("%1 s").arg(best)));
    }

    void mistralV1_data() { addRows("mistral_v1.jsonl"); }
    void mistralV1()
    {
        QFETCH(QByteArray, row);
        static const auto kTokenizer = openTokenizer(kFolder + "mistral_v1.model");
        compareSentencePieceRow(*kTokenizer, nlohmann::json::parse(row.toStdString()));
    }

    void mistralV3_data() { addRows("mistral_v3.jsonl"); }
    void mistralV3()
    {
        QFETCH(QByteArray, row);
        static const auto kTokenizer = openTokenizer(kFolder + "mistral_v3.model");
        compareSentencePieceRow(*kTokenizer, nlohmann::json::parse(row.toStdString()));
    }

    // The vocabulary has its own licence and is not part of the data: KVSCOPE_LLAMA3_TOKENIZER
    // names it. The same vocabulary as a tokenizer.json and a GGUF file hold it gives the same ids.
    void llama3_data()
    {
        QTest::addColumn<QString>("form");
        QTest::newRow("tiktoken") << "tiktoken";
        QTest::newRow("tokenizer.json") << "json";
        QTest::newRow("GGUF") << "gguf";
    }
    void llama3()
    {
        QFETCH(QString, form);
        const QString file = qEnvironmentVariable("KVSCOPE_LLAMA3_TOKENIZER");
        if (!QFileInfo::exists(file))
            QSKIP("Llama 3's tokenizer.model is not here; KVSCOPE_LLAMA3_TOKENIZER can name it");
        const auto tokenizer = llama3As(form, file.toStdString());
        const auto rows = readRows("llama3.jsonl");
        QVERIFY(rows.size() > 70);
        for (const auto& row : rows)
            compareByteLevelRow(*tokenizer, row);
        for (const auto& row : readRows("llama3.bytes.jsonl")) {
            const auto bytes =
                QByteArray::fromHex(QByteArray::fromStdString(row.at("bytes_hex"))).toStdString();
            QCOMPARE(tokenizer->decode(row.at("ids").get<std::vector<TokenId>>()), bytes);
        }
        const auto facts = readJson("index.json").at("llama3.jsonl");
        QCOMPARE(tokenizer->vocabularySize(), facts.at("vocabulary").get<std::int64_t>());
        for (const auto& [text, id] : facts.at("special_tokens").items())
            QCOMPARE(tokenizer->controlToken(text), std::optional(id.get<TokenId>()));
    }

    void aCheckpointWithoutATokenizerHasNone() { QVERIFY(!makeTokenizer(TokenizerSource{})); }

    void whatCannotBeUsedIsSaid()
    {
        TokenizerSource source;
        source.unsupported = "The vocabulary is of a kind that is not read here.";
        try {
            makeTokenizer(source);
            QFAIL("an unsupported tokenizer was made");
        } catch (const TokenizerError& error) {
            QCOMPARE(std::string(error.what()), source.unsupported);
        }
        QVERIFY_EXCEPTION_THROWN(openTokenizer(kFolder + "absent.model"), CheckpointError);
        QVERIFY_EXCEPTION_THROWN(openTokenizer(kFolder + "index.json"), TokenizerError);
        QVERIFY_EXCEPTION_THROWN(openTokenizer(kFolder + "smollm2.jsonl"), TokenizerError);
        QVERIFY_EXCEPTION_THROWN(openTokenizer(kFolder + "make_tokenizer_json.py"), TokenizerError);
    }

    void aSourceNamesItsSentencePieceFile()
    {
        TokenizerSource source;
        source.sentencePieceFile = kFolder + "mistral_v1.model";
        QCOMPARE(makeTokenizer(source)->description(), std::string("sentencepiece, 32,000 tokens"));
    }
};

QTEST_GUILESS_MAIN(TestGoldenTokenizers)
#include "tst_golden_tokenizers.moc"
