#include "engine/base/utf8.h"

#include <QtTest>

using namespace kvscope;

class TestUtf8 : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void findsTheFirstBadByte_data()
    {
        QTest::addColumn<QByteArray>("text");
        QTest::addColumn<int>("at"); // -1: well-formed
        QTest::newRow("empty") << QByteArray() << -1;
        QTest::newRow("ascii") << QByteArray("plain") << -1;
        QTest::newRow("two, three and four bytes")
            << QByteArray("\xC3\xA9\xE2\x82\xAC\xF0\x9F\x98\x80") << -1;
        QTest::newRow("overlong slash") << QByteArray("a\xC0\xAF") << 1;
        QTest::newRow("overlong three bytes") << QByteArray("\xE0\x80\xAF") << 0;
        QTest::newRow("surrogate") << QByteArray("ab\xED\xA0\x80") << 2;
        QTest::newRow("past U+10FFFF") << QByteArray("\xF4\x90\x80\x80") << 0;
        QTest::newRow("cut off") << QByteArray("ok\xE2\x82") << 2;
        QTest::newRow("lone continuation") << QByteArray("\x80") << 0;
    }
    void findsTheFirstBadByte()
    {
        QFETCH(QByteArray, text);
        const auto bad = firstInvalidUtf8(text.toStdString());
        QTEST(bad ? static_cast<int>(*bad) : -1, "at");
    }

    void prefixLeavesOutTheUnfinishedCharacter()
    {
        QCOMPARE(completeUtf8Prefix("ab\xF0\x9F\x98"), std::size_t{2});
        QCOMPARE(completeUtf8Prefix("ab\xF0\x9F\x98\x80"), std::size_t{6});
        QCOMPARE(completeUtf8Prefix("\xFF"), std::size_t{1}); // can never become a character
    }

    void badBytesBecomeReplacementCharacters()
    {
        QCOMPARE(toValidUtf8("a\xFFz"), std::string("a\xEF\xBF\xBDz"));
        QCOMPARE(toValidUtf8("caf\xC3\xA9"), std::string("caf\xC3\xA9"));
    }
};

QTEST_GUILESS_MAIN(TestUtf8)
#include "tst_utf8.moc"
