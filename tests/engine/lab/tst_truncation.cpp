#include "engine/base/errors.h"
#include "engine/lab/truncation.h"
#include "engine/model/rotary_override.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QtTest>

#include <chrono>
#include <cmath>
#include <numeric>
#include <random>
#include <thread>

using namespace kvscope;

namespace {

std::vector<TokenId> randomIds(std::int64_t count)
{
    std::mt19937_64 random(3);
    std::vector<TokenId> ids(static_cast<std::size_t>(count));
    for (TokenId& id : ids)
        id = static_cast<TokenId>(random() % 290);
    return ids;
}

std::vector<TokenId> counted(std::int64_t count)
{
    std::vector<TokenId> ids(static_cast<std::size_t>(count));
    std::iota(ids.begin(), ids.end(), 0);
    return ids;
}

/// The first layers of a golden model, in float32.
std::unique_ptr<Decoder> firstLayers(const std::string& model, std::size_t count,
                                     const std::string& rotary = {})
{
    auto checkpoint =
        std::make_shared<Checkpoint>(*withRotary(openCheckpoint(goldenPath(model)), rotary));
    checkpoint->config.layers.resize(count);
    checkpoint->tensors.layers.resize(count);
    DecoderOptions options;
    options.computeType = ComputeType::Float32;
    return std::make_unique<Decoder>(std::move(checkpoint), options);
}

TruncationOptions someCut()
{
    return {.keepTokens = 10, .dropTokens = 50, .nextTokens = 20, .chunkTokens = 16};
}

} // namespace

class TestTruncation : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // The chapter's example: of a 100-token prompt cut to 40 the first 10 are reusable.
    void theChaptersCut()
    {
        const auto prompt = counted(100);
        const auto cut = truncateKeepPrefix(prompt, 40, 10);
        QCOMPARE(cut.size(), std::size_t{40});
        QCOMPARE(cut[9], 9);
        QCOMPARE(cut[10], 70);
        QCOMPARE(cut.back(), 99);
        QCOMPARE(reusablePrefixLength(prompt, cut), 10);
    }

    void cutsByHand()
    {
        const auto five = counted(5);
        QCOMPARE(truncateKeepPrefix(five, 5, 2), five);
        QCOMPARE(truncateKeepPrefix(five, 9, 2), five);
        QCOMPARE(truncateKeepPrefix(five, 2, 2), (std::vector<TokenId>{0, 1}));
        QCOMPARE(truncateKeepPrefix(five, 2, 0), (std::vector<TokenId>{3, 4}));
        QCOMPARE(truncateKeepPrefix(five, 0, 0), std::vector<TokenId>{});
        QVERIFY_EXCEPTION_THROWN(truncateKeepPrefix(five, 2, 3), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(truncateKeepPrefix(five, 2, -1), ArgumentError);
        QCOMPARE(reusablePrefixLength(five, {}), 0);
        QCOMPARE(reusablePrefixLength(five, five), 5);
        QCOMPARE(reusablePrefixLength(five, std::vector<TokenId>{0, 1, 7, 3}), 2);
    }

    // In the first layer keys and values are of the token alone, so moved ones are exact: this
    // holds the rotation by -drop to the rotation itself.
    void inOneLayerStaleKeysAreExact_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("rotary");
        QTest::newRow("half pairs") << "hf/llama"
                                    << "";
        QTest::newRow("scaled") << "hf/llama"
                                << "linear:2";
        QTest::newRow("with a magnitude") << "hf/llama"
                                          << "yarn:4";
        QTest::newRow("not rotated") << "hf/llama"
                                     << "none";
        QTest::newRow("adjacent pairs, window") << "gptosslite/tiny_a"
                                                << "";
    }
    void inOneLayerStaleKeysAreExact()
    {
        QFETCH(QString, model);
        QFETCH(QString, rotary);
        const auto decoder = firstLayers(model.toStdString(), 1, rotary.toStdString());
        const auto report = measureTruncation(*decoder, randomIds(110), someCut(), {}, {});
        QCOMPARE(report.staleReason, std::string());
        QVERIFY2(
            std::abs(report.staleCost.low) < 1e-4 && std::abs(report.staleCost.high) < 1e-4,
            qPrintable(QString("%1 to %2").arg(report.staleCost.low).arg(report.staleCost.high)));
        QVERIFY(report.stale.count == 20);
    }

    void inMoreLayersTheyAreNot()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const auto report = measureTruncation(*decoder, randomIds(110), someCut(), {}, {});
        QVERIFY(report.staleCost.standardError > 1e-4);
        QCOMPARE(report.promptTokens, 90);
        QCOMPARE(report.keptTokens, 40);
        QCOMPARE(report.reusablePrefix, 10);
        QCOMPARE(report.cacheReusable, 10);
    }

    void bothOtherLossesAreThoseOfPositions()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const auto ids = randomIds(110);
        const auto report = measureTruncation(*decoder, ids, someCut(), {}, {});
        auto cut = truncateKeepPrefix(std::span(ids).first(90), 40, 10);
        cut.insert(cut.end(), ids.end() - 20, ids.end());
        const auto meanOfLast = [&](const std::vector<TokenId>& text) {
            const auto nll = measurePositions(*decoder, text, {}, {}, {}).nll;
            return std::accumulate(nll.end() - 20, nll.end(), 0.0) / 20.0;
        };
        QVERIFY(std::abs(report.uncut.mean - meanOfLast(ids)) < 1e-4);
        QVERIFY(std::abs(report.recomputed.mean - meanOfLast(cut)) < 1e-4);
        QVERIFY(std::abs(report.cutCost.mean - (report.recomputed.mean - report.uncut.mean)) <
                1e-9);
    }

    // Only what lies behind the valid prefix is run again, and a slow observer is not part of it.
    void recomputingTakesWhatItTakes()
    {
        constexpr int kChunks = 2; // 29 tokens in chunks of 16
        const auto decoder = goldenDecoder("hf/llama");
        PositionsObserver slow;
        int waits = 0;
        slow.progressed = [&](const PrefillProgress& progress) {
            if (progress.totalTokens != 29)
                return;
            ++waits;
            std::this_thread::sleep_for(std::chrono::milliseconds(400));
        };
        TruncationOptions options = someCut();
        options.chunkTokens = 16;
        const auto report = measureTruncation(*decoder, randomIds(110), options, slow, {});
        QCOMPARE(report.recomputedTokens, 30);
        QCOMPARE(waits, kChunks);
        QVERIFY(report.recomputeSeconds > 0.0 && report.recomputeSeconds < 0.4 * kChunks);
        const auto rings = goldenDecoder("gptosslite/tiny_a");
        QCOMPARE(measureTruncation(*rings, randomIds(110), options, {}, {}).recomputedTokens, 40);
    }

    void ringsGiveNoPrefixBack()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const auto report = measureTruncation(*decoder, randomIds(110), someCut(), {}, {});
        QCOMPARE(report.reusablePrefix, 10);
        QCOMPARE(report.cacheReusable, 0);
        QCOMPARE(report.staleReason, std::string()); // the tail fills every window
        // A tail shorter than the window would need positions that the ring has lost.
        TruncationOptions options = someCut();
        options.dropTokens = 77;
        const auto shorter = measureTruncation(*decoder, randomIds(110), options, {}, {});
        QVERIFY2(QString::fromStdString(shorter.staleReason).contains("window"),
                 shorter.staleReason.c_str());
        QVERIFY(shorter.recomputed.count == 20 && shorter.stale.count == 0);
    }

    void keysThatFollowTheLengthAreNotMoved()
    {
        const auto decoder = firstLayers("hf/llama", 1, "dynamic:2");
        const auto report = measureTruncation(*decoder, randomIds(110), someCut(), {}, {});
        QVERIFY(QString::fromStdString(report.staleReason).contains("depends on the length"));
    }

    void refusesWhatLeavesNothing_data()
    {
        QTest::addColumn<int>("keep");
        QTest::addColumn<int>("drop");
        QTest::addColumn<int>("next");
        QTest::newRow("nothing dropped") << 10 << 0 << 20;
        QTest::newRow("nothing scored") << 10 << 50 << 0;
        QTest::newRow("keep below zero") << -1 << 50 << 20;
        QTest::newRow("one token left behind the cut") << 39 << 50 << 20;
    }
    void refusesWhatLeavesNothing()
    {
        QFETCH(int, keep);
        QFETCH(int, drop);
        QFETCH(int, next);
        const auto decoder = goldenDecoder("hf/llama");
        const TruncationOptions options{keep, drop, next, 16};
        QVERIFY_EXCEPTION_THROWN(measureTruncation(*decoder, randomIds(110), options, {}, {}),
                                 ArgumentError);
    }

    void theSmallestCutRuns()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const TruncationOptions options{0, 1, 1, 0};
        const auto report = measureTruncation(*decoder, randomIds(4), options, {}, {});
        QCOMPARE(report.keptTokens, 2);
        QCOMPARE(report.stale.count, 1);
    }
};

QTEST_GUILESS_MAIN(TestTruncation)
#include "tst_truncation.moc"
