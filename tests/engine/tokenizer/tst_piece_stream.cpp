#include "engine/base/utf8.h"
#include "engine/tokenizer/piece_stream.h"

#include <QtTest>

#include <random>
#include <string>

using namespace kvscope;

class TestPieceStream : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void unfinishedCharacterWaits()
    {
        PieceStream stream;
        QCOMPARE(stream.add("a\xF0\x9F"), std::string("a"));
        QCOMPARE(stream.add("\x98"), std::string());
        QCOMPARE(stream.add("\x80z"), std::string("\xF0\x9F\x98\x80z"));
        QCOMPARE(stream.flush(), std::string());
    }

    void flushGivesWhatWaits()
    {
        PieceStream stream;
        QCOMPARE(stream.add("\xE2\x82"), std::string());
        QCOMPARE(stream.flush(), std::string("\xEF\xBF\xBD\xEF\xBF\xBD"));
        QCOMPARE(stream.flush(), std::string());
        QCOMPARE(stream.add("b"), std::string("b"));
    }

    void badByteDoesNotHoldUpTheRest()
    {
        PieceStream stream;
        QCOMPARE(stream.add("\xFFz"), std::string("\xEF\xBF\xBDz"));
    }

    // Property: however bytes are cut into pieces, the text is the same, and UTF-8 at every step.
    void anyCutGivesTheSameText_data()
    {
        QTest::addColumn<bool>("wellFormed");
        QTest::newRow("characters of every length") << true;
        QTest::newRow("random bytes") << false;
    }
    void anyCutGivesTheSameText()
    {
        QFETCH(bool, wellFormed);
        std::mt19937 random(11);
        for (int round = 0; round < 300; ++round) {
            const std::string bytes = wellFormed ? randomText(random) : randomBytes(random);
            PieceStream stream;
            std::string text;
            for (std::size_t at = 0; at < bytes.size();) {
                const std::size_t length = random() % 5;
                const std::string out = stream.add(std::string_view(bytes).substr(at, length));
                QVERIFY(!firstInvalidUtf8(out));
                text += out;
                at += length;
            }
            text += stream.flush();
            PieceStream atOnce;
            const std::string first = atOnce.add(bytes);
            QCOMPARE(text, first + atOnce.flush());
            if (wellFormed)
                QCOMPARE(text, bytes);
        }
    }

private:
    static std::string randomText(std::mt19937& random)
    {
        static const std::vector<std::string> kCharacters = {
            "a", " ", "\xC3\xA9", "\xE2\x82\xAC", "\xED\x9F\xBF", "\xF0\x9F\x98\x80"};
        std::string text;
        for (int i = 0; i < 30; ++i)
            text += kCharacters[random() % kCharacters.size()];
        return text;
    }
    static std::string randomBytes(std::mt19937& random)
    {
        static const std::string kBytes = "a\x80\xBF\xC2\xE0\xA0\xE2\x82\xED\xF0\x9F\xF4\x90\xFF";
        std::string bytes;
        for (int i = 0; i < 40; ++i)
            bytes += kBytes[random() % kBytes.size()];
        return bytes;
    }
};

QTEST_GUILESS_MAIN(TestPieceStream)
#include "tst_piece_stream.moc"
