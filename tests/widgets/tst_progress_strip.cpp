#include "widgets/progress_strip.h"

#include <QPushButton>
#include <QSignalSpy>
#include <QtTest>

using namespace kvscope;

class TestProgressStrip : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void shortWaitsAreNotShown()
    {
        ProgressStrip strip;
        strip.showPrefill({0, 10, 100, 0.1, 0.1}, 100);
        QVERIFY(strip.isHidden());
        strip.finish();
        QTest::qWait(600);
        QVERIFY(strip.isHidden());
        strip.showPrefill({0, 10, 100, 0.1, 5.0}, 100);
        QTRY_VERIFY_WITH_TIMEOUT(!strip.isHidden(), 2000);
        strip.finish();
        QVERIFY(strip.isHidden());
    }

    void thePrefillCountsTokens()
    {
        ProgressStrip strip;
        strip.showPrefill({131, 512, 1811, 0.4, 0.3012}, 4310.2);
        const QStringList expected{
            QStringLiteral("Reading the prompt"), QStringLiteral("301.2 ms left"),
            QStringLiteral("512 of 1,811 tokens, 131 reused"), QStringLiteral("4,310 tok/s")};
        QCOMPARE(strip.texts(), expected);
    }

    void openingCountsBytesAndCanBeCancelled()
    {
        ProgressStrip strip;
        strip.showOpening({49'200'000, 98'400'000, 2.0});
        QCOMPARE(strip.texts()[2], QStringLiteral("49.2 MB of 98.4 MB"));
        QSignalSpy cancels(&strip, &ProgressStrip::cancelRequested);
        QTest::mouseClick(strip.findChild<QPushButton*>(), Qt::LeftButton);
        QCOMPARE(cancels.size(), 1);
        strip.finish();
        strip.showPrefill({0, 1, 2, 0, 1}, 0);
        QVERIFY(strip.findChild<QPushButton*>()->isHidden());
    }

    void nonsenseIsDrawnWithinTheBar()
    {
        ProgressStrip strip;
        strip.resize(120, 60);
        strip.showOpening({500, 0, 0.0});
        QVERIFY(!strip.grab().isNull());
        strip.showOpening({500, 100, -1.0});
        QVERIFY(!strip.grab().isNull());
    }
};

QTEST_MAIN(TestProgressStrip)
#include "tst_progress_strip.moc"
