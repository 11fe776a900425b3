#include "tests/support/text_recorder.h"
#include "widgets/theme.h"
#include "widgets/trial_running_panel.h"

#include <QImage>
#include <QPainter>
#include <QtTest>

using namespace kvscope;

namespace {

EngineSnapshot snapshotAt(std::int64_t held, double seconds, bool isWindowed = false)
{
    EngineSnapshot snapshot;
    snapshot.phase = Phase::Lab;
    snapshot.cache.contextLength = held;
    snapshot.memory.seconds = seconds;
    LayerCacheState layer;
    layer.isWindowed = isWindowed;
    layer.capacity = isWindowed ? 128 : 2 * held;
    snapshot.cache.layers = {layer};
    return snapshot;
}

QImage drawn(const TrialRunningPanel& panel, const QSize& size = {700, 110})
{
    QImage image(size, QImage::Format_RGB32);
    image.fill(Qt::magenta);
    QPainter painter(&image);
    panel.paintTo(painter, QRectF(QPointF(0, 0), size), Theme::light());
    return image;
}

int countOf(const QImage& image, const QColor& color)
{
    int count = 0;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            count += image.pixelColor(x, y) == color ? 1 : 0;
    return count;
}

} // namespace

class TestTrialRunning : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void whatRunsIsReadFromItsLine_data()
    {
        QTest::addColumn<QString>("what");
        QTest::addColumn<QString>("name");
        QTest::addColumn<qlonglong>("done");
        QTest::addColumn<qlonglong>("tokens");
        QTest::addColumn<double>("depth");
        QTest::newRow("a trial") << "16,384 at 50 %, ferry: 9,984 of 16,352 tokens"
                                 << "16,384 at 50 %, ferry" << 9984LL << 16352LL << 50.0;
        QTest::newRow("between two depths")
            << "16,384 at 12.5 %, ferry: 9,984 of 16,352 tokens"
            << "16,384 at 12.5 %, ferry" << 9984LL << 16352LL << 12.5;
        QTest::newRow("a control") << "16,384, control, ferry: 512 of 16,352 tokens"
                                   << "16,384, control, ferry" << 512LL << 16352LL << -1.0;
        QTest::newRow("losses") << "plain: 512 of 2,048 tokens"
                                << "plain" << 512LL << 2048LL << -1.0;
        QTest::newRow("a trial's end") << "512 at 0 %, 48213"
                                       << "512 at 0 %, 48213" << 0LL << 0LL << 0.0;
        QTest::newRow("a bandwidth") << "memory bandwidth"
                                     << "memory bandwidth" << 0LL << 0LL << -1.0;
        QTest::newRow("absurd numbers") << "a at 999 %: ,,, of 99,999,999,999,999,999,999 tokens"
                                        << "a at 999 %" << 0LL << 0LL << 100.0;
        QTest::newRow("nothing") << ""
                                 << "" << 0LL << 0LL << -1.0;
    }
    void whatRunsIsReadFromItsLine()
    {
        QFETCH(QString, what);
        QFETCH(QString, name);
        QFETCH(qlonglong, done);
        QFETCH(qlonglong, tokens);
        QFETCH(double, depth);
        const RunningPart part = runningPartFrom(what);
        QCOMPARE(part.name, name);
        QCOMPARE(part.doneTokens, std::int64_t{done});
        QCOMPARE(part.tokens, std::int64_t{tokens});
        QCOMPARE(part.depth.has_value(), depth >= 0);
        if (part.depth)
            QCOMPARE(*part.depth, depth);
    }

    void theTitleSaysHowFarAndHowFast()
    {
        TrialRunningPanel panel;
        QCOMPARE(panel.description(), QString("nothing runs"));
        panel.setTrial("trial 8 of 12");
        panel.setProgress("Needle", "1,024 at 50 %, ferry: 256 of 1,000 tokens");
        panel.addSnapshot(snapshotAt(128, 1.0));
        panel.addSnapshot(snapshotAt(256, 2.0));
        QCOMPARE(panel.tokensPerSecond(), 128.0);
        QTest::qWait(300); // figures change four times a second
        panel.setProgress("Needle", "1,024 at 50 %, ferry: 256 of 1,000 tokens");
        QCOMPARE(panel.description(),
                 QString("Needle 1,024 at 50 %, ferry, trial 8 of 12, 256 of 1,000 read, "
                         "128 tok/s now, about 5.81 s left of it"));
        panel.setPaused("paused");
        QVERIFY(panel.description().endsWith("paused"));
        panel.setPaused({});
        panel.addSnapshot(snapshotAt(512, 90.0)); // the pause is no reading time
        QCOMPARE(panel.tokensPerSecond(), 128.0);
        panel.addSnapshot(snapshotAt(612, 91.0));
        QCOMPARE(panel.tokensPerSecond(), 100.0);
        QCOMPARE(panel.exportTable().rows.size(), 2);
        panel.addSnapshot(snapshotAt(64, 92.0)); // another trial's
        QCOMPARE(panel.exportTable().rows.size(), 0);
        panel.clear();
        QCOMPARE(panel.description(), QString("nothing runs"));
    }

    void theTrialOfTheCellAtWorkIsNamed()
    {
        SweepReport report;
        QCOMPARE(runningTrialText(report), QString());
        SweepColumn column;
        SweepCell cell;
        cell.state = CellState::Running;
        cell.plannedTrials = 12;
        cell.score = {5, 6}; // the control answered one of them, which does not count
        cell.trials.resize(7);
        column.cells = {SweepCell(), cell};
        report.columns.push_back(column);
        QCOMPARE(runningTrialText(report), QString("trial 8 of 12"));
        report.columns[0].cells[1].trials.resize(12);
        QCOMPARE(runningTrialText(report), QString());
    }

    void theBarIsAsLongAsTheCacheHolds()
    {
        TrialRunningPanel panel;
        panel.setProgress("Needle", "1,024 at 50 %, ferry: 250 of 1,000 tokens");
        panel.addSnapshot(snapshotAt(250, 1.0));
        const int quarter = countOf(drawn(panel), Theme::light().global);
        panel.addSnapshot(snapshotAt(500, 2.0));
        const QImage half = drawn(panel);
        QVERIFY(countOf(half, Theme::light().global) > quarter * 3 / 2);
        QVERIFY(countOf(half, Theme::light().selection) > 20); // where the fact is
        panel.setProgress("Needle", "1,024, control, ferry: 250 of 1,000 tokens");
        panel.addSnapshot(snapshotAt(500, 3.0, true));
        const QImage rings = drawn(panel);
        QVERIFY(countOf(rings, Theme::light().windowed) > 1000);
        QVERIFY(countOf(rings, Theme::light().selection) == 0);
    }

    void labelsStandBesideEachOther_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("dock") << QSize(700, 90);
        QTest::newRow("smallest") << QSize(280, 84);
    }
    void labelsStandBesideEachOther()
    {
        QFETCH(QSize, size);
        TrialRunningPanel panel;
        panel.setTrainedPositions(8192);
        panel.setProgress("Needle", "16,384 at 50 %, ferry: 9,984 of 16,352 tokens");
        panel.addSnapshot(snapshotAt(9000, 1.0));
        panel.addSnapshot(snapshotAt(9984, 2.0));
        TextRecorder recorder(size);
        QPainter painter(&recorder);
        panel.paintTo(painter, QRectF(QPointF(0, 0), size), Theme::light());
        painter.end();
        const QList<RecordedText>& texts = recorder.texts();
        QVERIFY(texts.size() >= 4);
        for (qsizetype i = 0; i < texts.size(); ++i)
            for (qsizetype j = 0; j < i; ++j) {
                const QRectF common = texts[i].box.intersected(texts[j].box);
                QVERIFY2(common.width() < 1.5 || common.height() < 4,
                         qPrintable(texts[i].text + " | " + texts[j].text));
            }
    }

    void aLongRunIsThinned()
    {
        TrialRunningPanel panel;
        panel.setProgress("Positions", "plain: 1 of 100,000 tokens");
        for (int i = 1; i < 9000; ++i)
            panel.addSnapshot(snapshotAt(i, 0.01 * i));
        QVERIFY(panel.exportTable().rows.size() > 500);
        QVERIFY(panel.exportTable().rows.size() <= 2048);
        QCOMPARE(panel.exportTable().rows.last()[0], QString("8999"));
    }
};

QTEST_MAIN(TestTrialRunning)
#include "tst_trial_running.moc"
