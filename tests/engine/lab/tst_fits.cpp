#include "engine/base/errors.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/fits.h"
#include "engine/lab/presets.h"

#include <QtTest>

#include <array>
#include <cmath>
#include <limits>
#include <vector>

using namespace kvscope;

namespace {

PrefillTiming timingOf(std::int64_t tokens, double seconds)
{
    const PrefillFlops flops = prefillFlops(presetConfig("Llama-3.2-1B"), tokens);
    return {flops.dense, flops.attention(), seconds};
}

double predictedSeconds(const ThroughputFit& fit, std::int64_t tokens)
{
    const PrefillFlops flops = prefillFlops(presetConfig("Llama-3.2-1B"), tokens);
    return fit.seconds(flops.dense, flops.attention());
}

/// The chapter's table of one-shot prefills, as it rounds them.
std::vector<PrefillTiming> chaptersRuns()
{
    return {timingOf(4096, 0.40), timingOf(8192, 0.92), timingOf(16384, 2.34)};
}

} // namespace

class TestFits : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void chaptersRunsGiveTheChaptersThroughputs()
    {
        const ThroughputFit fit = fitThroughputs(chaptersRuns());
        QVERIFY(fit.separates);
        QCOMPARE(QString::number(fit.densePerSecond / 1e12, 'f', 1), QString("30.0"));
        QCOMPARE(QString::number(fit.attentionPerSecond / 1e12, 'f', 1), QString("17.8"));
        const double predicted = predictedSeconds(fit, 32768);
        QCOMPARE(QString::number(predicted, 'f', 2), QString("6.65"));
        QCOMPARE(std::lround(1e3 * (predicted / 6.58 - 1.0)), 10L); // 1 %
    }

    // NumPy's lstsq on the same rows: tests/golden/lab/make_expected.py, "throughputs".
    void fitEqualsNumPy()
    {
        const ThroughputFit fit = fitThroughputs(chaptersRuns());
        QVERIFY(std::abs(fit.densePerSecond / 29970499632327.875 - 1.0) < 1e-9);
        QVERIFY(std::abs(fit.attentionPerSecond / 17833629275074.324 - 1.0) < 1e-9);
        const std::vector<PrefillTiming> others = {timingOf(1024, 0.093), timingOf(4096, 0.40),
                                                   timingOf(16384, 2.34)};
        QVERIFY(std::abs(fitThroughputs(others).attentionPerSecond / 19146112613252.01 - 1.0) <
                1e-9);
    }

    // The chapter: a throughput fitted on short prompts underestimates 32K by 18 %.
    void singleThroughputOfShortPromptsIsTooFast()
    {
        const std::vector<PrefillTiming> shortRuns = {timingOf(1024, 0.093), timingOf(4096, 0.40)};
        const ThroughputFit fit = fitSingleThroughput(shortRuns);
        QCOMPARE(std::lround(fit.densePerSecond / 1e12), 28L);
        const double error = predictedSeconds(fit, 32768) / 6.58 - 1.0;
        QVERIFY2(error < -0.15 && error > -0.20, qPrintable(QString::number(error)));
    }

    void exactRunsAreRecovered()
    {
        std::vector<PrefillTiming> runs;
        for (const double tokens : {100.0, 300.0, 1000.0}) {
            const double dense = 1e6 * tokens;
            const double attention = 50.0 * tokens * tokens;
            runs.push_back({dense, attention, dense / 4e9 + attention / 1e9});
        }
        const ThroughputFit fit = fitThroughputs(runs);
        QVERIFY(std::abs(fit.densePerSecond / 4e9 - 1.0) < 1e-9);
        QVERIFY(std::abs(fit.attentionPerSecond / 1e9 - 1.0) < 1e-9);
    }

    void runsThatDoNotTellThemApartShareOneThroughput()
    {
        const PrefillTiming run = timingOf(4096, 0.4);
        for (const auto& runs : {std::vector<PrefillTiming>{run},
                                 std::vector<PrefillTiming>{run, timingOf(4096, 0.42)}}) {
            const ThroughputFit fit = fitThroughputs(runs);
            QVERIFY(!fit.separates);
            QCOMPARE(fit.densePerSecond, fit.attentionPerSecond);
        }
        // Attention that seems to cost less than nothing
        const std::vector<PrefillTiming> odd = {timingOf(1024, 0.2), timingOf(16384, 0.5)};
        QVERIFY(!fitThroughputs(odd).separates);
    }

    // 1.47 ms for every thousand cached tokens. Source: the chapter's decode table.
    void decodeStepsGrowAsTheChapterSays()
    {
        const std::array<double, 6> cached = {1, 4, 8, 16, 32, 49};
        const std::array<double, 6> milliseconds = {14.7, 17.3, 23.0, 33.1, 56.6, 85.2};
        const LineFit line = fitLine(cached, milliseconds);
        QVERIFY(std::abs(line.slope - 1.47) < 0.015);
        QVERIFY(line.explained > 0.995);
        QCOMPARE(line.at(0.0), line.intercept);
    }

    void lineThroughPointsOfALineIsThatLine()
    {
        const std::array<double, 4> x = {-2, 0, 1, 7};
        std::array<double, 4> y{};
        for (std::size_t i = 0; i < x.size(); ++i)
            y[i] = 3.5 - 0.25 * x[i];
        const LineFit line = fitLine(x, y);
        QVERIFY(std::abs(line.slope + 0.25) < 1e-12);
        QVERIFY(std::abs(line.at(100.0) + 21.5) < 1e-9);
        QVERIFY(std::abs(line.explained - 1.0) < 1e-12);
        const std::array<double, 2> flat = {5.0, 5.0};
        QCOMPARE(fitLine(std::span(x).first(2), flat).explained, 1.0);
    }

    void badPointsAreRefused()
    {
        const std::array<double, 2> two = {1.0, 2.0};
        const std::array<double, 2> same = {1.0, 1.0};
        const std::array<double, 2> infinite = {1.0, std::numeric_limits<double>::infinity()};
        QVERIFY_EXCEPTION_THROWN(fitLine(std::span(two).first(1), std::span(two).first(1)),
                                 ArgumentError);
        QVERIFY_EXCEPTION_THROWN(fitLine(two, std::span(two).first(1)), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(fitLine(same, two), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(fitLine(two, infinite), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(fitThroughputs({}), ArgumentError);
        const std::vector<PrefillTiming> zero = {{1.0, 1.0, 0.0}};
        QVERIFY_EXCEPTION_THROWN(fitThroughputs(zero), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestFits)
#include "tst_fits.moc"
