#include "engine/base/errors.h"
#include "engine/tokenizer/scored_tokenizer.h"
#include "engine/tokenizer/sentencepiece_tokenizer.h"
#include "tests/engine/tokenizer/scaling.h"

#include <sentencepiece_processor.h>

#include <QtTest>

#include <cmath>
#include <fstream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <random>

using namespace kvscope;

namespace {

const std::string kFolder = KVSCOPE_TEST_DATA "/tokenizers/";

/// What a GGUF file converted from a sentencepiece model holds: its pieces, scores and types.
ScoredVocabulary vocabularyOf(const std::string& modelFile)
{
    std::ifstream file(kFolder + modelFile, std::ios::binary);
    const std::string bytes{std::istreambuf_iterator<char>(file), {}};
    sentencepiece::SentencePieceProcessor library;
    if (!library.LoadFromSerializedProto(bytes).ok())
        return {};
    const auto types = readPieceTypes(bytes);
    ScoredVocabulary vocabulary;
    for (int id = 0; id < library.GetPieceSize(); ++id) {
        vocabulary.tokens.push_back(library.IdToPiece(id));
        vocabulary.scores.push_back(library.GetScore(id));
        vocabulary.types.push_back(
            static_cast<std::int32_t>((*types)[static_cast<std::size_t>(id)]));
    }
    vocabulary.unknownToken = library.unk_id();
    return vocabulary;
}

const ScoredTokenizer& mistral(const std::string& modelFile)
{
    static std::map<std::string, ScoredTokenizer> tokenizers;
    const auto found = tokenizers.find(modelFile);
    return found != tokenizers.end()
               ? found->second
               : tokenizers.emplace(modelFile, vocabularyOf(modelFile)).first->second;
}

/// Letters a to c, the space's symbol and a few merges; unknown text has a token.
ScoredVocabulary smallVocabulary()
{
    ScoredVocabulary vocabulary;
    vocabulary.tokens = {"<unk>",
                         "<s>",
                         "\xE2\x96\x81",
                         "a",
                         "b",
                         "c",
                         "ab",
                         "bc",
                         "[x]",
                         "\xE2\x96\x81"
                         "a"};
    vocabulary.scores = {0, 0, -9, -9, -9, -9, -2, -1, 0, -1};
    vocabulary.types = {2, 3, 1, 1, 1, 1, 1, 1, 4, 1};
    vocabulary.unknownToken = 0;
    return vocabulary;
}

QString ids(const ScoredVocabulary& vocabulary, const std::string& text,
            ControlTokens control = ControlTokens::Parsed)
{
    QStringList words;
    for (const TokenId id : ScoredTokenizer(vocabulary).encode(text, control))
        words << QString::number(id);
    return words.join(' ');
}

} // namespace

class TestScoredTokenizer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void goldenRows_data()
    {
        QTest::addColumn<QString>("name");
        QTest::newRow("Mistral v1") << "mistral_v1";
        QTest::newRow("Mistral v3") << "mistral_v3";
    }
    void goldenRows()
    {
        QFETCH(QString, name);
        const ScoredTokenizer& tokenizer = mistral(name.toStdString() + ".model");
        std::ifstream file(kFolder + name.toStdString() + ".jsonl");
        int rows = 0;
        for (std::string line; std::getline(file, line); ++rows) {
            const auto row = nlohmann::json::parse(line);
            const auto wanted = row.at("ids").get<std::vector<TokenId>>();
            QCOMPARE(tokenizer.encode(row.at("text").get<std::string>(), ControlTokens::Literal),
                     wanted);
            QCOMPARE(tokenizer.decode(wanted), row.at("decoded").get<std::string>());
        }
        QVERIFY(rows > 70);
    }

    // Property: of random text the ids are the library's, with control tokens and without.
    void agreesWithTheLibrary_data() { goldenRows_data(); }
    void agreesWithTheLibrary()
    {
        QFETCH(QString, name);
        const std::string model = name.toStdString() + ".model";
        const ScoredTokenizer& tokenizer = mistral(model);
        const SentencePieceTokenizer library(kFolder + model);
        const QStringList parts = {" ",   "  ",     "a",     "the",    "ing",
                                   "\n",  "<s>",    "</s>",  u8"é",    u8"中",
                                   u8"😀", "1",      "23",    "[INST]", "[REFERENCE_DOC_3]",
                                   u8"▁", "<0x41>", "<unk>", "Hello",  u8"\u0301",
                                   "\t",  "...",    u8"नम"};
        std::mt19937 random(29);
        for (int round = 0; round < 500; ++round) {
            QString text;
            for (int i = static_cast<int>(random() % 12); i >= 0; --i)
                text +=
                    parts[static_cast<qsizetype>(random() % static_cast<unsigned>(parts.size()))];
            for (const auto control : {ControlTokens::Literal, ControlTokens::Parsed}) {
                const auto wanted = library.encode(text.toStdString(), control);
                const auto got = tokenizer.encode(text.toStdString(), control);
                QVERIFY2(got == wanted, qPrintable(text));
                QCOMPARE(tokenizer.decode(got), library.decode(wanted));
            }
        }
    }

    void mergesByScore_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QString>("expected");
        QTest::newRow("empty") << ""
                               << "";
        QTest::newRow("a space goes in front") << "b"
                                               << "2 4";
        QTest::newRow("best score first, not leftmost") << "cabc"
                                                        << "2 5 3 7";
        QTest::newRow("leftmost of equal scores") << "abc"
                                                  << "9 7";
        QTest::newRow("a run of unknown characters is one token") << "xyb"
                                                                  << "2 0 4";
        QTest::newRow("control tokens begin a sentence anew") << "b<s>b"
                                                              << "2 4 1 2 4";
        QTest::newRow("user-defined tokens do not") << "b[x]b"
                                                    << "2 4 8 4";
        QTest::newRow("nor do merges cross them") << "a[x]b"
                                                  << "9 8 4";
    }
    void mergesByScore()
    {
        QFETCH(QString, text);
        QTEST(ids(smallVocabulary(), text.toStdString()), "expected");
    }

    void withoutASpaceInFront()
    {
        ScoredVocabulary vocabulary = smallVocabulary();
        vocabulary.addsSpacePrefix = false;
        QCOMPARE(ids(vocabulary, "b a"), "4 9");
        const ScoredTokenizer tokenizer(vocabulary);
        QCOMPARE(tokenizer.decode({9, 4}), std::string(" ab"));
        QCOMPARE(ScoredTokenizer(smallVocabulary()).decode({9, 4, 1, 9}), std::string("ab<s>a"));
    }

    void unusedPiecesHelpMergingButAreTakenApart()
    {
        ScoredVocabulary vocabulary = smallVocabulary();
        vocabulary.tokens.push_back("abc");
        vocabulary.scores.push_back(-3);
        vocabulary.types.push_back(5);
        vocabulary.tokens[6] = "ab";
        vocabulary.scores[7] = -8; // bc, after ab
        vocabulary.scores[9] = -8;
        QCOMPARE(ids(vocabulary, "abc"), "2 6 5");
    }

    void userDefinedSpacesMayBeSpelledEitherWay()
    {
        for (const char* spelling : {"  ", "\xE2\x96\x81\xE2\x96\x81"}) {
            ScoredVocabulary vocabulary = smallVocabulary();
            vocabulary.addsSpacePrefix = false;
            vocabulary.tokens[8] = spelling;
            QCOMPARE(ids(vocabulary, "b  b"), "4 8 4");
            QCOMPARE(ScoredTokenizer(vocabulary).piece(8), std::string("  "));
        }
    }

    void controlTokensOnlyWhereParsed()
    {
        QCOMPARE(ids(smallVocabulary(), "<s>", ControlTokens::Literal), "2 0");
        const ScoredTokenizer tokenizer(smallVocabulary());
        QVERIFY(tokenizer.isControl(1));
        QVERIFY(!tokenizer.isControl(8));
        QCOMPARE(tokenizer.controlToken("[x]"), std::optional<TokenId>(8));
        QVERIFY(!tokenizer.controlToken("ab"));
        QCOMPARE(tokenizer.vocabularySize(), std::int64_t{10});
        QCOMPARE(tokenizer.description(), std::string("sentencepiece-style BPE (GGUF), 10 tokens"));
        QVERIFY_EXCEPTION_THROWN(tokenizer.piece(10), ArgumentError);
    }

    void aVocabularyWithoutBytesOrUnknownIsRefused()
    {
        ScoredVocabulary vocabulary = smallVocabulary();
        vocabulary.unknownToken.reset();
        QVERIFY_EXCEPTION_THROWN(ScoredTokenizer{vocabulary}, TokenizerError);
    }

    void hostileTextTakesNearLinearTime_data()
    {
        QTest::addColumn<QString>("unit");
        for (const char* unit : {" ", "a", "the", "\n", "a ", "\xF0\x9F\x98\x80"})
            QTest::newRow(unit) << unit;
    }
    void hostileTextTakesNearLinearTime()
    {
        QFETCH(QString, unit);
        const ScoredTokenizer& tokenizer = mistral("mistral_v1.model");
        const Scaling scaling = timeScaling(unit.toStdString(), 50'000, [&](const auto& text) {
            tokenizer.encode(text, ControlTokens::Parsed);
        });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }
};

QTEST_GUILESS_MAIN(TestScoredTokenizer)
#include "tst_scored_tokenizer.moc"
