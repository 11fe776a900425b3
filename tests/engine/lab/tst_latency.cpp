#include "engine/base/errors.h"
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

/// Llama-3.2-1B as far as its FLOPs go: 16 layers, width 2,048, 1.24e9 parameters.
std::vector<PrefillPoint> chaptersPoints()
{
    std::vector<PrefillPoint> points;
    for (const auto& [tokens, seconds] : {std::pair{4096.0, 0.40}, {8192.0, 0.92}, {16384.0, 2.34}})
        points.push_back({{2.0 * 1.236e9 * tokens, 2.0 * 16 * 2048 * tokens * tokens}, seconds});
    return points;
}

PrefillWork chaptersWork(double tokens)
{
    return {2.0 * 1.236e9 * tokens, 2.0 * 16 * 2048 * tokens * tokens};
}

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
    void theFitIsTheChapters()
    {
        const auto points = chaptersPoints();
        const TwoThroughputs fit = fitTwoThroughputs(points);
        QVERIFY(fit.separates);
        QVERIFY(std::abs(fit.densePerSecond / 30.0e12 - 1.0) < 0.01);
        QVERIFY(std::abs(fit.attentionPerSecond / 17.8e12 - 1.0) < 0.01);
        QVERIFY(std::abs(fit.seconds(chaptersWork(32768)) - 6.65) < 0.02);
        // One throughput underestimates the longest, as the chapter found.
        QVERIFY(fitOneThroughput(points).seconds(chaptersWork(32768)) < 6.2);
    }

    void anExactLawIsFound()
    {
        std::vector<PrefillPoint> points;
        for (const double tokens : {100.0, 200.0, 400.0}) {
            const PrefillWork work = chaptersWork(tokens);
            points.push_back({work, work.dense / 5e9 + work.attention / 2e9});
        }
        const TwoThroughputs fit = fitTwoThroughputs(points);
        QVERIFY(std::abs(fit.densePerSecond / 5e9 - 1.0) < 1e-5);
        QVERIFY(std::abs(fit.attentionPerSecond / 2e9 - 1.0) < 1e-3);
    }

    void oneThroughputStandsForBothWhereTheyCannotBeToldApart()
    {
        std::vector<PrefillPoint> same(2, {chaptersWork(100), 2.0});
        QVERIFY(!fitTwoThroughputs(same).separates);
        QVERIFY(std::abs(fitTwoThroughputs(same).seconds(chaptersWork(100)) - 2.0) < 1e-9);
        // Longer prompts that take less than their share would make attention cost less than none.
        std::vector<PrefillPoint> odd = {{chaptersWork(10'000), 1.0}, {chaptersWork(40'000), 3.0}};
        const TwoThroughputs fit = fitTwoThroughputs(odd);
        QVERIFY(!fit.separates && fit.densePerSecond == fit.attentionPerSecond);
    }

    void workByHand()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const ModelConfig& config = decoder->config();
        const double width = double(config.numHeads * config.headDim);
        const std::int64_t window = config.layers[0].window;
        const double global = 2.0 * double(config.numLayers(LayerKind::Global)) * width * 1e6;
        const double windowed =
            4.0 * double(config.numLayers(LayerKind::Windowed)) * width * double(window) * 1e3;
        QCOMPARE(prefillWork(config, 1000).attention, global + windowed);
        QCOMPARE(prefillWork(config, 1000).dense, 2.0 * 304720.0 * 1000.0); // active, tied head
        QCOMPARE(prefillWork(config, 1).attention, 2.0 * double(config.numLayers()) * width);
    }

    void windowedLayersAreReadUpToTheirWindow()
    {
        ModelConfig config;
        config.numKvHeads = 2;
        config.headDim = 8;
        config.layers.resize(3);
        config.layers[0].kind = LayerKind::Windowed;
        config.layers[0].window = 10;
        QCOMPARE(cacheBytesRead(config, 4, 2), std::uint64_t{3 * 4 * 64});
        QCOMPARE(cacheBytesRead(config, 100, 2), std::uint64_t{(10 + 100 + 100) * 64});
        QCOMPARE(cacheBytesRead(config, 100, 4), std::uint64_t{(10 + 100 + 100) * 128});
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
            const PrefillWork work = prefillWork(config, tokens);
            rows.push_back(rowOf(tokens, 64, {{work.dense / 1e9 + work.attention / 3e8, 0.0}}));
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

    void slopesByHand()
    {
        const std::vector<double> x = {1, 2, 4};
        const std::vector<double> y = {5, 8, 14};
        QVERIFY(std::abs(slopeOf(x, y) - 3.0) < 1e-12);
        QCOMPARE(slopeOf({}, {}), 0.0);
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
