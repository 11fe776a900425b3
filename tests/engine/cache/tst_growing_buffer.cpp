#include "engine/base/errors.h"
#include "engine/cache/growing_buffer.h"
#include "engine/cache/growth_plan.h"
#include "tests/engine/cache/cache_test_data.h"
#include "tests/engine/cache/counting_allocator.h"
#include "tests/support/golden_json.h"

#include <ATen/Context.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/randn.h>
#include <c10/core/InferenceMode.h>

#include <QtTest>

#include <limits>
#include <new>
#include <random>

using namespace kvscope;

namespace {

constexpr std::int64_t kCap = 4'000'000;

void appendPositions(GrowingBuffer& buffer, std::int64_t length)
{
    static const at::Tensor kPositions = positionKeys(0, 70'000); // more than any test stores
    const auto keys = kPositions.narrow(2, buffer.length(), length);
    append(buffer, keys, keys);
}

} // namespace

class TestGrowingBuffer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Keys grow first: where the values then find no memory, heads are farther apart in the keys.
    void slotsAreRightWhereOneArrayGrewAlone()
    {
        const c10::InferenceMode guard;
        GrowingBuffer buffer({1, 2, 4}, kCap, at::kFloat);
        buffer.reserve(3);
        const at::Tensor keys = positionKeys(0, 3, 1, 2, 4);
        append(buffer, keys, -keys);
        {
            const CountingAllocator failing(2);
            QVERIFY_EXCEPTION_THROWN(buffer.makeRoom(1), std::bad_alloc);
        }
        buffer.truncate(2);
        buffer.makeRoom(1); // there is
        const KVSlots slots = buffer.slots();
        QCOMPARE(slots.capacity(), std::int64_t(3));
        QCOMPARE(slots.values.size(2), std::int64_t(3));
        QVERIFY(slots.keys.stride(1) > slots.values.stride(1));
        slots.keys.select(2, 2).fill_(7.0);
        slots.values.select(2, 2).fill_(-7.0);
        buffer.commitWritten();
        at::Tensor want = keys.clone();
        want.select(2, 2).fill_(7.0);
        QVERIFY(at::equal(joinedKeys(buffer.view()), want));
        QVERIFY(at::equal(joinedValues(buffer.view()), -want));
    }

    void capacitiesFollowTheReference_data()
    {
        QTest::addColumn<int>("firstLength");
        QTest::addColumn<int>("thenLength");
        QTest::addColumn<QString>("golden"); // pointer into cache.json
        QTest::newRow("one by one") << 1 << 1 << "/one_token_appends_from_empty";
        for (const int chunk : {3, 64, 512})
            QTest::addRow("chunks of %d", chunk)
                << chunk << chunk << QString("/chunks/%1").arg(chunk);
        for (const int first : {5, 37, 128, 1000, 4096})
            QTest::addRow("%d, then one by one", first)
                << first << 1 << QString("/first_write_then_single/%1").arg(first);
    }
    void capacitiesFollowTheReference()
    {
        QFETCH(int, firstLength);
        QFETCH(int, thenLength);
        QFETCH(QString, golden);
        const auto want = readGoldenJson("gptosslite/cache.json")
                              .at(nlohmann::json::json_pointer(golden.toStdString()));
        const auto finalLength = want["final_length"].get<std::int64_t>();
        GrowingBuffer buffer({1, 1, 1}, kCap, at::kFloat);
        auto got = nlohmann::json::array();
        while (buffer.length() < finalLength) {
            const auto before = buffer.capacity();
            appendPositions(buffer, buffer.length() == 0 ? firstLength : thenLength);
            if (buffer.capacity() != before)
                got.push_back({{"length", buffer.length()}, {"capacity", buffer.capacity()}});
        }
        QCOMPARE(buffer.length(), finalLength);
        QCOMPARE(got.dump(), want["growth"].dump());
        const auto keys = joinedKeys(buffer.view());
        QVERIFY(at::equal(keys, positionKeys(0, finalLength)));
    }

    void capIsReachedExactlyAndNotPassed()
    {
        const auto golden = readGoldenJson("gptosslite/cache.json")["cap"]["small_cap"];
        const auto cap = golden["cap"].get<std::int64_t>();
        for (const auto* row : {"exact", "jump_past"}) {
            GrowingBuffer buffer({1, 1, 1}, cap, at::kFloat);
            std::int64_t length = 0;
            for (const auto& step : golden[row]["growth"]) {
                appendPositions(buffer, step["length"].get<std::int64_t>() - length);
                length = step["length"].get<std::int64_t>();
                QCOMPARE(buffer.capacity(), step["capacity"].get<std::int64_t>());
            }
            if (const auto& error = golden[row]["error"]; !error.is_null()) {
                const auto numTokens = error["append"].get<std::int64_t>();
                QVERIFY_EXCEPTION_THROWN(appendPositions(buffer, numTokens), MemoryError);
                QCOMPARE(buffer.capacity(), error["capacity_after"].get<std::int64_t>());
            }
            QCOMPARE(buffer.length(), golden[row]["final_length"].get<std::int64_t>());
        }
    }

    // The reference loses these tokens silently (single ones), or takes them all (the first write).
    void everyWayPastTheCapIsRefused()
    {
        GrowingBuffer full({1, 1, 1}, 10, at::kFloat);
        for (int i = 0; i < 10; ++i)
            appendPositions(full, 1);
        QCOMPARE(full.capacity(), 10);
        QVERIFY_EXCEPTION_THROWN(appendPositions(full, 1), MemoryError);
        QVERIFY(at::equal(joinedKeys(full.view()), positionKeys(0, 10)));

        GrowingBuffer empty({1, 1, 1}, 10, at::kFloat);
        QVERIFY_EXCEPTION_THROWN(appendPositions(empty, 15), MemoryError);
        QCOMPARE(empty.allocatedBytes(), 0U);
        QVERIFY(empty.growth().empty());
        QVERIFY_EXCEPTION_THROWN(empty.reserve(11), MemoryError);
        QVERIFY(passesCap(5, std::numeric_limits<std::int64_t>::max(), 10));
    }

    void messageHoldsTheNumbers()
    {
        try {
            requireBelowCap(3'999'999, 1'024, kCap);
            QFAIL("nothing thrown");
        } catch (const MemoryError& error) {
            for (const auto* number : {"3,999,999", "1,024", "4,000,000"})
                QVERIFY2(QString(error.what()).contains(number), error.what());
        }
    }

    // Property: whatever the chunking, the view is everything appended, and no capacity step is
    // missing from the events.
    void viewIsTheWholeHistory()
    {
        at::manual_seed(7);
        std::mt19937 random(7);
        for (int trial = 0; trial < 20; ++trial) {
            const std::int64_t batch = 1 + random() % 2, heads = 1 + random() % 3,
                               dim = 1 + random() % 5;
            GrowingBuffer buffer({batch, heads, dim}, kCap, at::kFloat);
            std::vector<at::Tensor> history;
            for (int step = 0; step < 12; ++step) {
                history.push_back(at::randn({batch, heads, std::int64_t(1 + random() % 9), dim}));
                append(buffer, history.back(), -history.back());
                const auto all = at::cat(history, 2);
                QVERIFY(at::equal(joinedKeys(buffer.view()), all));
                QVERIFY(at::equal(joinedValues(buffer.view()), -all));
                QCOMPARE(buffer.view().numSegments, std::size_t(1));
                QCOMPARE(buffer.growth().back().newCapacity, buffer.capacity());
                QCOMPARE(buffer.liveBytes(), std::uint64_t(2 * all.numel()) * sizeof(float));
            }
        }
    }

    void growthEventsSayWhatWasHeld()
    {
        GrowingBuffer buffer({1, 2, 4}, kCap, at::kFloat);
        for (const int length : {8, 1, 3, 1}) // capacities 8, 13
            append(buffer, positionKeys(0, length, 1, 2, 4), positionKeys(0, length, 1, 2, 4));
        QCOMPARE(buffer.growth().size(), std::size_t(2));
        QCOMPARE(buffer.growth()[0].atLength, 0);
        QCOMPARE(buffer.growth()[0].newCapacity, 8);
        QCOMPARE(buffer.growth()[1].atLength, 8);
        QCOMPARE(buffer.growth()[1].newCapacity, 13);
        QVERIFY(buffer.growth()[1].copySeconds >= 0.0);
        // Keys and values move one after the other, so one old array of 8 slots lay beside its
        // copy.
        QCOMPARE(buffer.peakGrowthBytes(), 1U * 2 * 8 * 4 * sizeof(float));
        QCOMPARE(buffer.allocatedBytes(), 2U * 2 * 13 * 4 * sizeof(float));
        buffer.reset();
        QVERIFY(buffer.growth().empty());
        QCOMPARE(buffer.peakGrowthBytes(), 0U);
        QCOMPARE(buffer.allocatedBytes(), 0U);
        QCOMPARE(buffer.view().numSegments, std::size_t(0));
    }

    void reserveStopsGrowth()
    {
        GrowingBuffer buffer({1, 1, 1}, kCap, at::kFloat);
        appendPositions(buffer, 3);
        buffer.reserve(500);
        QCOMPARE(buffer.capacity(), 500);
        const auto* start = buffer.view().segments[0].keys.const_data_ptr<float>();
        while (buffer.length() < 500)
            appendPositions(buffer, 1);
        QCOMPARE(buffer.view().segments[0].keys.const_data_ptr<float>(), start);
        QCOMPARE(buffer.growth().size(), std::size_t(2));
        QVERIFY(at::equal(joinedKeys(buffer.view()), positionKeys(0, 500)));
        buffer.reserve(10); // there is more already
        QCOMPARE(buffer.capacity(), 500);
    }

    void discardKeepsOnlyTheCapacity()
    {
        GrowingBuffer buffer({1, 1, 1}, kCap, at::kFloat);
        appendPositions(buffer, 3);
        const KVView staged = buffer.stage(positionKeys(70, 4), positionKeys(70, 4));
        QCOMPARE(positionsIn(joinedKeys(staged)), (QList<double>{0, 1, 2, 70, 71, 72, 73}));
        QCOMPARE(buffer.length(), 3);
        buffer.discard();
        buffer.commit(); // nothing staged
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{0, 1, 2}));
        QCOMPARE(buffer.capacity(), 7);
        appendPositions(buffer, 2);
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{0, 1, 2, 3, 4}));
    }

    void stagingAgainReplacesTheChunk()
    {
        GrowingBuffer buffer({1, 1, 1}, kCap, at::kFloat);
        appendPositions(buffer, 2);
        buffer.stage(positionKeys(70, 9), positionKeys(70, 9));
        appendPositions(buffer, 2);
        QCOMPARE(positionsIn(joinedKeys(buffer.view())), (QList<double>{0, 1, 2, 3}));
    }

    void chunksAreConvertedAndMayBeStrided()
    {
        at::manual_seed(9);
        for (const int length : {1, 3, 200}) {
            const auto fused = at::randn({2, length, 2, 3, 40}); // [B, T, 2, Hkv, D]
            const auto keys = fused.select(2, 0).transpose(1, 2),
                       values = fused.select(2, 1).transpose(1, 2);
            for (const auto dtype : {at::kFloat, at::kBFloat16, at::kHalf}) {
                GrowingBuffer buffer({2, 3, 40}, kCap, dtype);
                append(buffer, keys, values);
                append(buffer, values, keys);
                const auto want = at::cat({keys, values}, 2).to(dtype);
                QVERIFY(at::equal(joinedKeys(buffer.view()), want));
                QVERIFY(
                    at::equal(joinedValues(buffer.view()), at::cat({values, keys}, 2).to(dtype)));
            }
        }
    }

    // Small chunks are rounded by our own loop, large ones by ATen: the same bits.
    void roundingToBFloat16IsATens()
    {
        at::manual_seed(13);
        auto keys = at::randn({1, 1, 1, 1000}).mul(at::randn({1, 1, 1, 1000}).exp());
        const float special[] = {0.0f,
                                 -0.0f,
                                 1.00390625f, // half way, to even: down to 1
                                 1.01171875f, // half way, to even: up to 1.015625
                                 std::numeric_limits<float>::max(),
                                 std::numeric_limits<float>::infinity(),
                                 -std::numeric_limits<float>::infinity(),
                                 std::numeric_limits<float>::denorm_min()};
        for (std::int64_t i = 0; i < std::ssize(special); ++i)
            keys.select(3, i).fill_(special[i]);
        GrowingBuffer buffer({1, 1, 1000}, kCap, at::kBFloat16);
        append(buffer, keys, keys);
        QVERIFY(at::equal(joinedKeys(buffer.view()), keys.to(at::kBFloat16)));
        QVERIFY(at::equal(joinedKeys(buffer.view()).view(at::kShort),
                          keys.to(at::kBFloat16).view(at::kShort)));

        keys.fill_(std::numeric_limits<float>::quiet_NaN());
        append(buffer, keys, keys);
        QVERIFY(joinedKeys(buffer.view()).select(2, 1).isnan().all().item().toBool());
    }

    void forkHasItsOwnMemoryAndRoomForMore()
    {
        GrowingBuffer buffer({1, 1, 1}, kCap, at::kFloat);
        buffer.reserve(1000);
        appendPositions(buffer, 20);
        GrowingBuffer branch = buffer.fork(10);
        QCOMPARE(branch.length(), 10);
        QCOMPARE(branch.capacity(), 16); // floor(1.5 * 10) + 1
        append(branch, positionKeys(70, 1), positionKeys(70, 1));
        QCOMPARE(branch.growth().size(), std::size_t(1));
        QVERIFY(at::equal(joinedKeys(buffer.view()), positionKeys(0, 20)));
        QCOMPARE(positionsIn(joinedKeys(branch.view())).last(), 70.0);
        QCOMPARE(buffer.fork(0).allocatedBytes(), 0U);
        QCOMPARE(buffer.fork(0).length(), 0);
    }

    void forkTakesNoMoreThanThereIs()
    {
        GrowingBuffer buffer({1, 1, 1}, 12, at::kFloat);
        appendPositions(buffer, 12);
        QCOMPARE(buffer.fork(12).capacity(), 12);
        QVERIFY(at::equal(joinedKeys(buffer.fork(12).view()), positionKeys(0, 12)));
    }

    void chunksOfAnotherShapeChangeNothing()
    {
        GrowingBuffer buffer({1, 2, 4}, kCap, at::kFloat);
        QVERIFY_EXCEPTION_THROWN(buffer.stage(at::randn({1, 2, 3, 5}), at::randn({1, 2, 3, 5})),
                                 c10::Error);
        QVERIFY_EXCEPTION_THROWN(buffer.stage(at::randn({1, 2, 3, 4}), at::randn({1, 2, 2, 4})),
                                 c10::Error);
        QCOMPARE(buffer.capacity(), 0);
        QCOMPARE(buffer.staged(), 0);
    }
};

QTEST_GUILESS_MAIN(TestGrowingBuffer)
#include "tst_growing_buffer.moc"
