#include "tests/widgets/fake_cache.h"
#include "widgets/ring_geometry.h"
#include "widgets/rings_layout.h"

#include <QtTest>

#include <random>

using namespace kvscope;

class TestRingGeometry : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void slotZeroIsAtTheTopAndTheyGoClockwise()
    {
        const QPointF center(100, 100);
        QCOMPARE(slotAngle(0, 128), 0.0);
        QCOMPARE(slotAngle(32, 128), 90.0);
        const QPointF top = pointOnRing(center, 50, 0);
        QVERIFY(std::abs(top.x() - 100) < 1e-9 && std::abs(top.y() - 50) < 1e-9);
        const QPointF right = pointOnRing(center, 50, 90);
        QVERIFY(std::abs(right.x() - 150) < 1e-9 && std::abs(right.y() - 100) < 1e-9);
        QCOMPARE(angleOf(center, {100, 150}), 180.0);
        QCOMPARE(angleOf(center, {50, 100}), 270.0);
    }

    // Property: a slot's middle, on the screen, is that slot again.
    void pixelsAndSlotsAgree_data()
    {
        QTest::addColumn<int>("capacity");
        for (const int capacity : {1, 2, 3, 64, 100, 128, 131, 4096})
            QTest::newRow(qPrintable(QString::number(capacity))) << capacity;
    }
    void pixelsAndSlotsAgree()
    {
        QFETCH(int, capacity);
        const RingFrame frame{{140, 150}, 71, 98};
        for (int slot = 0; slot < capacity; ++slot) {
            const double angle = (slotAngle(slot, capacity) + slotAngle(slot + 1, capacity)) / 2;
            for (const double radius : {71.0, 84.0, 98.0})
                QCOMPARE(slotAt(frame, capacity, pointOnRing(frame.center, radius, angle), 0.01)
                             .value_or(-1),
                         slot);
        }
        QVERIFY(!slotAt(frame, capacity, frame.center));
        QVERIFY(!slotAt(frame, capacity, {140, 150 - 103}, 4));
        QVERIFY(slotAt(frame, capacity, {140, 150 - 101}, 4));
    }

    void sectorsStayBetweenTheRadii()
    {
        const RingFrame frame{{0, 0}, 30, 50};
        const QPainterPath path = sectorPath(frame, 80, 100);
        QVERIFY(path.contains(QPointF(40, 0)));
        QVERIFY(!path.contains(QPointF(25, 0)));
        QVERIFY(!path.contains(QPointF(55, 0)));
        QVERIFY(!path.contains(QPointF(0, -40)));
    }

    void bigRingsAreBinned_data()
    {
        QTest::addColumn<qint64>("capacity");
        QTest::addColumn<qint64>("slotsInMark");
        QTest::addColumn<qint64>("marks");
        QTest::newRow("none") << 0LL << 1LL << 0LL;
        QTest::newRow("small") << 128LL << 1LL << 128LL;
        QTest::newRow("just fits") << 512LL << 1LL << 512LL;
        QTest::newRow("one more") << 513LL << 2LL << 257LL;
        QTest::newRow("Gemma's window") << 4096LL << 8LL << 512LL;
    }
    void bigRingsAreBinned()
    {
        QFETCH(qint64, capacity);
        QTEST(qint64(slotsPerMark(capacity)), "slotsInMark");
        QTEST(qint64(markCount(capacity)), "marks");
    }

    void ticksAreRoundAndAtMostTen()
    {
        QCOMPARE(tickStep(128), 16);
        QCOMPARE(tickStep(64), 8);
        QCOMPARE(tickStep(4096), 512);
        QCOMPARE(tickStep(100), 10);
        QCOMPARE(tickStep(72), 10);
        for (std::int64_t capacity = 1; capacity < 3000; ++capacity)
            QVERIFY((capacity + tickStep(capacity) - 1) / tickStep(capacity) <= 10);
    }

    void theChaptersRingReadsAsDrawn()
    {
        const RingPositions ring(fakeSnapshot(12, 128, 1943).layers[6]);
        QCOMPARE(ring.first(), 1815);
        QCOMPARE(ring.end() - 1, 1942);
        QCOMPARE(ring.head(), 23);
        QCOMPARE(ring.turn(), 15);
        QVERIFY(ring.isFull());
        QCOMPARE(ring.slotOf(1871), 79);
        QCOMPARE(ring.ageOf(1871), 71);
        QCOMPARE(ring.leavesIn(1871), 57);
        QCOMPARE(ring.leavesAt(614), 742);
        QCOMPARE(ring.ageFraction(1942), 0.0);
        QCOMPARE(ring.ageFraction(1815), 1.0);
    }

    // Property: slots hold what writing position after position leaves in them.
    void slotsHoldWhatWritingLeaves()
    {
        std::mt19937 random(7);
        for (int round = 0; round < 200; ++round) {
            const auto window = static_cast<std::int64_t>(1 + random() % 40);
            const auto slack = static_cast<std::int64_t>(random() % 6);
            const auto length = static_cast<std::int64_t>(random() % 150);
            const RingPositions ring(fakeSnapshot(1, window, length, slack).layers[0]);
            std::vector<std::int64_t> written(static_cast<std::size_t>(window + slack), -1);
            for (std::int64_t position = 0; position < length; ++position)
                written[static_cast<std::size_t>(position % (window + slack))] = position;
            for (std::int64_t slot = 0; slot < window + slack; ++slot) {
                const std::int64_t position = written[static_cast<std::size_t>(slot)];
                QCOMPARE(ring.positionIn(slot).value_or(-1), position);
                const SlotState expected = position < 0                  ? SlotState::Empty
                                           : position >= length - window ? SlotState::Held
                                                                         : SlotState::Outside;
                QVERIFY(ring.state(slot) == expected);
            }
        }
    }

    void anEmptyRingHoldsNothing()
    {
        const RingPositions ring(LayerCacheState{});
        QCOMPARE(ring.head(), 0);
        QVERIFY(!ring.positionIn(0));
        QVERIFY(!ring.isFull());
    }

    // Property: nothing lies outside the panel, nothing lies on the large ring, whatever the size.
    void layoutStaysInside()
    {
        for (int width = 420; width <= 1800; width += 23)
            for (int height = 240; height <= 900; height += 37)
                for (const int rings : {0, 1, 5, 12, 25}) {
                    const QRectF area(0, 0, width, height);
                    const RingsLayout layout = layOutRings(area, rings);
                    QVERIFY(layout.main.outer >= 40);
                    QVERIFY(area.contains(layout.mainArea));
                    const double right = layout.main.center.x() + layout.main.outer;
                    for (const SmallRingCell& cell : layout.small) {
                        QVERIFY(area.contains(cell.cell));
                        QVERIFY(cell.cell.left() > right);
                        QVERIFY(cell.text.width() >= 60);
                    }
                    const auto shown = static_cast<int>(layout.small.size());
                    QVERIFY(shown == rings || !layout.more.isEmpty());
                    QVERIFY(shown >= std::min(rings, 1));
                }
    }
};

QTEST_GUILESS_MAIN(TestRingGeometry)
#include "tst_ring_geometry.moc"
