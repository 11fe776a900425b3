#include "engine/base/errors.h"
#include "engine/cache/ring_buffer.h"
#include "tests/engine/cache/cache_test_data.h"
#include "tests/support/golden_json.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>

#include <QtTest>

#include <random>

using namespace kvscope;

class TestRingBuffer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void viewIsTailOfHistory_data()
    {
        QTest::addColumn<int>("window");
        QTest::addColumn<int>("slack");
        QTest::addColumn<QList<int>>("chunks"); // lengths of successive appends
        QTest::newRow("not yet full") << 4 << 0 << QList<int>{1, 2};
        QTest::newRow("wraps one by one") << 4 << 0 << QList<int>{3, 1, 1, 1, 1, 1};
        QTest::newRow("chunk longer than window") << 4 << 0 << QList<int>{11};
        QTest::newRow("chunk of the window") << 4 << 0 << QList<int>{4, 4, 3};
        QTest::newRow("window of one") << 1 << 0 << QList<int>{1, 1, 5, 1};
        QTest::newRow("chunk across the wrap") << 5 << 0 << QList<int>{3, 4, 4};
        QTest::newRow("slack is not read") << 4 << 3 << QList<int>{6, 1, 5, 1, 1, 20, 2};
    }
    // Property: whatever the chunking, the view is the tail of everything appended.
    void viewIsTailOfHistory()
    {
        QFETCH(int, window);
        QFETCH(int, slack);
        QFETCH(QList<int>, chunks);
        at::manual_seed(7);
        RingBuffer buffer({2, 3, 4}, window, slack, at::kFloat);
        std::vector<at::Tensor> history;
        for (const int length : chunks) {
            history.push_back(at::randn({2, 3, length, 4}));
            append(buffer, history.back(), -history.back());
            const auto all = at::cat(history, 2);
            const auto kept = std::min<std::int64_t>(window, all.size(2));
            const auto tail = all.narrow(2, all.size(2) - kept, kept);
            const KVView view = buffer.view();
            QVERIFY(at::equal(joinedKeys(view), tail));
            QVERIFY(at::equal(joinedValues(view), -tail));
            QCOMPARE(view.firstPosition(), all.size(2) - kept);
            QVERIFY(isConsecutive(view));
            QCOMPARE(buffer.retained(), kept);
            QCOMPARE(buffer.length(), all.size(2));
        }
    }

    // A window longer than most contexts takes memory as it fills.
    void aLongRingGrowsUntilItWraps()
    {
        at::manual_seed(7);
        constexpr std::int64_t kWindow = 9000;
        RingBuffer buffer({1, 1, 2}, kWindow, 3, at::kFloat);
        QCOMPARE(buffer.capacity(), 4096);
        QCOMPARE(buffer.touchedBytes(), 0U);
        std::vector<at::Tensor> history;
        for (const int length : {4000, 97, 1, 3000, 5000, 1, 8000, 20000, 5}) {
            history.push_back(at::randn({1, 1, length, 2}));
            const std::int64_t before = buffer.capacity();
            append(buffer, history.back(), -history.back());
            const auto all = at::cat(history, 2);
            const auto kept = std::min<std::int64_t>(kWindow, all.size(2));
            QVERIFY(at::equal(joinedKeys(buffer.view()), all.narrow(2, all.size(2) - kept, kept)));
            QVERIFY(buffer.capacity() >= before);
            QCOMPARE(buffer.touchedBytes(),
                     std::min<std::uint64_t>(static_cast<std::uint64_t>(all.size(2)), kWindow + 3) *
                         16);
        }
        QCOMPARE(buffer.capacity(), kWindow + 3);
    }

    void aRingThatIsCutBackBeforeItIsWholeGoesOn()
    {
        at::manual_seed(7);
        RingBuffer buffer({1, 1, 2}, 9000, 0, at::kFloat);
        const at::Tensor first = at::randn({1, 1, 6000, 2});
        const at::Tensor second = at::randn({1, 1, 4000, 2});
        append(buffer, first, -first);
        QVERIFY(buffer.canTruncate(100));
        buffer.truncate(100);
        append(buffer, second, -second);
        const RingBuffer copy = buffer.fork(4100);
        const at::Tensor all = at::cat({first.narrow(2, 0, 100), second}, 2);
        QVERIFY(at::equal(joinedKeys(buffer.view()), all));
        QVERIFY(at::equal(joinedValues(copy.view()), -all));
    }

    // The reference restarts at slot 0 after a prefill past the window, so only the order in time
    // and the count agree, not the raw slots.
    void goldenRingsInTimeOrder_data()
    {
        QTest::addColumn<int>("ring");
        const auto golden = readGoldenJson("gptosslite/cache.json");
        for (int i = 0; i < int(golden.at("rings").size()); ++i)
            QTest::addRow("window of %d", golden["rings"][std::size_t(i)]["window"].get<int>())
                << i;
        QVERIFY(golden.at("rings").size() >= 3);
    }
    void goldenRingsInTimeOrder()
    {
        QFETCH(int, ring);
        const auto golden = readGoldenJson("gptosslite/cache.json")["rings"][std::size_t(ring)];
        RingBuffer buffer({1, 1, 1}, golden["window"].get<std::int64_t>(), 0, at::kFloat);
        QVERIFY(golden["steps"].size() > 5);
        for (const auto& step : golden["steps"]) {
            const auto keys = positionKeys(buffer.length(), step["append"].get<std::int64_t>());
            append(buffer, keys, keys);
            const auto want = step["in_time_order"].get<std::vector<double>>();
            QCOMPARE(positionsIn(joinedKeys(buffer.view())),
                     QList<double>(want.begin(), want.end()));
            QCOMPARE(buffer.retained(), step["count"].get<std::int64_t>());
            QCOMPARE(buffer.length(), step["total"].get<std::int64_t>());
        }
    }

    void positionLiesInSlotModuloCapacity()
    {
        RingBuffer buffer({1, 1, 1}, 4, 2, at::kFloat);
        const auto start = firstElement(buffer, positionKeys(0, 1));
        append(buffer, positionKeys(1, 20), positionKeys(1, 20));
        const KVView view = buffer.view(); // positions 17 to 20, in slots 5 and 0 to 2
        QCOMPARE(view.numSegments, std::size_t(2));
        QCOMPARE(view.segments[0].keys.const_data_ptr<float>(), start + 17 % 6);
        QCOMPARE(view.segments[1].keys.const_data_ptr<float>(), start);
    }

    void stagedViewIsHistoryThenChunk()
    {
        RingBuffer buffer({1, 1, 1}, 4, 0, at::kFloat);
        append(buffer, positionKeys(0, 6), positionKeys(0, 6));
        const KVView view = buffer.stage(positionKeys(6, 9), positionKeys(6, 9));
        // The first query, at 6, sees 3 to 6.
        QCOMPARE(positionsIn(joinedKeys(view)), positionsIn(positionKeys(3, 12)));
        QCOMPARE(view.firstPosition(), 3);
        QVERIFY(isConsecutive(view));
        QCOMPARE(buffer.length(), 6);
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), positionsIn(positionKeys(2, 4)));
    }

    void discardLeavesNoTrace()
    {
        at::manual_seed(3);
        for (const int length : {1, 3, 4, 30}) {
            RingBuffer buffer({1, 2, 3}, 4, 1, at::kFloat);
            append(buffer, at::randn({1, 2, 9, 3}), at::randn({1, 2, 9, 3}));
            const auto keys = joinedKeys(buffer.view()), values = joinedValues(buffer.view());
            buffer.stage(at::randn({1, 2, length, 3}), at::randn({1, 2, length, 3}));
            buffer.discard();
            QCOMPARE(buffer.length(), 9);
            QCOMPARE(buffer.staged(), 0);
            QVERIFY(at::equal(joinedKeys(buffer.view()), keys));
            QVERIFY(at::equal(joinedValues(buffer.view()), values));
            QVERIFY(buffer.canTruncate(7));
        }
    }

    void stagingAgainReplacesTheChunk()
    {
        RingBuffer buffer({1, 1, 1}, 4, 0, at::kFloat);
        buffer.stage(positionKeys(50, 3), positionKeys(50, 3));
        append(buffer, positionKeys(0, 2), positionKeys(0, 2));
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{0, 1}));
        buffer.commit(); // nothing staged
        QCOMPARE(buffer.length(), 2);
    }

    void memoryOfALongChunkIsNotKept()
    {
        RingBuffer buffer({1, 1, 2}, 4, 0, at::kFloat);
        const auto keys = positionKeys(0, 1000, 1, 1, 2), values = positionKeys(0, 1000, 1, 1, 2);
        buffer.stage(keys, values);
        QCOMPARE(keys.storage().use_count(), std::size_t(1));
        QCOMPARE(values.storage().use_count(), std::size_t(1));
        buffer.commit();
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), positionsIn(positionKeys(996, 4)));
    }

    void shortChunkIsReleasedByCommit()
    {
        RingBuffer buffer({1, 1, 1}, 4, 0, at::kFloat);
        const auto keys = positionKeys(0, 2);
        append(buffer, keys, keys);
        QCOMPARE(keys.storage().use_count(), std::size_t(1));
    }

    void memoryNeverMoves()
    {
        RingBuffer buffer({1, 1, 2}, 4, 2, at::kFloat);
        const auto allocated = buffer.allocatedBytes();
        QCOMPARE(allocated, 2U * 6 * 2 * sizeof(float));
        const float* start = firstElement(buffer, positionKeys(0, 1, 1, 1, 2));
        for (const int length : {3, 1, 1, 17, 1}) {
            const auto keys = positionKeys(buffer.length(), length, 1, 1, 2);
            append(buffer, keys, keys);
            const KVView view = buffer.view();
            const auto offset = view.segments[0].keys.const_data_ptr<float>() - start;
            QCOMPARE(offset, (view.firstPosition() % 6) * 2);
        }
        QCOMPARE(buffer.allocatedBytes(), allocated);
        QCOMPARE(buffer.liveBytes(), 2U * 4 * 2 * sizeof(float));
    }

    // A chunk must see itself as a later chunk sees it, or chunked prefill would differ from one
    // shot.
    void stagedChunkIsRoundedAsStored_data()
    {
        QTest::addColumn<int>("length");
        QTest::newRow("one position") << 1;
        QTest::newRow("a chunk") << 3;
        QTest::newRow("longer than the ring") << 9;
    }
    void stagedChunkIsRoundedAsStored()
    {
        QFETCH(int, length);
        at::manual_seed(5);
        RingBuffer buffer({1, 2, 8}, 4, 0, at::kBFloat16);
        for (int step = 0; step < 3; ++step) {
            const auto keys = at::randn({1, 2, length, 8}), values = at::randn({1, 2, length, 8});
            const KVView view = buffer.stage(keys, values);
            const KVSegment& chunk = view.segments[view.numSegments - 1];
            QCOMPARE(chunk.keys.scalar_type(), at::kBFloat16);
            QVERIFY(at::equal(chunk.keys, keys.to(at::kBFloat16)));
            QVERIFY(at::equal(chunk.values, values.to(at::kBFloat16)));
            buffer.commit();
            const auto kept = std::min(length, 4);
            const auto stored = joinedKeys(buffer.view());
            QVERIFY(at::equal(stored.narrow(2, stored.size(2) - kept, kept),
                              keys.to(at::kBFloat16).narrow(2, length - kept, kept)));
        }
    }

    void stridedChunksAreStored()
    {
        at::manual_seed(9);
        for (const int length : {1, 3, 12}) {
            // As a fused projection gives them: [B, T, 2, Hkv, D].
            const auto fused = at::randn({2, length, 2, 3, 4});
            const auto keys = fused.select(2, 0).transpose(1, 2),
                       values = fused.select(2, 1).transpose(1, 2);
            RingBuffer buffer({2, 3, 4}, 5, 0, at::kFloat);
            append(buffer, keys, values);
            const auto kept = std::min(length, 5);
            QVERIFY(at::equal(joinedKeys(buffer.view()), keys.narrow(2, length - kept, kept)));
            QVERIFY(at::equal(joinedValues(buffer.view()), values.narrow(2, length - kept, kept)));
        }
    }

    void largeChunksAreStored()
    {
        at::manual_seed(11);
        RingBuffer buffer({1, 4, 96}, 300, 0, at::kFloat); // past what is copied by hand
        const auto keys = at::randn({1, 4, 290, 96}), more = at::randn({1, 4, 200, 96});
        append(buffer, keys, -keys);
        append(buffer, more, -more);
        const auto want = at::cat({keys, more}, 2).narrow(2, 190, 300);
        QVERIFY(at::equal(joinedKeys(buffer.view()), want));
        QVERIFY(at::equal(joinedValues(buffer.view()), -want));
    }

    void cutBackViewHoldsWhatIsLeft()
    {
        RingBuffer buffer({1, 1, 1}, 4, 2, at::kFloat);
        append(buffer, positionKeys(0, 20), positionKeys(0, 20));
        QVERIFY(!buffer.canTruncate(16));
        QVERIFY(buffer.canTruncate(17));
        buffer.truncate(17); // slots hold 14 to 16: all that a query at 17 sees before itself
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{14, 15, 16}));
        QCOMPARE(buffer.retained(), 3);
        append(buffer, positionKeys(17, 1), positionKeys(17, 1));
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{14, 15, 16, 17}));
        QVERIFY(!buffer.canTruncate(16));
    }

    void forkHasItsOwnMemory()
    {
        RingBuffer buffer({1, 1, 1}, 4, 1, at::kFloat);
        append(buffer, positionKeys(0, 9), positionKeys(0, 9));
        RingBuffer branch = buffer.fork(8);
        QCOMPARE(branch.length(), 8);
        append(branch, positionKeys(100, 2), positionKeys(100, 2));
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{5, 6, 7, 8}));
        QCOMPARE(positionsIn(joinedKeys(branch.view())), (QList<double>{6, 7, 100, 101}));
    }

    void forkStagesApart()
    {
        RingBuffer buffer({1, 1, 1}, 4, 0,
                          at::kBFloat16); // chunks are rounded into memory of the ring
        append(buffer, positionKeys(0, 1), positionKeys(0, 1));
        RingBuffer branch = buffer.fork(1);
        buffer.stage(positionKeys(1, 1), positionKeys(1, 1));
        branch.stage(positionKeys(9, 1), positionKeys(9, 1));
        buffer.commit();
        branch.commit();
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{0, 1}));
        QCOMPARE(positionsIn(joinedValues(buffer.view())), (QList<double>{0, 1}));
        QCOMPARE(positionsIn(joinedKeys(branch.view())), (QList<double>{0, 9}));
    }

    void resetForgetsEverything()
    {
        RingBuffer buffer({1, 1, 1}, 4, 0, at::kFloat);
        append(buffer, positionKeys(0, 9), positionKeys(0, 9));
        buffer.stage(positionKeys(9, 2), positionKeys(9, 2));
        buffer.reset();
        QCOMPARE(buffer.length(), 0);
        QCOMPARE(buffer.staged(), 0);
        QCOMPARE(buffer.view().numSegments, std::size_t(0));
        QCOMPARE(buffer.liveBytes(), 0U);
    }

    void impossibleRingsAreRefused()
    {
        QVERIFY_EXCEPTION_THROWN(RingBuffer({1, 1, 1}, 0, 0, at::kFloat), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(RingBuffer({1, 1, 1}, -3, 9, at::kFloat), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(RingBuffer({1, 1, 1}, 4, -1, at::kFloat), ArgumentError);
    }

    void chunksOfAnotherShapeAreRefused()
    {
        RingBuffer buffer({1, 2, 4}, 4, 0, at::kFloat);
        const auto good = at::randn({1, 2, 3, 4});
        for (const auto& sizes : std::vector<std::vector<std::int64_t>>{
                 {2, 2, 3, 4}, {1, 1, 3, 4}, {1, 2, 0, 4}, {1, 2, 3, 5}, {2, 3, 4}})
            QVERIFY_EXCEPTION_THROWN(buffer.stage(at::randn(sizes), at::randn(sizes)), c10::Error);
        QVERIFY_EXCEPTION_THROWN(buffer.stage(good, at::randn({1, 2, 2, 4})), c10::Error);
        const auto transposed = at::randn({1, 2, 4, 3}).transpose(2, 3);
        QVERIFY_EXCEPTION_THROWN(buffer.stage(transposed, good), c10::Error);
        QCOMPARE(buffer.staged(), 0);
    }

private:
    /// Appends one position to an empty ring; the address of slot 0.
    static const float* firstElement(RingBuffer& buffer, const at::Tensor& keys)
    {
        append(buffer, keys, keys);
        return buffer.view().segments[0].keys.const_data_ptr<float>();
    }
};

QTEST_GUILESS_MAIN(TestRingBuffer)
#include "tst_ring_buffer.moc"
