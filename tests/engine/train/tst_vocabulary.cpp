#include "engine/base/errors.h"
#include "engine/tokenizer/tokenizer.h"
#include "engine/train/vocabulary.h"

#include <QCryptographicHash>
#include <QtTest>

#include <fstream>
#include <iterator>
#include <random>
#include <sstream>

using namespace kvscope;

namespace {

std::string bytesOf(const std::filesystem::path& file)
{
    std::ifstream stream(file, std::ios::binary);
    return {std::istreambuf_iterator<char>(stream), {}};
}

/// Prose that ships with the product, a part of it so that the tests stay quick.
std::string prose()
{
    return bytesOf(KVSCOPE_SOURCE_DIR "/resources/texts/northanger_abbey.txt").substr(0, 120'000);
}

std::string anyText(std::mt19937& random)
{
    const auto below = [&](std::uint32_t n) { return random() % n; };
    std::string text;
    for (std::uint32_t i = below(60); i > 0; --i) {
        const std::uint32_t kind = below(6);
        if (kind == 0)
            text += std::string(1 + below(3), " \n\t\r"[below(4)]);
        else if (kind == 1)
            text += static_cast<char>('0' + below(10));
        else if (kind == 2)
            text += QString(QChar(static_cast<char16_t>(0xA1 + below(0x2000))))
                        .toStdString(); // below U+2581
        else if (kind == 3)
            text += QString::fromUcs4(U"\U0001F600").toStdString();
        else
            text += static_cast<char>(1 + below(126));
    }
    return text;
}

} // namespace

class TestVocabulary : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        QVERIFY(m_folder.isValid());
        m_text = prose();
        m_file = m_folder.filePath("tokenizer.model").toStdString();
        trainVocabulary(m_text, {}, m_file);
        m_tokenizer = openTokenizer(m_file, 1024);
    }

    void theSameTextGivesTheSameBytes_data()
    {
        QTest::addColumn<int>("kind");
        QTest::newRow("bpe") << static_cast<int>(VocabularyKind::Bpe);
        QTest::newRow("unigram") << static_cast<int>(VocabularyKind::Unigram);
    }
    void theSameTextGivesTheSameBytes()
    {
        QFETCH(int, kind);
        VocabularySettings settings;
        settings.kind = static_cast<VocabularyKind>(kind);
        settings.size = 600;
        const auto first = m_folder.filePath("first.model").toStdString();
        const auto second = m_folder.filePath("second.model").toStdString();
        const std::string_view text = std::string_view(m_text).substr(0, 40'000);
        trainVocabulary(text, settings, first);
        trainVocabulary(text, settings, second);
        QVERIFY(!bytesOf(first).empty());
        QVERIFY(bytesOf(first) == bytesOf(second));
        QCOMPARE(openTokenizer(first)->vocabularySize(), std::int64_t{600});
    }

    void theBytesAreThoseOfAnyMachine()
    {
        // SHA-256 of the default vocabulary, seen on the machine where this test was written.
        const QByteArray found = QByteArray::fromStdString(bytesOf(m_file));
        QCOMPARE(QCryptographicHash::hash(found, QCryptographicHash::Sha256).toHex(),
                 QByteArray("8ec44e49b18e96edc1c59fbea05694af10064102390f305dd9ee44bdbfc3475a"));
    }

    void specialPiecesHaveTheirIds()
    {
        QCOMPARE(m_tokenizer->vocabularySize(), std::int64_t{1024});
        QCOMPARE(m_tokenizer->piece(kBeginPiece), std::string("<s>"));
        QCOMPARE(m_tokenizer->piece(kEndPiece), std::string("</s>"));
        QCOMPARE(m_tokenizer->piece(kPaddingPiece), std::string("<pad>"));
        for (const auto id : {kBeginPiece, kEndPiece, kPaddingPiece})
            QVERIFY(m_tokenizer->isControl(id));
    }

    void everyDigitIsAPiece()
    {
        const auto ids = m_tokenizer->encode("90125", ControlTokens::Literal);
        QCOMPARE(ids.size(), std::size_t{5});
        for (std::size_t i = 0; i < ids.size(); ++i)
            QCOMPARE(m_tokenizer->piece(ids[i]), std::string(1, "90125"[i]));
        for (TokenId id = 4; id < m_tokenizer->vocabularySize(); ++id) {
            const std::string piece = m_tokenizer->piece(id);
            const bool hasDigit = piece.find_first_of("0123456789") != std::string::npos;
            QVERIFY2(!hasDigit || piece.size() == 1, piece.c_str());
        }
    }

    void aLineBreakIsAPiece()
    {
        const auto word = m_tokenizer->encode("the", ControlTokens::Literal);
        const auto lineBreak = m_tokenizer->encode("\n", ControlTokens::Literal);
        QCOMPARE(lineBreak.size(), std::size_t{1});
        QCOMPARE(m_tokenizer->piece(lineBreak.front()), std::string("\n"));
        auto expected = word;
        expected.insert(expected.end(), 2, lineBreak.front());
        expected.insert(expected.end(), word.begin(), word.end());
        QVERIFY(m_tokenizer->encode("the\n\nthe", ControlTokens::Literal) == expected);
    }

    void commonWordsAreOnePiece()
    {
        QCOMPARE(m_tokenizer->encode(" the", ControlTokens::Literal).size(), std::size_t{1});
        QVERIFY(m_tokenizer->encode(m_text, ControlTokens::Literal).size() < m_text.size() / 2);
    }

    void everyTextComesBack()
    {
        std::mt19937 random(11);
        for (int i = 0; i < 300; ++i) {
            const std::string text = anyText(random);
            const auto ids = m_tokenizer->encode(text, ControlTokens::Literal);
            QCOMPARE(QString::fromStdString(m_tokenizer->decode(ids)),
                     QString::fromStdString(text));
            QVERIFY(std::ranges::find(ids, kUnknownPiece) == ids.end());
        }
    }

    void whatCannotBeMadeIsSaid_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("size");
        QTest::addColumn<QString>("why");
        QTest::newRow("no text") << QByteArray() << 1024 << "without a word";
        QTest::newRow("line breaks alone") << QByteArray("\n\n\n") << 1024 << "without a word";
        QTest::newRow("not UTF-8") << QByteArray("ab\xFF") << 1024 << "not UTF-8 at byte 2";
        QTest::newRow("too few pieces") << QByteArray("a b c") << 200 << "272 to 1,048,576";
        QTest::newRow("text too short") << QByteArray("a b c") << 1024 << "a longer text";
    }
    void whatCannotBeMadeIsSaid()
    {
        QFETCH(QByteArray, text);
        QFETCH(int, size);
        QFETCH(QString, why);
        VocabularySettings settings;
        settings.size = size;
        const auto file = m_folder.filePath("none.model").toStdString();
        try {
            trainVocabulary(text.toStdString(), settings, file);
            QFAIL("made");
        } catch (const ArgumentError& error) {
            QVERIFY2(QString(error.what()).contains(why), error.what());
        }
        QVERIFY(!std::filesystem::exists(file));
    }

    void aFolderThatCannotBeMadeIsNamed()
    {
        try {
            trainVocabulary(m_text.substr(0, 40'000), {.size = 500}, m_file / "inside" / "a.model");
            QFAIL("written");
        } catch (const EngineError& error) {
            QVERIFY(QString(error.what()).contains("a.model: cannot be written"));
        }
    }

    void longLinesAreCutNotPassedOver()
    {
        std::string line = m_text.substr(0, 100'000);
        std::ranges::replace(line, '\n', ' ');
        const auto file = m_folder.filePath("line.model").toStdString();
        trainVocabulary(line, {.size = 700}, file);
        QCOMPARE(openTokenizer(file)->encode(" the", ControlTokens::Literal).size(),
                 std::size_t{1});
    }

private:
    QTemporaryDir m_folder;
    std::string m_text;
    std::filesystem::path m_file;
    std::unique_ptr<const Tokenizer> m_tokenizer;
};

QTEST_GUILESS_MAIN(TestVocabulary)
#include "tst_vocabulary.moc"
