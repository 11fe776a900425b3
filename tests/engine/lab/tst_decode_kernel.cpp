#include "engine/base/errors.h"
#include "engine/lab/decode_kernel.h"
#include "engine/lab/decode_steps.h"
#include "tests/support/models.h"

#include <QtTest>

#include <cmath>

using namespace kvscope;

namespace {

DecodeKernelOptions quick()
{
    DecodeKernelOptions options;
    options.cachedLengths = {64, 16};
    options.batches = {1, 3};
    options.parts = 3;
    options.repeats = 2;
    options.steps = 2;
    options.bandwidthBytes = 1 << 22;
    return options;
}

DecodeKernelRow kernelRow(std::int64_t cached, double seconds)
{
    DecodeKernelRow row;
    row.cachedTokens = cached;
    row.isDecodersWay = true;
    row.numRuns = 3;
    row.medianSeconds = seconds;
    row.floorSeconds = seconds / 2.0;
    return row;
}

DecodeStepRow stepRow(std::int64_t cached, double seconds)
{
    DecodeStepRow row;
    row.cachedTokens = cached;
    row.numSteps = 3;
    row.medianSeconds = seconds;
    return row;
}

} // namespace

class TestDecodeKernel : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void everyLayerKindLengthBatchAndWayHasItsRow()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const ModelConfig& config = decoder->config();
        const std::int64_t window = config.layers[0].window;
        const DecodeKernelReport report = measureDecodeKernel(*decoder, quick(), {}, {});
        QVERIFY(report.bandwidthBytesPerSecond > 0.0);
        std::int64_t numWindowed = 0;
        std::int64_t numPlain = 0;
        for (const DecodeKernelRow& row : report.rows) {
            QVERIFY(row.bestSeconds > 0.0 && row.bestSeconds <= row.medianSeconds);
            const std::int64_t keys =
                row.window > 0 ? std::min(window, row.cachedTokens) : row.cachedTokens;
            const auto perKey = config.cacheBytesPerToken(cacheNumbersOf(report.cacheDtype));
            QCOMPARE(row.bytes, static_cast<std::uint64_t>(row.batch * keys * perKey));
            numWindowed += row.window > 0 ? 1 : 0;
            numPlain += row.parts == 1 ? 1 : 0;
        }
        QCOMPARE(numPlain, 2 * 2 * 2); // kinds, lengths, batches
        QVERIFY(numWindowed >= 2 * 2 * 2);
        QCOMPARE(report.steps.size(), std::size_t{2});
        QCOMPARE(report.steps[0].cachedTokens, 16); // rising
        QCOMPARE(report.steps[1].cachedTokens, 64);
    }

    void modelsWithoutWindowsHaveGlobalRowsAlone()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const DecodeKernelReport report = measureDecodeKernel(*decoder, quick(), {}, {});
        QCOMPARE(report.numGlobalLayers, decoder->config().numLayers());
        for (const DecodeKernelRow& row : report.rows)
            QCOMPARE(row.window, 0);
    }

    // 4 layers; a step grows 10 ms per thousand tokens, a kernel 2.
    void theKernelsShareOfAStepsGrowthByHand()
    {
        DecodeKernelReport report;
        report.numGlobalLayers = 4;
        report.rows = {kernelRow(1000, 0.003), kernelRow(3000, 0.007)};
        report.steps = {stepRow(1000, 0.030), stepRow(3000, 0.050)};
        sumUpSlopes(report);
        QVERIFY(std::abs(*report.stepSecondsPer1000 - 0.010) < 1e-12);
        QVERIFY(std::abs(*report.kernelSecondsPer1000 - 0.008) < 1e-12);
        QVERIFY(std::abs(*report.floorSecondsPer1000 - 0.004) < 1e-12);
        QVERIFY(std::abs(*report.kernelShareOfGrowth() - 0.8) < 1e-12);
    }

    void disturbedSkippedAndOtherRowsStayOutOfTheSlopes()
    {
        DecodeKernelReport report;
        report.numGlobalLayers = 1;
        DecodeKernelRow batch = kernelRow(5000, 9.0);
        batch.batch = 4;
        DecodeKernelRow windowed = kernelRow(5000, 9.0);
        windowed.window = 128;
        DecodeKernelRow disturbed = kernelRow(5000, 9.0);
        disturbed.numDisturbed = disturbed.numRuns;
        DecodeKernelRow skipped = kernelRow(5000, 9.0);
        skipped.skipReason = "needs 3 GiB, 1 GiB are free";
        DecodeKernelRow otherWay = kernelRow(5000, 9.0);
        otherWay.isDecodersWay = false;
        report.rows = {kernelRow(1000, 0.001), batch, windowed, disturbed, skipped, otherWay,
                       kernelRow(2000, 0.002)};
        report.steps = {stepRow(1000, 0.01)};
        sumUpSlopes(report);
        QVERIFY(std::abs(*report.kernelSecondsPer1000 - 0.001) < 1e-12);
        QVERIFY(!report.stepSecondsPer1000); // one length makes no line
        QVERIFY(!report.kernelShareOfGrowth());
    }

    void aStopEndsItAndBadNumbersAreRefused()
    {
        const auto decoder = goldenDecoder("hf/llama");
        std::stop_source source;
        DecodeKernelObserver observer;
        observer.rowDone = [&](const DecodeKernelRow&) { source.request_stop(); };
        QVERIFY_EXCEPTION_THROWN(
            measureDecodeKernel(*decoder, quick(), observer, source.get_token()), Stopped);
        for (const auto& [cached, batch] :
             {std::pair<std::int64_t, std::int64_t>{0, 1}, {8, 0}, {8, 5000}, {8, -1}}) {
            DecodeKernelOptions options = quick();
            options.cachedLengths = {cached};
            options.batches = {batch};
            QVERIFY_EXCEPTION_THROWN(measureDecodeKernel(*decoder, options, {}, {}), ArgumentError);
        }
        DecodeKernelOptions options = quick();
        options.cachedLengths.clear();
        QVERIFY_EXCEPTION_THROWN(measureDecodeKernel(*decoder, options, {}, {}), ArgumentError);
    }

    void lengthsBeyondMemoryAreSkippedWithTheNumbers()
    {
        const auto decoder = goldenDecoder("hf/llama");
        DecodeKernelOptions options = quick();
        options.cachedLengths = {16, std::int64_t{1} << 36};
        options.batches = {1};
        const DecodeKernelReport report = measureDecodeKernel(*decoder, options, {}, {});
        QVERIFY(report.rows.front().skipReason.empty());
        QVERIFY(QString::fromStdString(report.rows.back().skipReason).contains("are free"));
        QCOMPARE(report.steps.size(), std::size_t{1});
    }
};

QTEST_GUILESS_MAIN(TestDecodeKernel)
#include "tst_decode_kernel.moc"
