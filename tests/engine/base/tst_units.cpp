#include "engine/base/units.h"

#include <QtTest>

using namespace kvscope;

class TestUnits : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void bytesHaveThreeDigits_data()
    {
        QTest::addColumn<qulonglong>("bytes");
        QTest::addColumn<QString>("text");
        QTest::newRow("zero") << 0ULL << "0 B";
        QTest::newRow("below a KiB") << 1023ULL << "1023 B";
        QTest::newRow("one KiB") << 1024ULL << "1.00 KiB";
        QTest::newRow("rounds into the next unit") << (1ULL << 20) - 1 << "1.00 MiB";
        QTest::newRow("tens") << 12'687'769ULL << "12.1 MiB";
        QTest::newRow("chapter's cache at 128K") << 2'415'919'104ULL << "2.25 GiB";
    }
    void bytesHaveThreeDigits()
    {
        QFETCH(qulonglong, bytes);
        QTEST(QString::fromStdString(formatBytes(bytes)), "text");
    }

    void countsAreGrouped()
    {
        QCOMPARE(formatCount(0), std::string("0"));
        QCOMPARE(formatCount(999), std::string("999"));
        QCOMPARE(formatCount(1943), std::string("1,943"));
        QCOMPARE(formatCount(-4000000), std::string("-4,000,000"));
    }

    void durationsReadAsPeopleSayThem()
    {
        QCOMPARE(formatSeconds(0.0031), std::string("3.1 ms"));
        QCOMPARE(formatSeconds(19.6), std::string("19.6 s"));
        QCOMPARE(formatSeconds(252), std::string("4 min 12 s"));
        QCOMPARE(formatSeconds(5400), std::string("1 h 30 min"));
    }

    void fileSizesAreDecimal() { QCOMPARE(formatFileSize(98'400'000), std::string("98.4 MB")); }
};

QTEST_GUILESS_MAIN(TestUnits)
#include "tst_units.moc"
