#include "engine/base/errors.h"
#include "engine/lab/positions.h"
#include "engine/lab/use.h"
#include "tests/support/models.h"

#include <QtTest>

#include <cmath>
#include <random>

using namespace kvscope;

namespace {

std::vector<TokenId> randomIds(std::int64_t count, std::int64_t vocabulary)
{
    std::mt19937_64 random(5);
    std::vector<TokenId> ids(static_cast<std::size_t>(count));
    for (TokenId& id : ids)
        id = static_cast<TokenId>(random() % static_cast<std::uint64_t>(vocabulary));
    return ids;
}

} // namespace

class TestUse : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void theFirstSegmentDiffersByExactlyNothing_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("chunk");
        for (const char* model : {"gptosslite/tiny_a", "hf/llama"})
            for (const int chunk : {0, 1, 5, 512})
                QTest::addRow("%s, chunks of %d", model, chunk) << model << chunk;
    }
    void theFirstSegmentDiffersByExactlyNothing()
    {
        QFETCH(QString, model);
        QFETCH(int, chunk);
        const auto decoder = goldenDecoder(model.toStdString());
        UseOptions options;
        options.numSegments = 3;
        options.chunkTokens = chunk;
        const auto report =
            measureUse(*decoder, randomIds(50, decoder->config().vocabularySize), options, {}, {});
        QCOMPARE(report.tokens, 48); // two do not fill a segment
        QCOMPARE(report.segmentTokens, 16);
        QCOMPARE(report.segments[0].largestDifference, 0.0);
        QVERIFY(report.firstSegmentAgrees());
        QVERIFY(report.segments[1].largestDifference > 0.0);
    }

    // Against the losses of `positions`, which the reference's logits stand behind.
    void bothLossesAreOfTheSameTargets()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const auto ids = randomIds(42, decoder->config().vocabularySize);
        UseOptions options;
        options.numSegments = 3; // of 14: targets 7 to 13, 21 to 27, 35 to 41
        const auto report = measureUse(*decoder, ids, options, {}, {});
        const auto whole = measurePositions(*decoder, ids, {}, {}, {}).nll;
        for (std::size_t segment = 0; segment < 3; ++segment) {
            const std::vector<TokenId> own(ids.begin() + 14 * static_cast<int>(segment),
                                           ids.begin() + 14 * static_cast<int>(segment) + 14);
            const auto alone = measurePositions(*decoder, own, {}, {}, {}).nll;
            double wholeSum = 0.0;
            double aloneSum = 0.0;
            for (std::size_t target = 7; target < 14; ++target) {
                wholeSum += whole[14 * segment + target - 1];
                aloneSum += alone[target - 1];
            }
            const UseSegment& got = report.segments[segment];
            QCOMPARE(got.firstTarget, static_cast<std::int64_t>(14 * segment + 7));
            QCOMPARE(got.numTargets, 7);
            QVERIFY(std::abs(got.whole.mean - wholeSum / 7) < 1e-4);
            QVERIFY(std::abs(got.alone.mean - aloneSum / 7) < 1e-4);
        }
    }

    void aSegmentByHand()
    {
        const UseSegment segment = useSegment(2, 100, {1.0, 2.0, 4.0}, {1.5, 2.5, 3.5});
        QVERIFY(std::abs(segment.gain.mean - 0.5 / 3.0) < 1e-12);
        QCOMPARE(segment.largestDifference, 0.5);
        QCOMPARE(segment.whole.mean, 7.0 / 3.0);
        // 0.5, 0.5, -0.5: deviation 1/sqrt 3, error 1/3.
        QVERIFY(std::abs(segment.gain.standardError - 1.0 / 3.0) < 1e-12);
    }

    void theFirstSegmentIsNotPartOfTheGain()
    {
        const auto decoder = goldenDecoder("hf/llama");
        UseOptions options;
        options.numSegments = 4;
        const auto report =
            measureUse(*decoder, randomIds(64, decoder->config().vocabularySize), options, {}, {});
        double sum = 0.0;
        for (std::size_t i = 1; i < 4; ++i)
            sum += report.segments[i].gain.mean / 3.0; // equally many targets
        QVERIFY(std::abs(report.gain.mean - sum) < 1e-9);
        QCOMPARE(report.gain.count, 3); // segments, whatever their targets
        QVERIFY(report.smallestSegmentGain <= report.gain.mean &&
                report.gain.mean <= report.largestSegmentGain);
        QVERIFY(std::abs(report.perplexityRatio() - std::exp(sum)) < 1e-9);
    }

    // 0.2, 0.3 and 0.4: deviation 0.1, t of two degrees 4.303, so 0.3 -+ 0.248.
    void segmentsAreTheSample()
    {
        std::vector<UseSegment> segments(4);
        for (std::size_t i = 1; i < segments.size(); ++i) {
            segments[i].numTargets = 1000;
            segments[i].gain.mean = 0.1 + 0.1 * double(i);
        }
        const SampleMean gain = pooledGain(segments);
        QCOMPARE(gain.count, 3);
        QVERIFY(std::abs(gain.low - (0.3 - 4.30265 * 0.1 / std::sqrt(3.0))) < 1e-5);
        QVERIFY(!pooledGain({segments[0], segments[1]}).hasInterval());
    }

    void usingTheContextTakesTheCheckAndAnInterval()
    {
        UseReport report;
        report.segments.resize(3);
        report.gain = {2, 0.3, 0.01, 0.2, 0.4};
        QVERIFY(report.usesContext());
        UseReport disagreeing = report;
        disagreeing.segments[0].largestDifference = 1e-9;
        QVERIFY(!disagreeing.usesContext());
        report.gain = {1, 0.3, 0.0, 0.3, 0.3};
        QVERIFY(!report.usesContext());
    }

    void progressCountsBothPasses()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        UseOptions options;
        options.numSegments = 2;
        options.chunkTokens = 8;
        std::vector<std::int64_t> done;
        int segments = 0;
        UseObserver observer;
        observer.progressed = [&](const PrefillProgress& progress) {
            QCOMPARE(progress.totalTokens, 64);
            done.push_back(progress.doneTokens);
        };
        observer.measured = [&](const UseSegment&) { ++segments; };
        measureUse(*decoder, randomIds(32, 300), options, observer, {});
        QCOMPARE(done, (std::vector<std::int64_t>{8, 16, 24, 32, 40, 48, 56, 64}));
        QCOMPARE(segments, 2);
    }

    void aStopEndsIt()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::stop_source source;
        UseObserver observer;
        observer.measured = [&](const UseSegment&) { source.request_stop(); };
        QVERIFY_EXCEPTION_THROWN(
            measureUse(*decoder, randomIds(64, 300), {}, observer, source.get_token()), Stopped);
    }

    void refusesTooFewSegmentsAndTokens()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        UseOptions options;
        options.numSegments = 1;
        QVERIFY_EXCEPTION_THROWN(measureUse(*decoder, randomIds(64, 300), options, {}, {}),
                                 ArgumentError);
        options.numSegments = 8;
        QVERIFY_EXCEPTION_THROWN(measureUse(*decoder, randomIds(31, 300), options, {}, {}),
                                 ArgumentError);
        QVERIFY_EXCEPTION_THROWN(measureUse(*decoder, {}, options, {}, {}), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestUse)
#include "tst_use.moc"
