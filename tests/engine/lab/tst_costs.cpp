#include "engine/base/errors.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/kv_cache_table.h"
#include "engine/lab/memory_costs.h"
#include "engine/lab/presets.h"
#include "engine/lab/weight_bytes.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <random>

using namespace kvscope;

namespace {

constexpr std::uint64_t kGib = std::uint64_t{1} << 30;

QString gib(double bytes, int digits)
{
    return QString::number(bytes / static_cast<double>(kGib), 'f', digits);
}

ModelConfig allWindowed(std::int64_t window)
{
    ModelConfig config = presetConfig("TinyLlama-1.1B");
    for (LayerConfig& layer : config.layers)
        layer = {.kind = LayerKind::Windowed, .window = window};
    return config;
}

/// A shape that no file has, small enough to count by hand.
ModelConfig randomShape(std::mt19937& random)
{
    const auto pick = [&](std::int64_t low, std::int64_t high) {
        return std::uniform_int_distribution<std::int64_t>(low, high)(random);
    };
    ModelConfig config = presetConfig("TinyLlama-1.1B");
    config.numKvHeads = pick(1, 8);
    config.numHeads = config.numKvHeads * pick(1, 4);
    config.headDim = 2 * pick(1, 64);
    config.layers.resize(static_cast<std::size_t>(pick(1, 30)));
    for (LayerConfig& layer : config.layers)
        if (pick(0, 1) == 0)
            layer = {.kind = LayerKind::Windowed, .window = pick(1, 5000)};
    return config;
}

} // namespace

class TestCosts : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // 4 GiB / (28 layers * 8 heads * 128 * 2 * 2 B) = 4294967296 / 114688
    void fourGibHoldThirtySevenThousandTokensOfTheThreeB()
    {
        const ModelConfig config = presetConfig("Llama-3.2-3B");
        QCOMPARE(longestContext(config, 4 * kGib, 0, 2).tokens, std::int64_t{37449});
        const auto weights = weightBytesOf(config, 2).total;
        QVERIFY(!longestContext(config, 4 * kGib, weights, 2).weightsFit);
        QCOMPARE(longestContext(config, 4 * kGib + weights, weights, 2).tokens,
                 std::int64_t{37449});
    }

    void mixedCacheOfGptOssLiteIsHalf()
    {
        const KVBytes bytes = kvBytes(presetConfig("GPT-OSS-Lite"), 131072, 2);
        QCOMPARE(gib(static_cast<double>(bytes.everyLayerFull), 2), QString("2.25"));
        QCOMPARE(gib(static_cast<double>(bytes.total()), 2), QString("1.13"));
        QCOMPARE(bytes.windowed, std::uint64_t{6 * 128 * 1536});
        QCOMPARE(bytes.unshared, 2 * bytes.total()); // 8 query heads over 4
    }

    void bytesEqualTheCacheTables()
    {
        std::mt19937 random(5);
        for (int trial = 0; trial < 50; ++trial) {
            const ModelConfig config = randomShape(random);
            KVCacheDescription description;
            description.windows.clear();
            for (const LayerConfig& layer : config.layers)
                description.windows.push_back(layer.window);
            description.numKvHeads = config.numKvHeads;
            description.headDim = config.headDim;
            const std::int64_t tokens = 1 + static_cast<std::int64_t>(random() % 9000);
            const KVCacheTableRow row = kvCacheTableRow(description, tokens);
            const KVBytes bytes = kvBytes(config, tokens, 2);
            QCOMPARE(bytes.total(), row.mixedBytes);
            QCOMPARE(bytes.everyLayerFull, row.allGlobalBytes);
        }
    }

    // Property: what is answered fits, and one token more does not.
    void longestContextIsTheLongest()
    {
        std::mt19937 random(11);
        for (int trial = 0; trial < 200; ++trial) {
            const ModelConfig config = randomShape(random);
            const std::uint64_t budget = random() % 300000000;
            const std::uint64_t weights = random() % 100000000;
            const ContextFit fit = longestContext(config, budget, weights, 2);
            QCOMPARE(fit.weightsFit, weights <= budget);
            if (fit.isUnbounded) {
                QCOMPARE(config.numLayers(LayerKind::Global), std::int64_t{0});
                QVERIFY(weights + kvBytes(config, 5000, 2).total() <= budget);
                continue;
            }
            if (fit.tokens > 0)
                QVERIFY(weights + kvBytes(config, fit.tokens, 2).total() <= budget);
            if (fit.weightsFit)
                QVERIFY(weights + kvBytes(config, fit.tokens + 1, 2).total() > budget);
        }
    }

    void ringsThatFitHoldAnyLength()
    {
        const ModelConfig config = allWindowed(100);
        const std::uint64_t full = kvBytes(config, 100, 2).total();
        QVERIFY(longestContext(config, full, 0, 2).isUnbounded);
        const ContextFit less = longestContext(config, full - 1, 0, 2);
        QVERIFY(!less.isUnbounded);
        QCOMPARE(less.tokens, std::int64_t{99});
    }

    // 0.98, 7.8 and 31 GiB at Llama's 128,256 entries; "1 GiB" in the chapter.
    void logitsOfEveryPositionAreTheChapters()
    {
        const ModelConfig config = presetConfig("Llama-3.2-1B");
        const auto at = [&](std::int64_t tokens, int digits) {
            return gib(static_cast<double>(allLogitsBytes(config, tokens, 2)), digits);
        };
        QCOMPARE(at(4096, 0), QString("1"));
        QCOMPARE(at(32768, 1), QString("7.8"));
        QCOMPARE(at(131072, 0), QString("31"));
    }

    void scoresOfOneLayerAre275GbAt128K()
    {
        QCOMPARE(scoresBytes(presetConfig("GPT-OSS-Lite"), 131072, 2), 274877906944.0);
        QVERIFY(scoresBytes(presetConfig("GPT-OSS-Lite"), std::int64_t{1} << 40, 2) > 1e25);
    }

    void concatenationCopies158TbAt128K()
    {
        const ModelConfig config = presetConfig("GPT-OSS-Lite");
        QCOMPARE(std::llround(concatenationBytes(config, 131072, 2) / 1e12), 158LL);
        QCOMPARE(concatenationBytes(config, 1, 2), 0.0);
        QCOMPARE(concatenationBytes(config, 3, 2), 3.0 * 1536 * 12); // 0 + 1 + 2 tokens
    }

    void crossoversAreTheChapters()
    {
        const auto at = [](const char* name, MaskedWork masked) {
            return *crossoverTokens(presetConfig(name), masked);
        };
        QCOMPARE(std::llround(at("Llama-3.2-1B", MaskedWork::Skipped) / 100.0), 377LL);
        QCOMPARE(std::llround(at("GPT-OSS-Lite", MaskedWork::Skipped) / 100.0), 536LL);
        QCOMPARE(std::llround(at("GPT-OSS-Lite", MaskedWork::Done) / 100.0), 268LL);
        QVERIFY(!crossoverTokens(allWindowed(64), MaskedWork::Skipped));
        QVERIFY(crossoverTokens(allWindowed(64), MaskedWork::Done));
    }

    void flopsAreEqualAtTheCrossover()
    {
        const ModelConfig config = presetConfig("Llama-3.2-1B");
        const auto tokens =
            static_cast<std::int64_t>(*crossoverTokens(config, MaskedWork::Skipped));
        QVERIFY(std::abs(prefillFlops(config, tokens).attentionShare() - 0.5) < 1e-4);
    }

    void attentionSharesAreTheChapters_data()
    {
        QTest::addColumn<qint64>("tokens");
        QTest::addColumn<int>("percent");
        QTest::newRow("1K") << qint64{1024} << 3;
        QTest::newRow("4K") << qint64{4096} << 10;
        QTest::newRow("8K") << qint64{8192} << 18;
        QTest::newRow("16K") << qint64{16384} << 30;
        QTest::newRow("32K") << qint64{32768} << 46;
        QTest::newRow("48K") << qint64{49152} << 57;
    }
    void attentionSharesAreTheChapters()
    {
        QFETCH(qint64, tokens);
        QFETCH(int, percent);
        const PrefillFlops flops = prefillFlops(presetConfig("Llama-3.2-1B"), tokens);
        QCOMPARE(static_cast<int>(std::lround(100.0 * flops.attentionShare())), percent);
    }

    void windowedAttentionIsLinearBeyondTwoWindows()
    {
        const ModelConfig config = presetConfig("GPT-OSS-Lite");
        const auto windowed = [&](std::int64_t tokens) {
            return prefillFlops(config, tokens).windowedAttention;
        };
        QCOMPARE(windowed(4096), 6.0 * 4 * 768 * 128 * 4096);
        QCOMPARE(windowed(100), 6.0 * 2 * 768 * 100 * 100); // as a global layer
        QCOMPARE(prefillFlops(config, 256).globalAttention, windowed(256));
        QCOMPARE(prefillFlops(config, 4096).globalAttention, 6.0 * 2 * 768 * 4096 * 4096);
        QCOMPARE(prefillFlops(config, 4096).dense, 2.0 * 247032672 * 4096);
    }

    void tablesThatAreOnlyLookedUpAreNotMultiplied()
    {
        const ModelConfig untied = presetConfig("Llama-3.1-8B");
        QCOMPARE(multipliedParameters(untied),
                 untied.totalParameters() - std::int64_t{128256} * 4096);
        const ModelConfig gpt2 = presetConfig("GPT-2");
        QCOMPARE(multipliedParameters(gpt2), gpt2.totalParameters() - std::int64_t{1024} * 768);
        const ModelConfig tied = presetConfig("Llama-3.2-1B");
        QCOMPARE(multipliedParameters(tied), tied.totalParameters());
    }

    void decodeBytesAreTheChapters()
    {
        const ModelConfig config = presetConfig("Llama-3.2-1B");
        const std::uint64_t weights = weightBytesOf(config, 2).perDecodeStep;
        const DecodeCost at1K = decodeCost(config, 1024, weights, 2);
        const DecodeCost at48K = decodeCost(config, 49152, weights, 2);
        QCOMPARE(at1K.bytes(), std::uint64_t{2505183232});
        QCOMPARE(at48K.bytes(), std::uint64_t{4082241536});
        QCOMPARE(QString::number(1e3 * at1K.seconds(304e9), 'f', 1), QString("8.2"));
        QCOMPARE(QString::number(1e3 * at48K.seconds(304e9), 'f', 1), QString("13.4"));
    }

    // Inference chapter 4.3: about 1.7 GB a step, so roughly 1,200 tokens/s at 2.04 TB/s.
    void gptOssLiteCannotPassTwelveHundredTokensASecondAt128K()
    {
        const ModelConfig config = presetConfig("GPT-OSS-Lite");
        const std::uint64_t weights = weightBytesOf(config, 2).perDecodeStep;
        QCOMPARE(weights, std::uint64_t{2 * 247032672});
        const DecodeCost step = decodeCost(config, 131072, weights, 2);
        QCOMPARE(QString::number(static_cast<double>(step.bytes()) / 1e9, 'f', 1), QString("1.7"));
        QCOMPARE(std::lround(1.0 / step.seconds(2.04e12) / 100.0), 12L);
        QVERIFY(step.intensity() < ridge(312e12, 2.04e12) / 50.0);
        QCOMPARE(step.flops, 2.0 * 247032672 + 4.0 * 768 * 6 * (131072 + 128));
    }

    void intensityOfTheCacheIsHeadsOverHeads()
    {
        QCOMPARE(cacheIntensity(presetConfig("GPT-OSS-Lite"), 2), 2.0);
        QCOMPARE(cacheIntensity(presetConfig("GPT-2"), 2), 1.0);
        QCOMPARE(cacheIntensity(presetConfig("Llama-3.2-1B"), 4), 2.0);
        QCOMPARE(std::lround(ridge(312e12, 2.04e12)), 153L);
    }

    void withoutACacheEachTokenIsProjected65537Times()
    {
        const ProjectionFlops flops = projectionFlops(presetConfig("GPT-OSS-Lite"), 131072);
        QCOMPARE(flops.factor(), 65536.5);
        QCOMPARE(flops.cached, 12.0 * 2 * 768 * 768 * 131072);
        QCOMPARE(projectionFlops(presetConfig("GPT-2"), 1).factor(), 1.0);
    }

    void impossibleRequestsAreRefused()
    {
        const ModelConfig config = presetConfig("Llama-3.1-8B");
        constexpr std::int64_t kMost = std::numeric_limits<std::int64_t>::max();
        for (const std::int64_t tokens : {std::int64_t{0}, std::int64_t{-5}, kMost}) {
            QVERIFY_EXCEPTION_THROWN(kvBytes(config, tokens, 2), ArgumentError);
            QVERIFY_EXCEPTION_THROWN(allLogitsBytes(config, tokens, 2), ArgumentError);
        }
        QVERIFY_EXCEPTION_THROWN(kvBytes(config, 1, 0), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(longestContext(config, 1, 0, -1), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(kvBytes(allWindowed(kMost), kMost, 2), ArgumentError);
        QCOMPARE(longestContext(config, std::numeric_limits<std::uint64_t>::max(), 0, 2).tokens,
                 std::int64_t{140737488355327}); // 2^64 - 1 bytes at 128 KiB a token
    }
};

QTEST_GUILESS_MAIN(TestCosts)
#include "tst_costs.moc"
