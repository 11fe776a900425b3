#include "engine/base/errors.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/decode_steps.h"
#include "engine/lab/latency.h"
#include "engine/lab/latency_fit.h"
#include "engine/lab/latency_load.h"
#include "tests/support/models.h"

#include <QtTest>

#include <atomic>
#include <cmath>
#include <thread>

using namespace kvscope;

namespace {

FirstTokenRow rowOf(std::int64_t tokens, std::int64_t chunkTokens, std::vector<TimedRun> runs)
{
    FirstTokenRow row;
    row.tokens = tokens;
    row.chunkTokens = chunkTokens;
    row.runs = std::move(runs);
    return summedUp(std::move(row));
}

LatencyOptions quick()
{
    LatencyOptions options;
    options.lengths = {48, 12, 24, 12};
    options.chunkTokens = 16;
    options.repeats = 2;
    options.decodeSteps = 4;
    options.bandwidthBytes = 1 << 22;
    return options;
}

} // namespace

class TestLatency : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void workByHand()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const ModelConfig& config = decoder->config();
        const double width = double(config.numHeads * config.headDim);
        const std::int64_t window = config.layers[0].window;
        const double global = 2.0 * double(config.numLayers(LayerKind::Global)) * width * 1e6;
        const double windowed =
            4.0 * double(config.numLayers(LayerKind::Windowed)) * width * double(window) * 1e3;
        QCOMPARE(prefillFlops(config, 1000).attention(), global + windowed);
        QCOMPARE(prefillFlops(config, 1000).dense, 2.0 * 304720.0 * 1000.0); // active, tied head
        QCOMPARE(prefillFlops(config, 1).attention(), 2.0 * double(config.numLayers()) * width);
    }

    void disturbedRunsAreLeftOut()
    {
        const TimedRun calm{2.0, 0.01};
        const TimedRun slow{3.0, 0.0};
        const TimedRun disturbed{1.0, 0.5};
        const FirstTokenRow row = rowOf(8, 0, {disturbed, slow, calm});
        QCOMPARE(row.bestSeconds, 2.0);
        QVERIFY(!row.isDisturbed);
        const FirstTokenRow all = rowOf(8, 0, {disturbed, {4.0, 0.2}});
        QCOMPARE(all.bestSeconds, 1.0);
        QVERIFY(all.isDisturbed);
        const DecodeStepRow steps = decodeRow(5, {disturbed, calm, slow, {2.5, 0.0}, disturbed});
        QCOMPARE(steps.medianSeconds, 2.5);
        QCOMPARE(steps.numDisturbed, 2);
        QCOMPARE(decodeRow(5, {calm, slow}).medianSeconds, 2.5);
        const DecodeStepRow none = decodeRow(5, {disturbed, disturbed});
        QVERIFY(none.isDisturbed());
        QCOMPARE(none.medianSeconds, 1.0);
    }

    // More threads than processors must wait for each other, whoever else is there.
    void waitingForAProcessorIsSeen()
    {
        const int processors = static_cast<int>(std::thread::hardware_concurrency());
        std::atomic<bool> isOver{false};
        std::vector<std::thread> threads;
        for (int i = 0; i < 4 * processors; ++i)
            threads.emplace_back([&] {
                while (!isOver)
                    ;
            });
        const LoadWatch watch;
        std::this_thread::sleep_for(std::chrono::milliseconds(300));
        const double share = watch.waitShare(4 * processors);
        QVERIFY(watch.seconds() >= 0.3);
        isOver = true;
        for (std::thread& thread : threads)
            thread.join();
        QVERIFY2(share > kDisturbedShare && share <= 1.0, qPrintable(QString::number(share)));
    }

    void theLongestLengthIsHeldOut()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const ModelConfig& config = decoder->config();
        std::vector<FirstTokenRow> rows;
        for (const std::int64_t tokens : {400, 100, 200}) {
            const PrefillFlops flops = prefillFlops(config, tokens);
            rows.push_back(rowOf(tokens, 64, {{flops.dense / 1e9 + flops.attention() / 3e8, 0.0}}));
        }
        rows.push_back(rowOf(800, 64, {})); // skipped
        rows.push_back(rowOf(1600, 0, {{1.0, 0.0}}));
        const auto fit = heldOutFit(config, rows, 64);
        QVERIFY(fit.has_value());
        QCOMPARE(fit->heldOutTokens, 400);
        QCOMPARE(fit->fittedTokens, (std::vector<std::int64_t>{100, 200}));
        QCOMPARE(fit->degreesOfFreedom(), 0);
        QVERIFY(std::abs(fit->error()) < 1e-6);
        QVERIFY(fit->singleError() < 0.0);
        QVERIFY(!heldOutFit(config, rows, 0)); // one length cannot
    }

    void disturbedLengthsAreLeftOutOfTheFit()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const ModelConfig& config = decoder->config();
        std::vector<FirstTokenRow> rows;
        for (const std::int64_t tokens : {100, 200, 400, 800}) {
            const PrefillFlops flops = prefillFlops(config, tokens);
            const double seconds = flops.dense / 1e9 + flops.attention() / 3e8;
            rows.push_back(
                rowOf(tokens, 64,
                      {tokens == 200 ? TimedRun{9.0 * seconds, 0.4} : TimedRun{seconds, 0.0}}));
        }
        const auto fit = heldOutFit(config, rows, 64);
        QCOMPARE(fit->fittedTokens, (std::vector<std::int64_t>{100, 400}));
        QVERIFY(std::abs(fit->error()) < 1e-6 && !fit->isDisturbed);
        rows.pop_back(); // two undisturbed ones make no fit
        QVERIFY(heldOutFit(config, rows, 64)->isDisturbed);
    }

    void slopesTakeTwoUndisturbedLengths()
    {
        const TimedRun disturbed{5.0, 0.5};
        LatencyReport report;
        report.bandwidthBytesPerSecond = 1e9;
        report.decode = {decodeRow(1000, {{0.010, 0.0}}), decodeRow(2000, {disturbed}),
                         decodeRow(3000, {{0.014, 0.0}})};
        for (DecodeStepRow& row : report.decode)
            row.floorSeconds = 1e-6 * double(row.cachedTokens);
        sumUpSlopes(report);
        QVERIFY(std::abs(*report.stepSecondsPer1000 - 0.002) < 1e-12);
        QVERIFY(std::abs(*report.floorSecondsPer1000 - 0.001) < 1e-12);
        report.decode.pop_back();
        sumUpSlopes(report);
        QVERIFY(!report.stepSecondsPer1000 && !report.floorSecondsPer1000);
    }

    void aBandwidthMeasuredUnderLoadIsTriedAgainThenMarked()
    {
        int tries = 0;
        const auto calmAt = [&tries](int calm) {
            tries = 0;
            return bandwidthOf([&tries, calm] {
                ++tries;
                return TimedBandwidth{double(tries), tries == calm ? 0.0 : 0.3};
            });
        };
        QVERIFY(!calmAt(1).isDisturbed);
        QCOMPARE(tries, 1);
        QCOMPARE(calmAt(2).bytesPerSecond, 2.0);
        const MeasuredBandwidth never = calmAt(0);
        QVERIFY(never.isDisturbed);
        QCOMPARE(never.bytesPerSecond, 3.0);
        QCOMPARE(tries, 3);
    }

    void aRunMeasuresEveryLengthBothWays_data()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("rings and growing arrays") << "gptosslite/tiny_a";
        QTest::newRow("growing arrays only") << "hf/llama";
    }
    void aRunMeasuresEveryLengthBothWays()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        int prefills = 0;
        std::vector<double> estimates;
        LatencyObserver observer;
        observer.prefilled = [&](std::int64_t, std::int64_t, const TimedRun& run) {
            ++prefills;
            QVERIFY(run.seconds > 0.0 && run.waitShare >= 0.0 && run.waitShare <= 1.0);
        };
        observer.estimated = [&](double seconds) { estimates.push_back(seconds); };
        const LatencyReport report = measureLatency(*decoder, quick(), observer, {});
        QCOMPARE(prefills, 2 * 5); // 12 needs no chunks; 24 and 48 run both ways
        QCOMPARE(report.firstToken.size(), std::size_t{5});
        QCOMPARE(report.firstToken[0].tokens, 12);
        QCOMPARE(report.firstToken[2].chunkTokens, 16);
        QCOMPARE(report.decode.size(), std::size_t{3});
        for (const DecodeStepRow& row : report.decode) {
            QCOMPARE(row.numSteps, 4);
            QCOMPARE(row.weightBytes, decoder->activeWeightBytes());
            QVERIFY(row.bestSeconds <= row.medianSeconds && row.floorSeconds > 0.0);
        }
        QCOMPARE(report.decode[2].cachedTokens, 48);
        QCOMPARE(report.fits.size(), std::size_t{1}); // two chunked lengths are too few
        QVERIFY(report.fits[0].predictedSeconds > 0.0);
        QCOMPARE(estimates.size(), std::size_t{3});
        QVERIFY(estimates[0] > 0.0);
        QCOMPARE(estimates[2], 0.0);
    }

    // An observer answers a chat, or waits while the run is paused: that is no pace of the runs.
    void timeLeftKnowsNothingOfPauses()
    {
        const auto decoder = goldenDecoder("hf/llama");
        std::vector<double> estimates;
        LatencyObserver observer;
        observer.prefilled = [](std::int64_t, std::int64_t, const TimedRun&) {
            std::this_thread::sleep_for(std::chrono::milliseconds(250));
        };
        observer.estimated = [&](double seconds) { estimates.push_back(seconds); };
        measureLatency(*decoder, quick(), observer, {});
        // Two pauses before the first estimate, six times the FLOPs to come.
        QVERIFY2(estimates.at(0) < 1.5, qPrintable(QString::number(estimates.at(0))));
    }

    void whatDoesNotFitIsSkippedWithTheNumbers()
    {
        const auto decoder = goldenDecoder("hf/llama");
        LatencyOptions options = quick();
        options.lengths = {8, std::int64_t{1} << 38};
        const LatencyReport report = measureLatency(*decoder, options, {}, {});
        QVERIFY(!report.firstToken[0].isSkipped());
        for (std::size_t i = 1; i < report.firstToken.size(); ++i) {
            QVERIFY(report.firstToken[i].isSkipped());
            QVERIFY(QString::fromStdString(report.firstToken[i].skipReason).contains("free"));
        }
        QCOMPARE(report.decode.size(), std::size_t{1});
    }

    void lengthsBeyondTheLimitAreSkippedAndBeyondTheTrainingMarked()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const std::int64_t trained = decoder->config().trainedPositions;
        LatencyOptions options = quick();
        options.chunkTokens = 0;
        options.repeats = 1;
        options.lengths = {16, trained + 1, trained + 9};
        options.contextLimit = trained + 1;
        const LatencyReport report = measureLatency(*decoder, options, {}, {});
        QVERIFY(!report.firstToken[0].isBeyondTrained && !report.firstToken[0].isSkipped());
        QVERIFY(report.firstToken[1].isBeyondTrained && !report.firstToken[1].isSkipped());
        QVERIFY(report.firstToken[2].isSkipped());
        QVERIFY(QString::fromStdString(report.firstToken[2].skipReason).contains("may be used"));
    }

    void aStopEndsIt()
    {
        const auto decoder = goldenDecoder("hf/llama");
        std::stop_source source;
        LatencyObserver observer;
        observer.rowDone = [&](const FirstTokenRow&) { source.request_stop(); };
        QVERIFY_EXCEPTION_THROWN(measureLatency(*decoder, quick(), observer, source.get_token()),
                                 Stopped);
    }

    void refusesWhatIsNotPositive()
    {
        const auto decoder = goldenDecoder("hf/llama");
        LatencyOptions options = quick();
        options.lengths = {};
        QVERIFY_EXCEPTION_THROWN(measureLatency(*decoder, options, {}, {}), ArgumentError);
        options.lengths = {16, 0};
        QVERIFY_EXCEPTION_THROWN(measureLatency(*decoder, options, {}, {}), ArgumentError);
        options = quick();
        options.repeats = 0;
        QVERIFY_EXCEPTION_THROWN(measureLatency(*decoder, options, {}, {}), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestLatency)
#include "tst_latency.moc"
