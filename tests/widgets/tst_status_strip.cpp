#include "tests/widgets/chat_fixture.h"
#include "widgets/status_strip.h"

#include <QtTest>

using namespace kvscope;

class TestStatusStrip : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void itSaysWhatRunsAndWhatItCosts()
    {
        StatusStrip strip;
        QCOMPARE(strip.texts(), QStringList{QStringLiteral("no model")});
        strip.setModel(fake::model());
        strip.setSnapshot(fake::snapshot(1943));
        const QStringList expected{
            QStringLiteral("CPU, 2 threads, float32"),
            QStringLiteral("prefill 4,310 tok/s"),
            QStringLiteral("decode 212 tok/s, 4.7 ms"),
            QStringLiteral("weights 29.0 MiB"),
            QStringLiteral("cache 12.1 MiB live + 3.80 MiB slack, 1.88 × below all-global"),
            QStringLiteral("process 361 MiB, free 17.9 GiB")};
        QCOMPARE(strip.texts(), expected);
    }

    void aRatioIsOnlySaidWhereSomethingIsSaved()
    {
        StatusStrip strip;
        strip.setModel(fake::model());
        auto snapshot = fake::snapshot(100);
        snapshot->cache.allGlobalBytes = snapshot->cache.liveBytes;
        strip.setSnapshot(snapshot);
        QVERIFY(!strip.texts().join(u' ').contains(QStringLiteral("below")));
    }

    void figuresStandLongEnoughToBeRead()
    {
        StatusStrip strip;
        strip.setModel(fake::model());
        strip.setSnapshot(fake::snapshot(100));
        int changes = 0;
        QString shown = strip.texts().join(u' ');
        QElapsedTimer clock;
        clock.start();
        for (int i = 0; clock.elapsed() < 900; ++i) {
            auto snapshot = fake::snapshot(100);
            snapshot->decodeTokensPerSecond = 100 + i;
            strip.setSnapshot(snapshot);
            QTest::qWait(5);
            if (const QString now = strip.texts().join(u' '); now != shown) {
                ++changes;
                shown = now;
            }
        }
        QVERIFY2(changes >= 1 && changes <= 4, qPrintable(QString::number(changes)));
    }

    void itGivesWayOnNarrowWindows()
    {
        StatusStrip strip;
        strip.setModel(fake::model());
        strip.setSnapshot(fake::snapshot(1943));
        QVERIFY(strip.minimumSizeHint().width() <= 80);
        strip.resize(200, strip.sizeHint().height());
        QVERIFY(!strip.grab().isNull());
        QVERIFY(strip.toolTip().contains(QStringLiteral("free 17.9 GiB")));
    }
};

QTEST_MAIN(TestStatusStrip)
#include "tst_status_strip.moc"
