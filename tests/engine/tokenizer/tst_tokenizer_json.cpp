#include "engine/base/errors.h"
#include "engine/base/utf8.h"
#include "engine/tokenizer/piece_stream.h"
#include "engine/tokenizer/tokenizer.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QTemporaryDir>
#include <QtTest>

#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>

using namespace kvscope;

// Small tokenizers and what Hugging Face's own library makes of texts with them; see
// golden/tokenizers/make_tokenizer_json.py.

namespace {

namespace fs = std::filesystem;
using Json = nlohmann::json;

const fs::path kFolder = fs::path(KVSCOPE_TEST_DATA) / "tokenizers" / "json";

Json readJson(const fs::path& path)
{
    std::ifstream file(path);
    return Json::parse(file);
}

std::vector<Json> readRows(const fs::path& path)
{
    std::ifstream file(path);
    std::vector<Json> rows;
    for (std::string line; std::getline(file, line);)
        rows.push_back(Json::parse(line));
    return rows;
}

std::string idsText(const std::vector<TokenId>& ids)
{
    return Json(ids).dump();
}

/// As the library prints what forms no character: U+FFFD for each byte.
std::string shown(const std::string& bytes)
{
    PieceStream stream;
    const std::string text = stream.add(bytes);
    return text + stream.flush();
}

/// A byte-level tokenizer.json of the letters a to e and a few merges, to be broken.
Json smallTokenizer()
{
    Json vocabulary = Json::object();
    for (const char* token : {"a", "b", "c", "d", "e", "ab", "abc"})
        vocabulary[token] = vocabulary.size();
    return {
        {"version", "1.0"},
        {"added_tokens",
         Json::array({{{"id", 7}, {"content", "<s>"}, {"special", true}, {"normalized", false}}})},
        {"normalizer", nullptr},
        {"pre_tokenizer",
         {{"type", "ByteLevel"}, {"add_prefix_space", false}, {"use_regex", true}}},
        {"post_processor", nullptr},
        {"decoder", {{"type", "ByteLevel"}}},
        {"model",
         {{"type", "BPE"},
          {"unk_token", nullptr},
          {"vocab", vocabulary},
          {"merges", Json::array({"a b", Json::array({"ab", "c"})})}}},
    };
}

} // namespace

class TestTokenizerJson : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    fs::path write(const std::string& text)
    {
        const fs::path file = fs::path(m_folder.path().toStdString()) / "tokenizer.json";
        std::ofstream(file) << text;
        return file;
    }
    std::unique_ptr<const Tokenizer> open(const Json& json)
    {
        return openTokenizer(write(json.dump()));
    }
    QString refusal(const std::string& text)
    {
        try {
            openTokenizer(write(text));
        } catch (const TokenizerError& error) {
            return QString::fromUtf8(error.what());
        }
        return "nothing thrown";
    }

private Q_SLOTS:
    void everyIdIsTheLibrarys_data()
    {
        QTest::addColumn<QString>("name");
        for (const auto& entry : fs::directory_iterator(kFolder))
            if (entry.path().extension() == ".jsonl")
                QTest::addRow("%s", entry.path().stem().c_str())
                    << QString::fromStdString(entry.path().stem());
    }
    void everyIdIsTheLibrarys()
    {
        QFETCH(QString, name);
        static const auto kTexts = readJson(kFolder / "texts.json").get<std::vector<std::string>>();
        const auto tokenizer = openTokenizer(kFolder / (name.toStdString() + ".json"));
        const auto rows = readRows(kFolder / (name.toStdString() + ".jsonl"));
        QCOMPARE(rows.size(), kTexts.size());
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const std::string& text = kTexts[i];
            const auto ids = rows[i].at("ids").get<std::vector<TokenId>>();
            const auto literal = rows[i].value("ids_literal", ids);
            const QByteArray which = QByteArray::fromStdString(Json(text).dump());
            const auto parsed = tokenizer->encode(text, ControlTokens::Parsed);
            QVERIFY2(parsed == ids,
                     which + ": " + idsText(parsed).c_str() + " for " + idsText(ids).c_str());
            const auto plain = tokenizer->encode(text, ControlTokens::Literal);
            QVERIFY2(plain == literal, which + " literally: " + idsText(plain).c_str() + " for " +
                                           idsText(literal).c_str());
            const std::string decoded = shown(tokenizer->decode(ids));
            QVERIFY2(decoded == rows[i].value("decoded", text),
                     which + " comes back as " + Json(decoded).dump().c_str());
        }
    }

    void piecesAreTheTextOfByteLevelTokens()
    {
        const auto tokenizer = openTokenizer(kFolder / "llama3.json");
        const std::string text = "Gr\xC3\xB6\xC3\x9F"
                                 "e \xE4\xB8\x96 <|end|>\r\n";
        std::string together;
        for (const TokenId id : tokenizer->encode(text, ControlTokens::Parsed))
            together += tokenizer->piece(id);
        QCOMPARE(together, text);
        QCOMPARE(tokenizer->description(),
                 std::string("byte-level BPE (tokenizer.json), 522 tokens"));
        QCOMPARE(tokenizer->vocabularySize(), std::int64_t{522});
    }

    void piecesKeepTheSpaceThatDecodingDrops()
    {
        const auto tokenizer = openTokenizer(kFolder / "llama2.json");
        const auto ids = tokenizer->encode("the the", ControlTokens::Parsed);
        QCOMPARE(tokenizer->piece(ids.front()).front(), ' ');
        QCOMPARE(tokenizer->decode(ids), std::string("the the"));
        QCOMPARE(tokenizer->piece(3 + 0xE2), std::string("\xE2"));
        QVERIFY(tokenizer->description().starts_with("BPE with byte fallback"));
    }

    void specialTokensAreControlTokens()
    {
        const auto tokenizer = openTokenizer(kFolder / "added.json");
        const auto mask = tokenizer->controlToken("[MASK]");
        const auto user = tokenizer->controlToken("user");
        QVERIFY(mask && user);
        QVERIFY(tokenizer->isControl(*mask));
        QVERIFY(!tokenizer->isControl(*user));
        QVERIFY(!tokenizer->controlToken("users"));
        QCOMPARE(tokenizer->piece(*mask), std::string("[MASK]"));
    }

    void paddingHasPlaceholders()
    {
        const auto tokenizer = openTokenizer(write(smallTokenizer().dump()), 10);
        QCOMPARE(tokenizer->vocabularySize(), std::int64_t{10});
        QCOMPARE(tokenizer->piece(9), std::string("<no token 9>"));
        QCOMPARE(tokenizer->decode({0, 8, 9, 1}), std::string("a<no token 8><no token 9>b"));
        QVERIFY(!tokenizer->isControl(9));
        QVERIFY(tokenizer->isControl(7));
    }

    void gapsHavePlaceholders()
    {
        Json json = smallTokenizer();
        json["added_tokens"][0]["id"] = 9;
        const auto tokenizer = open(json);
        QCOMPARE(tokenizer->vocabularySize(), std::int64_t{10});
        QCOMPARE(tokenizer->piece(8), std::string("<no token 8>"));
        QCOMPARE(tokenizer->piece(9), std::string("<s>"));
        QVERIFY_EXCEPTION_THROWN(tokenizer->piece(10), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(tokenizer->decode({-1}), ArgumentError);
    }

    void aLargerVocabularyThanTheModelsIsRefused()
    {
        try {
            openTokenizer(write(smallTokenizer().dump()), 7);
            QFAIL("a vocabulary larger than the embedding was taken");
        } catch (const TokenizerError& error) {
            const QString message = error.what();
            QVERIFY2(message.contains("8 ids") && message.contains("7 rows"), error.what());
        }
    }

    void decodersMeetBytesThatAreNoText()
    {
        Json json = smallTokenizer();
        json["model"]["vocab"]["<0xFF>"] = 8;
        json["decoder"] = Json::parse(R"({"type":"Sequence","decoders":[{"type":"ByteFallback"},
            {"type":"Replace","pattern":{"Regex":"[^a]"},"content":"_"}]})");
        QCOMPARE(open(json)->decode({8, 0, 1}), std::string("_a_"));
    }

    void oldFilesDoNotNameTheModelsType()
    {
        Json json = smallTokenizer();
        json["model"].erase("type");
        QCOMPARE(open(json)->encode("abcd", ControlTokens::Parsed), (std::vector<TokenId>{6, 3}));
    }

    void charactersWithoutATokenAreRefused()
    {
        const auto tokenizer = open(smallTokenizer());
        try {
            tokenizer->encode("ab<s>x", ControlTokens::Parsed);
            QFAIL("a byte without a token was encoded");
        } catch (const TokenizerError& error) {
            QVERIFY2(QString(error.what()).contains("0x78, which is byte 5 of"), error.what());
        }
    }

    void filesThatMakeNoSenseAreRefused_data()
    {
        QTest::addColumn<QString>("pointer"); // where, and what is put there; "-" removes
        QTest::addColumn<QString>("value");
        QTest::addColumn<QString>("message");
        const auto row = [](const char* name, const char* pointer, const char* value,
                            const char* message) {
            QTest::newRow(name) << pointer << value << message;
        };
        row("no model", "/model", "-", "model is missing");
        row("model is text", "/model", "\"BPE\"", "model is \"BPE\", a section was expected");
        row("Unigram", "/model/type", "\"Unigram\"", "model.type is Unigram");
        row("WordPiece", "/model/type", "\"WordPiece\"", "model.type is WordPiece");
        row("no vocabulary", "/model/vocab", "{}", "model.vocab has no tokens");
        row("vocabulary is a list", "/model/vocab", "[1]", "model.vocab is not an object");
        row("vocabulary of lists", "/model/vocab/a", "[0]", "model.vocab.a is not a token id");
        row("vocabulary of objects", "/model/vocab/a", "{}", "model.vocab.a is not a token id");
        row("id is text", "/model/vocab/a", "\"0\"", "model.vocab.a is not a token id");
        row("id is negative", "/model/vocab/a", "-1", "model.vocab.a is -1");
        row("id is real", "/model/vocab/a", "0.5", "model.vocab.a is not a token id");
        row("id is enormous", "/model/vocab/a", "4294967296", "which is no token id");
        row("id leaves a gap", "/model/vocab/a", "2000000000", "in a vocabulary of 7");
        row("id twice", "/model/vocab/a", "1", "has the id 1 twice");
        row("merges are text", "/model/merges", "\"a b\"", "model.merges is not a list");
        row("merge of one", "/model/merges/0", "\"ab\"", "model.merges: entry 0");
        row("merge of three", "/model/merges/0", "\"a b c\"", "model.merges: entry 0");
        row("merge of nothing", "/model/merges/0", "\" b\"", "model.merges: entry 0");
        row("merge list of one", "/model/merges/1", "[\"ab\"]", "model.merges: entry 1");
        row("merge list of numbers", "/model/merges/1", "[1, 2]", "model.merges: entry 1");
        row("merge list of lists", "/model/merges/1", "[[\"a\"], \"b\"]", "model.merges: entry 1");
        row("merge is an object", "/model/merges/1", "{}", "model.merges: entry 1");
        row("merge of no tokens", "/model/merges/0", "\"a x\"",
            "Merge 0 of the vocabulary ('a x')");
        row("merge makes no token", "/model/merges/0", "\"d e\"", "Merge 0 of the vocabulary");
        row("prefix of subwords", "/model/continuing_subword_prefix", "\"##\"",
            "continuing_subword_prefix is ##");
        row("end of words", "/model/end_of_word_suffix", "\"</w>\"", "end_of_word_suffix is </w>");
        row("flag is text", "/model/byte_fallback", "\"yes\"", "true or false was expected");
        row("unknown normalizer", "/normalizer", "{\"type\":\"Nmt\"}",
            "normalizers.type is Nmt, which is not known here");
        row("normalizer without type", "/normalizer", "{}", "normalizers.type is missing");
        row("normalizer is a list", "/normalizer", "[]", "normalizers has a step");
        row("unknown pre-tokenizer", "/pre_tokenizer", "{\"type\":\"UnicodeScripts\"}",
            "pretokenizers.type is UnicodeScripts");
        row("sequence of nothing", "/pre_tokenizer", "{\"type\":\"Sequence\"}",
            "pretokenizers.pretokenizers is not a list");
        row("sequence of numbers", "/pre_tokenizer",
            "{\"type\":\"Sequence\",\"pretokenizers\":[1]}", "has a step that is not an object");
        row("split without pattern", "/pre_tokenizer", "{\"type\":\"Split\"}",
            "pattern is missing");
        row("split by no expression", "/pre_tokenizer",
            "{\"type\":\"Split\",\"pattern\":{\"Regex\":\"(\"},\"behavior\":\"Isolated\"}",
            "pattern '(' is not a regular expression");
        row("unknown behaviour", "/pre_tokenizer",
            "{\"type\":\"Split\",\"pattern\":{\"String\":\"a\"},\"behavior\":\"Eaten\"}",
            "behavior is Eaten");
        row("metaspace of two", "/pre_tokenizer", "{\"type\":\"Metaspace\",\"replacement\":\"ab\"}",
            "one character was expected");
        row("unknown scheme", "/pre_tokenizer",
            "{\"type\":\"Metaspace\",\"replacement\":\"_\",\"prepend_scheme\":\"last\"}",
            "prepend_scheme is last");
        row("unknown decoder", "/decoder", "{\"type\":\"CTC\"}", "decoders.type is CTC");
        row("strip of less than nothing", "/decoder",
            "{\"type\":\"Strip\",\"content\":\" \",\"start\":-1,\"stop\":0}", "start is negative");
        row("added tokens are an object", "/added_tokens", "{}", "added_tokens is not a list");
        row("added token is text", "/added_tokens/0", "\"<s>\"", "is not an object");
        row("added token without id", "/added_tokens/0/id", "-", "id is missing");
        row("added token of negative id", "/added_tokens/0/id", "-7",
            "'<s>' has the id -7 in a vocabulary of 7");
        row("added token far away", "/added_tokens/0/id", "900000000",
            "'<s>' has the id 900000000 in a vocabulary of 7");
        row("added token without text", "/added_tokens/0/content", "-", "content is missing");
        row("added token of two ids", "/added_tokens/1", "{\"id\":8,\"content\":\"<s>\"}",
            "'<s>' has the id 8, and 7 as well");
        row("two added tokens of one id", "/added_tokens/1", "{\"id\":7,\"content\":\"<t>\"}",
            "has the id 7, which '<s>' has already");
        row("added token is another in the vocabulary", "/added_tokens/0/content", "\"ab\"",
            "'ab' has the id 7, in the vocabulary it has 5");
    }
    void filesThatMakeNoSenseAreRefused()
    {
        QFETCH(QString, pointer);
        QFETCH(QString, value);
        QFETCH(QString, message);
        Json json = smallTokenizer();
        const Json::json_pointer where(pointer.toStdString());
        if (value == "-")
            json[where.parent_pointer()].erase(where.back());
        else
            json[where] = Json::parse(value.toStdString());
        const QString refused = refusal(json.dump());
        QVERIFY2(refused.contains(message), qPrintable(refused));
        QVERIFY2(refused.startsWith("tokenizer.json: "), qPrintable(refused));
    }

    void filesThatAreNoJsonAreRefused_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("message");
        const QString whole = QString::fromStdString(smallTokenizer().dump());
        QTest::newRow("cut short") << whole.left(whole.size() / 2) << "is not valid JSON at byte";
        QTest::newRow("only a brace") << "{"
                                      << "is not valid JSON";
        QTest::newRow("a key twice") << R"({"model":{"type":"BPE","type":"BPE"}})"
                                     << "has the key type twice";
        QTest::newRow("the vocabulary twice") << R"({"model":{"vocab":{"a":0},"vocab":{"a":0}}})"
                                              << "has the key vocab twice";
        QTest::newRow("a token twice") << R"({"model":{"vocab":{"a":0,"a":1},"merges":[]}})"
                                       << "has the token a twice";
        QTest::newRow("deep") << R"({"x":)" + QString("[").repeated(100'000)
                              << "is nested more than 32 levels deep";
        QTest::newRow("wide") << R"({"x":[)" + QString("0,").repeated(1'100'000)
                              << "has more than a million values";
        QTest::newRow("not UTF-8") << QString("{\"x\":\"") + QChar(0xD800) + "\"}"
                                   << "model is missing";
    }
    void filesThatAreNoJsonAreRefused()
    {
        QFETCH(QString, text);
        QFETCH(QString, message);
        const QString refused = refusal(text.toStdString());
        QVERIFY2(refused.contains(message), qPrintable(refused));
    }

    // Two to the fortieth, were it let go on.
    void normalizersThatMultiplyTheTextAreStopped()
    {
        Json json = smallTokenizer();
        Json steps = Json::array();
        for (int i = 0; i < 40; ++i)
            steps.push_back(
                {{"type", "Replace"}, {"pattern", {{"String", "a"}}}, {"content", "aa"}});
        json["normalizer"] = {{"type", "Sequence"}, {"normalizers", steps}};
        const auto tokenizer = open(json);
        QVERIFY_EXCEPTION_THROWN(tokenizer->encode("a", ControlTokens::Parsed), TokenizerError);
    }

    void patternsWithoutEndAreStopped()
    {
        Json json = smallTokenizer();
        json["pre_tokenizer"] = {
            {"type", "Split"}, {"pattern", {{"Regex", "(a|aa)+$"}}}, {"behavior", "Isolated"}};
        const auto tokenizer = open(json);
        QVERIFY_EXCEPTION_THROWN(
            tokenizer->encode(std::string(200, 'a') + "b", ControlTokens::Parsed), TokenizerError);
    }

    void hostileTextTakesNearLinearTime_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("unit");
        for (const char* name : {"llama3", "o200k", "qwen2", "llama2", "gemma", "deepseek",
                                 "metaspace_first", "added"})
            for (const char* unit : {" ", "a", "A", " \n", "[MASK"})
                QTest::addRow("%s, %s", name, Json(unit).dump().c_str()) << name << unit;
    }
    void hostileTextTakesNearLinearTime()
    {
        QFETCH(QString, name);
        QFETCH(QString, unit);
        const auto tokenizer = openTokenizer(kFolder / (name.toStdString() + ".json"));
        const Scaling scaling = timeScaling(unit.toStdString(), 15'000, [&](const auto& text) {
            tokenizer->encode(text, ControlTokens::Parsed);
        });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }
};

QTEST_GUILESS_MAIN(TestTokenizerJson)
#include "tst_tokenizer_json.moc"
