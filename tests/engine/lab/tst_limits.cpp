#include "engine/base/errors.h"
#include "engine/lab/compute_costs.h"
#include "engine/lab/limits.h"
#include "engine/lab/presets.h"
#include "tests/support/golden_json.h"

#include <QtTest>

using namespace kvscope;

namespace {

LimitsRequest requestFor(const ModelConfig& config, std::vector<std::int64_t> lengths)
{
    LimitsRequest request;
    request.weights = weightBytesOf(config, 2);
    request.lengths = std::move(lengths);
    return request;
}

} // namespace

class TestLimits : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void usualLengthsEndAtTheAdvertisedOne()
    {
        ModelConfig config = presetConfig("Phi-3-mini-4k");
        QCOMPARE(usualLengths(config), (std::vector<std::int64_t>{1024, 2048, 4096}));
        config.extendedPositions = 5000;
        QCOMPARE(usualLengths(config), (std::vector<std::int64_t>{1024, 2048, 4096, 5000}));
        config.extendedPositions = 512;
        QCOMPARE(usualLengths(config), (std::vector<std::int64_t>{512}));
        config.extendedPositions = 0;
        QCOMPARE(usualLengths(config).back(), std::int64_t{131072});
    }

    void reportHoldsTheChaptersDecodeTable()
    {
        const ModelConfig config = presetConfig("Llama-3.2-1B");
        LimitsRequest request = requestFor(config, {1024, 49152});
        request.machine = {.bytesPerSecond = 304e9, .flopsPerSecond = 30e12, .source = "chapter"};
        const LimitsReport report = limitsReport(config, request);
        QCOMPARE(report.rows.size(), std::size_t{2});
        QCOMPARE(report.rows[0].decodeBytes, std::uint64_t{2505183232});
        QCOMPARE(report.rows[1].decodeBytes, std::uint64_t{4082241536});
        QCOMPARE(std::lround(1e4 * report.rows[1].decodeSeconds), 134L);
        QCOMPARE(report.rows[1].tokensPerSecond * report.rows[1].decodeSeconds, 1.0);
        QCOMPARE(std::lround(*report.crossoverTokens), 37714L);
        QVERIFY(!report.budget);
        QVERIFY(!report.rows[0].fitsBudget);
    }

    void budgetCountsTheWeightsUnlessToldNot()
    {
        const ModelConfig config = presetConfig("Llama-3.2-3B");
        LimitsRequest request = requestFor(config, {37449, 37450});
        request.budgetBytes = std::uint64_t{4} << 30;
        const LimitsReport counted = limitsReport(config, request);
        QVERIFY(!counted.budget->weightsFit);
        QCOMPARE(counted.budget->longestContext, std::int64_t{0});
        QCOMPARE(*counted.rows[0].fitsBudget, false);
        request.countsWeights = false;
        const LimitsReport cacheOnly = limitsReport(config, request);
        QCOMPARE(cacheOnly.budget->longestContext, std::int64_t{37449});
        QCOMPARE(*cacheOnly.rows[0].fitsBudget, true);
        QCOMPARE(*cacheOnly.rows[1].fitsBudget, false);
    }

    void weightsOfAFileAreItsTensors()
    {
        const auto dense = openCheckpoint(goldenPath("hf/llama"));
        const WeightBytes denseBytes = weightBytesOf(*dense);
        QCOMPARE(denseBytes.total, dense->weightBytes());
        QCOMPARE(denseBytes.total, weightBytesOf(dense->config, 4).total); // float32 throughout
        QCOMPARE(denseBytes.perDecodeStep, weightBytesOf(dense->config, 4).perDecodeStep);
        const auto experts = openCheckpoint(goldenPath("gptosslite/tiny_a"));
        QCOMPARE(weightBytesOf(*experts).total, weightBytesOf(experts->config, 4).total);
        QCOMPARE(weightBytesOf(*experts).perDecodeStep,
                 weightBytesOf(experts->config, 4).perDecodeStep);
    }

    void quantisedTablesCountAsStored()
    {
        const auto checkpoint = openCheckpoint(goldenPath("gguf/llama_q4_1.gguf"));
        const WeightBytes bytes = weightBytesOf(*checkpoint);
        const TensorInfo* table = checkpoint->find("token_embd.weight");
        QVERIFY(table != nullptr);
        QVERIFY(!checkpoint->config.hasTiedHead);
        QCOMPARE(bytes.total - bytes.perDecodeStep, std::uint64_t{table->data.size()});
    }

    void impossibleMachinesAreRefused_data()
    {
        QTest::addColumn<double>("bandwidth");
        QTest::newRow("zero") << 0.0;
        QTest::newRow("negative") << -1.0;
        QTest::newRow("infinite") << std::numeric_limits<double>::infinity();
        QTest::newRow("not a number") << std::numeric_limits<double>::quiet_NaN();
    }
    void impossibleMachinesAreRefused()
    {
        QFETCH(double, bandwidth);
        const ModelConfig config = presetConfig("GPT-2");
        LimitsRequest request = requestFor(config, {1024});
        request.machine.bytesPerSecond = bandwidth;
        QVERIFY_EXCEPTION_THROWN(limitsReport(config, request), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestLimits)
#include "tst_limits.moc"
