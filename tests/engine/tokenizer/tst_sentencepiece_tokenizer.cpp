#include "engine/base/errors.h"
#include "engine/tokenizer/sentencepiece_tokenizer.h"
#include "tests/engine/tokenizer/scaling.h"

#include <QtTest>

#include <random>

using namespace kvscope;

namespace {

const char* const kModelV1 = KVSCOPE_TEST_DATA "/tokenizers/mistral_v1.model";
const char* const kModelV3 = KVSCOPE_TEST_DATA "/tokenizers/mistral_v3.model";

QByteArray readFile(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

} // namespace

class TestSentencePieceTokenizer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void piecesAreBytes()
    {
        const SentencePieceTokenizer tokenizer(kModelV1);
        QCOMPARE(tokenizer.piece(264), std::string(" a"));
        QCOMPARE(tokenizer.piece(13), std::string("\n"));   // <0x0A>
        QCOMPARE(tokenizer.piece(3), std::string("\0", 1)); // <0x00>
        QCOMPARE(tokenizer.piece(258), std::string("\xFF"));
        QCOMPARE(tokenizer.piece(1), std::string("<s>"));
        QCOMPARE(tokenizer.piece(0),
                 std::string(" \xE2\x81\x87 ")); // the library's mark for unknown
    }

    void controlTokensOnlyWhereParsed()
    {
        const SentencePieceTokenizer tokenizer(kModelV3);
        for (const TokenId id : tokenizer.encode("<s>[INST] hi[/INST]</s>", ControlTokens::Literal))
            QVERIFY(!tokenizer.isControl(id));
        const auto ids = tokenizer.encode("<s>[INST]hi[/INST]</s>", ControlTokens::Parsed);
        QCOMPARE(ids.size(), std::size_t{5});
        QCOMPARE(ids[0], TokenId{1});
        QCOMPARE(ids[1], tokenizer.controlToken("[INST]").value());
        QCOMPARE(tokenizer.piece(ids[2]), std::string(" hi")); // a sentence of its own
        QCOMPARE(ids[4], TokenId{2});
        QVERIFY(tokenizer.isControl(ids[1]));
        QVERIFY(!tokenizer.isControl(ids[2]));
    }

    void userDefinedPiecesAreFoundByName()
    {
        const SentencePieceTokenizer tokenizer(kModelV3);
        const auto id = tokenizer.controlToken("[REFERENCE_DOC_3]");
        QVERIFY(id);
        QVERIFY(!tokenizer.isControl(*id));
        QVERIFY(!tokenizer.controlToken("hello"));
        QVERIFY(!tokenizer.controlToken("<unk>"));
    }

    void decodingGivesTheTextBack_data()
    {
        QTest::addColumn<QString>("text");
        for (const char* text :
             {"", " ", "  a", "a b ", "\n", "<s> hi</s>", "</s></s>x", "[INST]  two [/INST]",
              "caf\xC3\xA9 \xF0\x9F\x98\x80\xF3\xA0\x81\xBF"})
            QTest::newRow(*text ? text : "empty") << QString::fromUtf8(text);
    }
    void decodingGivesTheTextBack()
    {
        QFETCH(QString, text);
        const SentencePieceTokenizer tokenizer(kModelV3);
        for (const auto control : {ControlTokens::Parsed, ControlTokens::Literal}) {
            const auto ids = tokenizer.encode(text.toStdString(), control);
            QCOMPARE(QString::fromStdString(tokenizer.decode(ids)), text);
        }
    }

    void randomTextComesBack()
    {
        const SentencePieceTokenizer tokenizer(kModelV1);
        std::mt19937 random(9);
        for (int round = 0; round < 200; ++round) {
            std::u32string text;
            for (int i = static_cast<int>(random() % 30); i >= 0; --i) {
                const char32_t c = random() % 3 == 0 ? random() % 0x110000 : random() % 0x80;
                text += c >= 0xD800 && c < 0xE000 ? U'x' : c == 0x2581 ? U'_' : c;
            }
            const std::string utf8 = QString::fromStdU32String(text).toStdString();
            QCOMPARE(tokenizer.decode(tokenizer.encode(utf8, ControlTokens::Literal)), utf8);
        }
    }

    void describesItself()
    {
        const SentencePieceTokenizer tokenizer(kModelV3);
        QCOMPARE(tokenizer.description(), std::string("sentencepiece, 32,768 tokens"));
        QCOMPARE(tokenizer.vocabularySize(), std::int64_t{32768});
    }

    void badTextAndIdsAreRefused()
    {
        const SentencePieceTokenizer tokenizer(kModelV1);
        try {
            tokenizer.encode("ab\xE2\x82", ControlTokens::Literal);
            QFAIL("text that is not UTF-8 was encoded");
        } catch (const TokenizerError& error) {
            QVERIFY2(QString(error.what()).contains("byte 2 is 0xE2"), error.what());
        }
        QVERIFY_EXCEPTION_THROWN(tokenizer.piece(32000), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(tokenizer.piece(-1), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(tokenizer.decode({1, 40000}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(tokenizer.isControl(32000), ArgumentError);
    }

    void foreignFilesAreRefused_data()
    {
        QTest::addColumn<QByteArray>("content");
        const QByteArray model = readFile(kModelV1);
        QTest::newRow("text") << QByteArray("This is not a model.\n");
        QTest::newRow("zeros") << QByteArray(1000, '\0');
        QTest::newRow("one byte") << QByteArray("\x0A");
        QTest::newRow("first half") << model.first(model.size() / 2);
        QTest::newRow("second half") << model.sliced(model.size() / 2);
        QTest::newRow("without its last byte") << model.first(model.size() - 1);
        QTest::newRow("a piece longer than the file") << QByteArray("\x0A\xFF\xFF\xFF\xFF\x0F");
        QTest::newRow("a type that there is not") << QByteArray("\x0A\x05\x0A\x01x\x18\x09", 7);
        QTest::newRow("no unknown piece") << QByteArray("\x0A\x05\x0A\x01x\x18\x01", 7);
    }
    void foreignFilesAreRefused()
    {
        QFETCH(QByteArray, content);
        try {
            SentencePieceTokenizer tokenizer(writeModel(content));
            QFAIL("a damaged model was opened");
        } catch (const TokenizerError& error) {
            QVERIFY2(QString(error.what()).startsWith("damaged.model"), error.what());
        }
    }

    // A flipped bit may go unnoticed (a piece's letter changes) but never crashes.
    void flippedBitsDoNoHarm()
    {
        const QByteArray model = readFile(kModelV1);
        std::mt19937 random(17);
        int refused = 0;
        for (int round = 0; round < 60; ++round) {
            QByteArray damaged = model;
            // Half of them in the first and last kilobyte, where the structure and settings are.
            const auto size = static_cast<unsigned>(model.size());
            const unsigned at = round % 4 == 0   ? random() % 1024
                                : round % 4 == 1 ? size - 1 - random() % 1024
                                                 : random() % size;
            damaged[static_cast<qsizetype>(at)] =
                static_cast<char>(damaged[static_cast<qsizetype>(at)] ^ (1 << random() % 8));
            try {
                const SentencePieceTokenizer tokenizer(writeModel(damaged));
                tokenizer.decode(
                    tokenizer.encode("Hello <s> caf\xC3\xA9 123", ControlTokens::Parsed));
            } catch (const TokenizerError&) {
                ++refused;
            }
        }
        QVERIFY(refused > 0);
    }

    void hostileTextTakesNearLinearTime_data()
    {
        QTest::addColumn<QByteArray>("unit");
        QTest::newRow("one letter") << QByteArray("a");
        QTest::newRow("spaces") << QByteArray(" ");
    }
    void hostileTextTakesNearLinearTime()
    {
        QFETCH(QByteArray, unit);
        const SentencePieceTokenizer tokenizer(kModelV1);
        const Scaling scaling = timeScaling(unit.toStdString(), 25'000, [&](const auto& text) {
            tokenizer.encode(text, ControlTokens::Parsed);
        });
        QVERIFY2(scaling.isNearLinear(), scaling.text().c_str());
    }

private:
    std::string writeModel(const QByteArray& content)
    {
        const QString path = m_folder.filePath("damaged.model");
        QFile file(path);
        if (!file.open(QIODevice::WriteOnly) || file.write(content) != content.size())
            throw std::runtime_error("cannot write " + path.toStdString());
        return path.toStdString();
    }
    QTemporaryDir m_folder;
};

QTEST_GUILESS_MAIN(TestSentencePieceTokenizer)
#include "tst_sentencepiece_tokenizer.moc"
