#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/lab/memory_costs.h"
#include "engine/lab/peak_memory.h"
#include "tests/support/models.h"
#include "tests/support/peak_allocator.h"

#include <QtTest>

#include <cmath>
#include <cstring>
#include <vector>

using namespace kvscope;

namespace {

PeakRow rowOf(PrefillWay way, std::int64_t tokens, std::uint64_t cache, std::uint64_t measured)
{
    PeakRow row;
    row.way = way;
    row.tokens = tokens;
    row.cacheBytes = cache;
    row.measuredBytes = measured;
    return row;
}

} // namespace

class TestPeakMemory : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void eachPeakIsItsOwn()
    {
        if (!resetPeakMemory())
            QSKIP("this system does not let a process reset its peak memory");
        constexpr std::size_t kLarge = std::size_t{96} << 20;
        const std::uint64_t before = readProcessMemory().resident;
        {
            std::vector<char> large(kLarge);
            std::memset(large.data(), 1, large.size());
            const volatile char* last = &large.back(); // or it would all be left out
            QCOMPARE(*last, char{1});
        }
        // The kernel counts resident pages in batches, so some are not told yet.
        constexpr std::size_t kUntold = std::size_t{4} << 20;
        const std::uint64_t peak = readProcessMemory().peakResident;
        QVERIFY2(peak >= before + kLarge - kUntold,
                 qPrintable(QString("%1 %2").arg(before).arg(peak)));
        QVERIFY(resetPeakMemory());
        QVERIFY(readProcessMemory().peakResident < before + kLarge / 2);
    }

    void everyLengthIsRunEveryWay()
    {
        const auto decoder = goldenDecoder("hf/llama");
        PeakOptions options;
        options.lengths = {96, 24, 48};
        options.chunkTokens = 16;
        options.mostScoresTokens = 48;
        std::size_t told = 0;
        const PeakReport report =
            measurePeaks(*decoder, options, [&](const PeakRow&) { ++told; }, {});
        QCOMPARE(report.rows.size(), std::size_t{3 * 4});
        QCOMPARE(told, report.rows.size());
        QCOMPARE(report.rows.front().tokens, 24);
        for (const PeakRow& row : report.rows) {
            QCOMPARE(row.isSkipped(), row.way == PrefillWay::Scores && row.tokens == 96);
            QVERIFY(row.predictedBytes > row.cacheBytes);
        }
        QVERIFY(report.residentBytes > 0 && report.freeBytes > 0);
    }

    // 20 MiB of logits are far above the noise of a page here and there.
    void keptLogitsShowInTheirPeak()
    {
        const auto decoder = goldenDecoder("hf/llama");
        PeakOptions options;
        options.lengths = {16384};
        options.ways = {PrefillWay::Chunked, PrefillWay::AllLogits};
        options.chunkTokens = 256;
        const PeakReport report = measurePeaks(*decoder, options, {}, {});
        const double more =
            double(report.rows[1].measuredBytes) - double(report.rows[0].measuredBytes);
        const double logits = double(allLogitsBytes(decoder->config(), 16384, 4));
        QVERIFY2(more > 0.7 * logits && more < 1.4 * logits,
                 qPrintable(QString("%1 of %2").arg(more).arg(logits)));
    }

    // Tensors alone, to the byte: what the process holds beside them depends on the C library.
    void chunksTakeTheSameBesideTheCacheWhateverTheLength()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const auto besideCache = [&](std::int64_t tokens) {
            PeakOptions options;
            options.lengths = {tokens};
            options.ways = {PrefillWay::Chunked};
            options.chunkTokens = 128;
            const PeakAllocator allocator;
            const PeakReport report = measurePeaks(*decoder, options, {}, {});
            return allocator.peakBytes() - std::int64_t(report.rows[0].cacheBytes);
        };
        const std::int64_t shorter = besideCache(512);
        QVERIFY(shorter > 0);
        for (const std::int64_t tokens : {1024, 2048, 4096}) {
            const std::int64_t longer = besideCache(tokens);
            QVERIFY2(
                std::abs(longer - shorter) <= shorter / 50,
                qPrintable(QString("%1 at 512, %2 at %3").arg(shorter).arg(longer).arg(tokens)));
        }
    }

    // Tensors alone again: each doubling adds twice what the one before added.
    void oneShotGrowsLinearlyBesideTheCache()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const auto besideCache = [&](std::int64_t tokens) {
            PeakOptions options;
            options.lengths = {tokens};
            options.ways = {PrefillWay::OneShot};
            const PeakAllocator allocator;
            const PeakReport report = measurePeaks(*decoder, options, {}, {});
            return double(allocator.peakBytes()) - double(report.rows[0].cacheBytes);
        };
        const double first = besideCache(2048) - besideCache(1024);
        const double second = besideCache(4096) - besideCache(2048);
        QVERIFY(first > 0.0);
        QVERIFY2(std::abs(second / first - 2.0) < 0.1,
                 qPrintable(QString("%1, then %2 bytes more").arg(first).arg(second)));
    }

    void growthBesideTheCacheByHand()
    {
        PeakReport report;
        report.rows = {
            rowOf(PrefillWay::OneShot, 1000, 100, 1100), rowOf(PrefillWay::Chunked, 1000, 100, 600),
            rowOf(PrefillWay::OneShot, 2000, 200, 2200), rowOf(PrefillWay::Chunked, 2000, 200, 700),
            rowOf(PrefillWay::Scores, 1000, 100, 5000)};
        PeakRow skipped = rowOf(PrefillWay::OneShot, 9000, 900, 0);
        skipped.skipReason = "needs about 3 GiB, 1 GiB are free";
        report.rows.push_back(skipped);
        sumUpGrowth(report);
        QCOMPARE(report.growth.size(), std::size_t{2}); // scores have one length
        QVERIFY(report.growth[0].way == PrefillWay::Chunked);
        QVERIFY(std::abs(report.growth[0].bytesPerToken) < 1e-9);
        QVERIFY(std::abs(report.growth[1].bytesPerToken - 1.0) < 1e-9);
    }

    void predictionsByHand()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const ModelConfig& config = decoder->config();
        const auto one = predictedPeak(*decoder, PrefillWay::OneShot, 100, 16);
        const auto scores = predictedPeak(*decoder, PrefillWay::Scores, 100, 16);
        QCOMPARE(scores - one, static_cast<std::uint64_t>(2 * config.numHeads * 100 * 100 * 4));
        const auto chunked = predictedPeak(*decoder, PrefillWay::Chunked, 100, 16);
        // No array twice; activations, and as much again of freed ones that are kept.
        QCOMPARE(chunked, kvBytes(config, 100, 4).total() + 2 * activationBytes(config, 16));
        const auto logits = predictedPeak(*decoder, PrefillWay::AllLogits, 100, 16);
        QCOMPARE(logits - chunked, static_cast<std::uint64_t>(config.vocabularySize * 100 * 4));
    }

    void whatDoesNotFitIsSkippedWithTheNumbers()
    {
        const auto decoder = goldenDecoder("hf/llama");
        PeakOptions options;
        options.lengths = {8, std::int64_t{1} << 36};
        options.ways = {PrefillWay::Chunked, PrefillWay::OneShot};
        const PeakReport report = measurePeaks(*decoder, options, {}, {});
        QVERIFY(!report.rows[0].isSkipped() && !report.rows[1].isSkipped());
        QVERIFY(QString::fromStdString(report.rows[2].skipReason).contains("are free"));
        QVERIFY(report.rows[3].isSkipped());
    }

    void badNumbersAreRefusedAndAStopEndsIt()
    {
        const auto decoder = goldenDecoder("hf/llama");
        PeakOptions options;
        QVERIFY_EXCEPTION_THROWN(measurePeaks(*decoder, options, {}, {}), ArgumentError);
        options.lengths = {8, 0};
        QVERIFY_EXCEPTION_THROWN(measurePeaks(*decoder, options, {}, {}), ArgumentError);
        options.lengths = {8};
        options.chunkTokens = 0;
        QVERIFY_EXCEPTION_THROWN(measurePeaks(*decoder, options, {}, {}), ArgumentError);
        options.chunkTokens = 4;
        std::stop_source source;
        source.request_stop();
        QVERIFY_EXCEPTION_THROWN(measurePeaks(*decoder, options, {}, source.get_token()), Stopped);
    }
};

QTEST_GUILESS_MAIN(TestPeakMemory)
#include "tst_peak_memory.moc"
