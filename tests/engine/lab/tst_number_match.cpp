#include "engine/lab/number_match.h"

#include <QElapsedTimer>
#include <QtTest>

using namespace kvscope;

class TestNumberMatch : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void numbersEndWhereTheyEnd_data()
    {
        QTest::addColumn<QString>("text");
        QTest::addColumn<QStringList>("numbers");
        QTest::newRow("at the end of a sentence") << "The pier is 48." << QStringList{"48"};
        QTest::newRow("longer than the answer") << "481 or 148" << QStringList{"481", "148"};
        QTest::newRow("grouped by thousands") << "card 40,517" << QStringList{"40517"};
        QTest::newRow("several groups") << "1,234,567 in all" << QStringList{"1234567"};
        QTest::newRow("a list without spaces") << "14,48,9" << QStringList({"14", "48", "9"});
        QTest::newRow("too long for a group") << "1234,567" << QStringList({"1234", "567"});
        QTest::newRow("decimal part") << "3.48 metres" << QStringList{"3.48"};
        QTest::newRow("inside a word") << "B52, 7th, x_9" << QStringList{};
        QTest::newRow("with a unit")
            << "375g, 92ft or 219steps" << QStringList({"375", "92", "219"});
        QTest::newRow("a year of a century") << "the 1st of 20th" << QStringList{};
        QTest::newRow("in brackets and stars") << "(**7391**)" << QStringList{"7391"};
        QTest::newRow("beside other letters") << QString::fromUtf8("№7391…") << QStringList{"7391"};
        QTest::newRow("digits of another script") << QString::fromUtf8("٧٣٩١") << QStringList{};
        QTest::newRow("minus") << "-5" << QStringList{"5"};
        QTest::newRow("no number") << "I do not know." << QStringList{};
        QTest::newRow("nothing") << "" << QStringList{};
    }
    void numbersEndWhereTheyEnd()
    {
        QFETCH(QString, text);
        QFETCH(QStringList, numbers);
        QStringList found;
        for (const std::string& number : numbersIn(text.toStdString()))
            found << QString::fromStdString(number);
        QCOMPARE(found, numbers);
    }

    void answerIsComparedAsAWhole()
    {
        QVERIFY(containsNumber("It is 7391, I think.", "7391"));
        QVERIFY(containsNumber("40,517", "40517"));
        for (const char* text : {"73911", "17391", "7391.5", "7,391,000", "a7391", ""})
            QVERIFY2(!containsNumber(text, "7391"), text);
    }

    void hostileTextTakesLinearTime()
    {
        QElapsedTimer timer;
        timer.start();
        std::string groups;
        for (int i = 0; i < 300000; ++i)
            groups += i % 2 == 0 ? "1,234" : ",111";
        numbersIn(groups);
        QCOMPARE(numbersIn(std::string(1 << 20, '7')).size(), std::size_t{1});
        QVERIFY2(timer.elapsed() < 5000, qPrintable(QString::number(timer.elapsed())));
    }
};

QTEST_GUILESS_MAIN(TestNumberMatch)
#include "tst_number_match.moc"
