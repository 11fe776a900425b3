#include "engine/base/errors.h"
#include "engine/generate/generator.h"
#include "engine/lab/positions.h"
#include "engine/lab/positions_record.h"
#include "engine/lab/sample_mean.h"
#include "engine/model/rotary_override.h"
#include "tests/support/golden_file.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <ATen/ops/log_softmax.h>

#include <QTemporaryDir>
#include <QtTest>

#include <cmath>
#include <numeric>
#include <random>

using namespace kvscope;

namespace {

std::vector<TokenId> randomIds(std::int64_t count, std::int64_t vocabulary)
{
    std::mt19937_64 random(11);
    std::vector<TokenId> ids(static_cast<std::size_t>(count));
    for (TokenId& id : ids)
        id = static_cast<TokenId>(random() % static_cast<std::uint64_t>(vocabulary));
    return ids;
}

std::unique_ptr<Decoder> rotated(const std::string& model, const std::string& rotary)
{
    DecoderOptions options;
    options.computeType = ComputeType::Float32;
    return std::make_unique<Decoder>(withRotary(openCheckpoint(goldenPath(model)), rotary),
                                     options);
}

std::vector<double> losses(Decoder& decoder, const std::vector<TokenId>& ids, std::int64_t chunk,
                           bool isWhole = false)
{
    PositionsOptions options;
    options.chunkTokens = chunk;
    options.isWhole = isWhole;
    return measurePositions(decoder, ids, options, {}, {}).nll;
}

double largestGap(const std::vector<double>& a, const std::vector<double>& b)
{
    double gap = a.size() == b.size() ? 0.0 : 1e9;
    for (std::size_t i = 0; i < std::min(a.size(), b.size()); ++i)
        gap = std::max(gap, std::abs(a[i] - b[i]));
    return gap;
}

PositionsSeries frameOf(const char* rotary)
{
    PositionsSeries series;
    series.rotary = rotary;
    return series;
}

} // namespace

class TestPositions : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;
    int m_numRecords = 0;

    /// A record of a run that was cut short behind these lines, taken up again.
    RunRecord recordWith(const std::vector<RecordJson>& events)
    {
        const std::filesystem::path path =
            m_folder.filePath(QString::number(m_numRecords++) + ".jsonl").toStdString();
        {
            RunRecord record = RunRecord::create(path, {});
            for (const RecordJson& event : events)
                record.append(kPositionsKind, event);
        }
        return RunRecord::resume(path, {});
    }

private Q_SLOTS:
    void lossesAreTheReferences()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const GoldenFile golden("gptosslite/tiny_a/golden.safetensors");
        const at::Tensor ids = golden.tensor("long/ids")[0].contiguous();
        const std::vector<TokenId> list(ids.const_data_ptr<std::int64_t>(),
                                        ids.const_data_ptr<std::int64_t>() + ids.numel());
        const at::Tensor wanted = at::log_softmax(golden.tensor("long/logits")[0], -1);
        const std::vector<double> nll = losses(*decoder, list, 5);
        QCOMPARE(nll.size(), list.size() - 1);
        for (std::size_t i = 0; i < nll.size(); ++i)
            QVERIFY(std::abs(nll[i] +
                             wanted[static_cast<std::int64_t>(i)][list[i + 1]].item<double>()) <
                    5e-4);
    }

    void chunkSizeDoesNotChangeLosses_data()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("rings and growing arrays") << "gptosslite/tiny_a";
        QTest::newRow("growing arrays only") << "hf/llama";
    }
    void chunkSizeDoesNotChangeLosses()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        const auto ids = randomIds(150, decoder->config().vocabularySize);
        const std::vector<double> whole = losses(*decoder, ids, 0);
        for (const std::int64_t chunk : {1, 7, 64, 150, 1000}) {
            const double gap = largestGap(losses(*decoder, ids, chunk), whole);
            // Float32's own rounding through a few layers; the bound asked for is 1e-4.
            QVERIFY2(gap < 1e-4, qPrintable(QString("chunk %1: %2 nats").arg(chunk).arg(gap)));
        }
    }

    // The default numbers: what the cache rounds, it rounds whatever the chunk.
    void chunkSizeHardlyChangesLossesInTheDefaultNumbers()
    {
        DecoderOptions options;
        options.cacheType = CacheType::BFloat16;
        Decoder decoder(openCheckpoint(goldenPath("gguf/llama_q4_1.gguf")), options);
        const auto ids = randomIds(150, decoder.config().vocabularySize);
        const std::vector<double> whole = losses(decoder, ids, 0);
        double largest = 0.0;
        for (const std::int64_t chunk : {1, 7, 64})
            largest = std::max(largest, largestGap(losses(decoder, ids, chunk), whole));
        qInfo("Q4_1 weights, bfloat16 cache: chunks change a loss by %g nats at most", largest);
        QVERIFY2(largest < 5e-2, qPrintable(QString::number(largest)));
    }

    // Beyond the trained length a growing cache holds keys of smaller bases; recomputing does not.
    void wholeIsOneShotForARotationThatFollowsTheLength()
    {
        const auto decoder = rotated("hf/llama", "dynamic:2");
        const std::int64_t trained = decoder->config().trainedPositions;
        QVERIFY(trained > 0 && trained < 4096);
        const auto ids = randomIds(trained + 64, decoder->config().vocabularySize);
        const std::vector<double> oneShot = losses(*decoder, ids, 0);
        QVERIFY(largestGap(losses(*decoder, ids, 16, true), oneShot) < 1e-4);
        QVERIFY(largestGap(losses(*decoder, ids, 16, false), oneShot) > 1e-3);
    }

    void theChaptersBins_data()
    {
        QTest::addColumn<int>("length");
        QTest::addColumn<QList<int>>("edges");
        QTest::newRow("4K") << 4096 << QList<int>{0, 512, 1024, 2048, 3072, 4096};
        QTest::newRow("16K") << 16384 << QList<int>{0, 1024, 2048, 4096, 8192, 12288, 16384};
        QTest::newRow("two tokens") << 2 << QList<int>{0, 1, 2};
        QTest::newRow("three tokens") << 3 << QList<int>{0, 1, 3};
    }
    void theChaptersBins()
    {
        QFETCH(int, length);
        QFETCH(QList<int>, edges);
        const auto made = octaveEdges(length);
        QCOMPARE(QList<int>(made.begin(), made.end()), edges);
    }

    void equalBinsShareWhatIsLeft()
    {
        QCOMPARE(equalEdges(10, 3), (std::vector<std::int64_t>{0, 4, 7, 10}));
        QCOMPARE(equalEdges(3, 8), (std::vector<std::int64_t>{0, 1, 2, 3}));
        QCOMPARE(equalEdges(8, 1), (std::vector<std::int64_t>{0, 8}));
    }

    void binsByHand()
    {
        ModelConfig config;
        config.trainedPositions = 5;
        config.extendedPositions = 5;
        config.layers.resize(3);
        config.layers[1].kind = LayerKind::Windowed;
        config.layers[1].window = 4;
        PositionsOptions options;
        options.numBins = 2;
        // Nine tokens have eight losses; [0, 5) and [5, 9) need no cut at the trained length.
        const auto series = positionsSeries(config, {1, 2, 3, 4, 5, 7, 9, 8}, options);
        QCOMPARE(series.bins.size(), std::size_t{2});
        QCOMPARE(series.bins[0].first, 0);
        QCOMPARE(series.bins[0].end, 5);
        QCOMPARE(series.bins[0].nll.mean, 3.0);
        QVERIFY(!series.bins[0].isBeyondTrained);
        QCOMPARE(series.bins[1].end, 8); // the last token has no target
        QCOMPARE(series.bins[1].nll.mean, 8.0);
        QCOMPARE(series.bins[1].perplexity(), std::exp(8.0));
        QVERIFY(series.bins[1].isBeyondTrained);
        // 7, 9, 8: deviation 1, error 1 / sqrt 3, t of two degrees 4.303.
        QVERIFY(std::abs(series.bins[1].nll.standardError - 1.0 / std::sqrt(3.0)) < 1e-12);
        QVERIFY(std::abs(series.bins[1].nll.high - 8.0 - 4.30265 / std::sqrt(3.0)) < 1e-5);
        QCOMPARE(series.window, 4);
        QCOMPARE(series.firstHalf.mean, 2.5); // 1, 2, 3, 4
        QCOMPARE(series.rise(), 5.5);
        QVERIFY(!series.behaves());
    }

    void aVerdictNeedsPositionsAndAnIntervalOnOneSide()
    {
        const ModelConfig config;
        PositionsOptions options;
        options.numBins = 2;
        QVERIFY(positionsSeries(config, std::vector<double>(200, 2.0), options).isDecided());
        QVERIFY(!positionsSeries(config, std::vector<double>(20, 2.0), options).isDecided());
        options.numBins = 1; // compared with itself
        QVERIFY(!positionsSeries(config, std::vector<double>(200, 2.0), options).isDecided());
        options.numBins = 2;
        std::vector<double> wild(200, 2.0);
        for (std::size_t i = 100; i < wild.size(); ++i)
            wild[i] = i % 2 == 0 ? 0.0 : 4.4; // 0.2 above, give or take 0.4
        QVERIFY(!positionsSeries(config, wild, options).isDecided());
    }

    void noBinStraddlesTheTrainedLength()
    {
        ModelConfig config;
        config.trainedPositions = 700;
        const auto series = positionsSeries(config, std::vector<double>(1023, 2.0), {});
        std::int64_t at = 0;
        for (const PositionBin& bin : series.bins) {
            QCOMPARE(bin.first, at); // no gap, no overlap
            at = bin.end;
            QVERIFY(bin.end <= 700 || bin.first >= 700);
            QCOMPARE(bin.isBeyondTrained, bin.first >= 700);
        }
        QCOMPARE(at, 1023);
        QVERIFY(series.behaves());
    }

    void twoSchemesArePaired()
    {
        const ModelConfig config;
        PositionsOptions options;
        options.numBins = 1;
        const std::vector<double> wild = {1, 100, 3, 50};
        std::vector<double> higher = wild;
        for (double& value : higher)
            value += 0.5;
        const auto report = positionsReport(
            {positionsSeries(config, wild, options), positionsSeries(config, higher, options)});
        QCOMPARE(report.tokens, 5);
        QCOMPARE(report.differences.size(), std::size_t{1});
        // However much positions differ, the paired difference is exact.
        QCOMPARE(report.differences[0].nll.mean, 0.5);
        QCOMPARE(report.differences[0].nll.standardError, 0.0);
        QVERIFY(positionsReport({positionsSeries(config, wild, options)}).differences.empty());
    }

    void lossesAndProgressComeAsTheyAreMade()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const auto ids = randomIds(30, decoder->config().vocabularySize);
        std::vector<double> together;
        std::vector<std::int64_t> done;
        PositionsObserver observer;
        observer.scored = [&](const ScoredPositions& part) {
            QCOMPARE(part.firstPosition, static_cast<std::int64_t>(together.size()));
            together.insert(together.end(), part.nll.begin(), part.nll.end());
        };
        observer.progressed = [&](const PrefillProgress& progress) {
            QCOMPARE(progress.totalTokens, 30);
            done.push_back(progress.doneTokens);
        };
        PositionsOptions options;
        options.chunkTokens = 8;
        const auto series = measurePositions(*decoder, ids, options, observer, {});
        QCOMPARE(together, series.nll);
        QCOMPARE(done, (std::vector<std::int64_t>{8, 16, 24, 30}));
    }

    void recordsGiveLossesAndSecondsBack()
    {
        RunRecord record =
            recordWith({scoredJson(0, frameOf("plain"), {0, {1.0, 2.0}, 0.5}),
                        scoredJson(1, frameOf("linear"), {0, {9.0, 9.0, 9.0}, 7.0}),
                        scoredJson(0, frameOf("plain"), {2, {3.0}, 0.25}),
                        scoredJson(0, frameOf("plain"), {2, {3.0}, 0.5})}); // run again
        QVERIFY(recordedLosses(record, 0, 3) == std::vector<double>({1.0, 2.0, 3.0}));
        QCOMPARE(recordedSeconds(record, 0), 1.0);
        QVERIFY(!recordedLosses(record, 0, 4));
        RecordJson old = scoredJson(0, frameOf("plain"), {0, {1.0}, 0.5});
        old.erase("seconds");
        QCOMPARE(recordedSeconds(recordWith({old}), 0), 0.0);
    }

    void damagedEventsCountAsMissing_data()
    {
        QTest::addColumn<QString>("event");
        for (const char* event :
             {R"({"series":"0","first":0,"nll":[1]})", R"({"series":0,"first":-1,"nll":[1]})",
              R"({"series":0,"first":null,"nll":[1]})", R"({"series":0,"first":0,"nll":1})",
              R"({"series":0,"first":0,"nll":["1"]})", R"({"series":0,"first":1e300,"nll":[1]})",
              R"({"series":0,"first":0,"nll":[null]})", R"({"series":[],"first":{},"nll":{}})",
              R"({"series":0,"first":18446744073709551615,"nll":[1,2]})",
              R"({"series":0,"first":0,"seconds":"long","nll":[[]]})", R"({})"})
            QTest::addRow("%s", event) << event;
    }
    void damagedEventsCountAsMissing()
    {
        QFETCH(QString, event);
        RunRecord record = recordWith({RecordJson::parse(event.toStdString())});
        QVERIFY(!recordedLosses(record, 0, 1));
        QCOMPARE(recordedSeconds(record, 0), 0.0);
    }

    void aStopEndsWithinAChunk()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const auto ids = randomIds(64, decoder->config().vocabularySize);
        std::stop_source source;
        int chunks = 0;
        PositionsObserver observer;
        observer.progressed = [&](const PrefillProgress&) {
            ++chunks;
            source.request_stop();
        };
        PositionsOptions options;
        options.chunkTokens = 8;
        QVERIFY_EXCEPTION_THROWN(
            measurePositions(*decoder, ids, options, observer, source.get_token()), Stopped);
        QCOMPARE(chunks, 1);
    }

    void refusesTooLittleAndTooMuch()
    {
        const auto decoder = goldenDecoder("hf/llama");
        QVERIFY_EXCEPTION_THROWN(measurePositions(*decoder, {}, {}, {}, {}), ArgumentError);
        const std::vector<TokenId> one = {1};
        QVERIFY_EXCEPTION_THROWN(measurePositions(*decoder, one, {}, {}, {}), ArgumentError);
        const std::vector<TokenId> foreign = {1, decoder->config().vocabularySize};
        QVERIFY_EXCEPTION_THROWN(measurePositions(*decoder, foreign, {}, {}, {}), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestPositions)
#include "tst_positions.moc"
