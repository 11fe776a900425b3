#include "engine/cache/ring_plan.h"

#include <QtTest>

#include <random>
#include <vector>

using namespace kvscope;

/// Slots and positions without a tensor, against an array of positions that is written one by one.
class TestRingPlan : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void spansCoverPositionsInTimeOrder_data()
    {
        QTest::addColumn<int>("capacity");
        QTest::addColumn<int>("first");
        QTest::addColumn<int>("end");
        QTest::addColumn<QList<QList<int>>>("spans"); // slot, length, first position
        using Spans = QList<QList<int>>;
        QTest::newRow("empty") << 4 << 3 << 3 << Spans{};
        QTest::newRow("from slot 0") << 4 << 0 << 3 << Spans{{0, 3, 0}};
        QTest::newRow("full, unwrapped") << 4 << 4 << 8 << Spans{{0, 4, 4}};
        QTest::newRow("wraps") << 4 << 6 << 9 << Spans{{2, 2, 6}, {0, 1, 8}};
        QTest::newRow("ends at the last slot") << 4 << 6 << 8 << Spans{{2, 2, 6}};
        QTest::newRow("ring of one") << 1 << 9 << 10 << Spans{{0, 1, 9}};
    }
    void spansCoverPositionsInTimeOrder()
    {
        QFETCH(int, capacity);
        QFETCH(int, first);
        QFETCH(int, end);
        QList<QList<int>> got;
        for (const auto& span : slotSpans({first, end}, capacity))
            got << QList<int>{int(span.slot), int(span.length), int(span.firstPosition)};
        QTEST(got, "spans");
    }

    // Property: after any appends and cuts, the range says exactly which positions an array written
    // one by one still holds among those that were not cut.
    void rangeIsWhatSlotsHold()
    {
        std::mt19937 random(7);
        for (int trial = 0; trial < 200; ++trial) {
            const int window = 1 + int(random() % 9);
            const int capacity = window + int(random() % 4);
            std::vector<std::int64_t> slots(std::size_t(capacity), -1);
            RingRange held;
            for (int step = 0; step < 30; ++step) {
                if (random() % 4 == 0) {
                    cutAtRandom(held, window, random);
                } else {
                    const auto numTokens =
                        1 + std::int64_t(random() % (2 * unsigned(capacity) + 1));
                    for (auto p = held.end; p < held.end + numTokens; ++p)
                        slots[std::size_t(p % capacity)] = p;
                    held = ringAfter(held, numTokens, capacity);
                }
                QVERIFY(held.length() <= capacity);
                for (const auto& span : slotSpans(held, capacity))
                    for (std::int64_t i = 0; i < span.length; ++i)
                        QCOMPARE(slots[std::size_t(span.slot + i)], span.firstPosition + i);
            }
        }
    }

    void chunkKeepsItsTail()
    {
        QCOMPARE(storedOfChunk({2, 5}, 3, 4), (RingRange{5, 8}));
        QCOMPARE(storedOfChunk({2, 5}, 4, 4), (RingRange{5, 9}));
        QCOMPARE(storedOfChunk({2, 5}, 11, 4), (RingRange{12, 16}));
    }

    void windowIncludesTheQueryItself()
    {
        QCOMPARE(oldestVisible(0, 4), 0);
        QCOMPARE(oldestVisible(3, 4), 0);
        QCOMPARE(oldestVisible(4, 4), 1);
        QCOMPARE(oldestVisible(9, 1), 9);
    }

    void lastSlackPlusOnePositionsCanBeTakenBack_data()
    {
        QTest::addColumn<int>("slack");
        QTest::newRow("no slack") << 0;
        QTest::newRow("slack of one") << 1;
        QTest::newRow("slack of five") << 5;
    }
    void lastSlackPlusOnePositionsCanBeTakenBack()
    {
        QFETCH(int, slack);
        constexpr int kWindow = 8;
        const RingRange held = ringAfter({}, 100, kWindow + slack);
        for (int back = 0; back < 100; ++back)
            QCOMPARE(canCutBackTo(held, 100 - back, kWindow), back <= slack + 1);
        QVERIFY(canCutBackTo(held, 0, kWindow));
        QVERIFY(!canCutBackTo(held, 101, kWindow));
    }

    void everythingCanBeTakenBackBeforeTheRingWraps()
    {
        const RingRange held = ringAfter({}, 8, 8);
        for (int n = 0; n <= 8; ++n)
            QVERIFY(canCutBackTo(held, n, 8));
    }

private:
    static void cutAtRandom(RingRange& held, int window, std::mt19937& random)
    {
        const auto n = std::int64_t(random() % unsigned(held.end + 1));
        if (canCutBackTo(held, n, window))
            held = ringCutBackTo(held, n);
    }
};

QTEST_GUILESS_MAIN(TestRingPlan)
#include "tst_ring_plan.moc"
