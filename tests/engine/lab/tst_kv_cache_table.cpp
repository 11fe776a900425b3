#include "engine/base/errors.h"
#include "engine/cache/mixed_kv_cache.h"
#include "engine/lab/kv_cache_table.h"
#include "tests/support/golden_json.h"

#include <ATen/ops/zeros.h>

#include <QtTest>

#include <limits>
#include <vector>

using namespace kvscope;

namespace {

const std::vector<std::int64_t> kPrintedLengths = {4096, 8192, 32768, 131072};

} // namespace

class TestKVCacheTable : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void defaultShapeEqualsTheReferenceToTheByte()
    {
        const auto golden = readGoldenJson("gptosslite/kv_memory.json");
        const KVCacheDescription description;
        QCOMPARE(description.bytesPerTokenPerLayer(),
                 golden["bytes_per_token_per_layer"].get<std::int64_t>());
        QCOMPARE(kKVCachePassReduction, golden["threshold"].get<double>());
        QVERIFY(golden["rows"].size() > 10);
        for (const auto& want : golden["rows"]) {
            const auto row = kvCacheTableRow(description, want["tokens"].get<std::int64_t>());
            QCOMPARE(row.allGlobalBytes, want["all_full_bytes"].get<std::uint64_t>());
            QCOMPARE(row.mixedBytes, want["mixed_bytes"].get<std::uint64_t>());
            QCOMPARE(row.reduction, want["reduction"].get<double>());
            QCOMPARE(QString::number(row.reduction, 'f', 2).toStdString(),
                     want["reduction_printed"].get<std::string>());
        }
    }

    void printedReductionsAreTheChapters()
    {
        QStringList printed;
        for (const auto& row : kvCacheTable({}, kPrintedLengths).rows)
            printed << QString::number(row.reduction, 'f', 2);
        QCOMPARE(printed, (QStringList{"1.94", "1.97", "1.99", "2.00"}));
    }

    void rowsKeepTheOrderAsked()
    {
        const std::vector<std::int64_t> lengths = {9, 1, 9};
        const auto table = kvCacheTable({}, lengths);
        QCOMPARE(table.rows.size(), lengths.size());
        for (std::size_t i = 0; i < lengths.size(); ++i)
            QCOMPARE(table.rows[i].tokens, lengths[i]);
        QVERIFY(kvCacheTable({}, {}).rows.empty());
    }

    void passLineIsAt128K()
    {
        QVERIFY(passesKVCacheLine({}));
        KVCacheDescription allGlobal;
        allGlobal.windows.assign(12, 0);
        QVERIFY(!passesKVCacheLine(allGlobal));
        KVCacheDescription fiveOfTwelve; // 12 / 7 = 1.71
        fiveOfTwelve.windows[0] = 0;
        QVERIFY(!passesKVCacheLine(fiveOfTwelve));
    }

    void batchAndElementSizeScaleBytesAlone()
    {
        KVCacheDescription description;
        const auto once = kvCacheTableRow(description, 5000);
        description.batch = 3;
        description.numbers = 4;
        const auto scaled = kvCacheTableRow(description, 5000);
        QCOMPARE(scaled.mixedBytes, 6 * once.mixedBytes);
        QCOMPARE(scaled.allGlobalBytes, 6 * once.allGlobalBytes);
        QCOMPARE(scaled.reduction, once.reduction);
    }

    // The arithmetic and the cache itself agree, whatever the windows.
    void tableEqualsARealCache()
    {
        KVCacheDescription description;
        description.windows = {3, 0, 20, 0, 1};
        description.numKvHeads = 2;
        description.headDim = 5;
        description.batch = 2;
        CacheShape shape;
        for (const auto window : description.windows)
            shape.layers.push_back({window > 0, window});
        shape.numKvHeads = description.numKvHeads;
        shape.headDim = description.headDim;
        shape.batch = description.batch;
        MixedKVCache cache(shape, at::kBFloat16);
        for (const std::int64_t length : {1, 2, 9, 1, 30}) {
            const auto chunk = at::zeros({2, 2, length, 5});
            cache.beginChunk(length);
            for (std::int64_t layer = 0; layer < 5; ++layer)
                cache.stage(layer, chunk, chunk);
            cache.commitChunk();
            const auto row = kvCacheTableRow(description, cache.seqLen());
            QCOMPARE(cache.liveBytes(), row.mixedBytes);
            QCOMPARE(cache.snapshot().allGlobalBytes, row.allGlobalBytes);
        }
    }

    void impossibleDescriptionsAreRefused_data()
    {
        QTest::addColumn<int>("field");
        const char* fields[] = {"no layers", "heads",  "head dim",       "element size",
                                "batch",     "window", "length of zero", "more bytes than count"};
        for (int i = 0; i < 8; ++i)
            QTest::newRow(fields[i]) << i;
    }
    void impossibleDescriptionsAreRefused()
    {
        QFETCH(int, field);
        KVCacheDescription description;
        std::int64_t tokens = 4096;
        switch (field) {
        case 0:
            description.windows.clear();
            break;
        case 1:
            description.numKvHeads = 0;
            break;
        case 2:
            description.headDim = -96;
            break;
        case 3:
            description.numbers = 0;
            break;
        case 4:
            description.batch = 0;
            break;
        case 5:
            description.windows[3] = -1;
            break;
        case 6:
            tokens = 0;
            break;
        default:
            tokens = std::numeric_limits<std::int64_t>::max() / 2;
            break;
        }
        QVERIFY_EXCEPTION_THROWN(kvCacheTableRow(description, tokens), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestKVCacheTable)
#include "tst_kv_cache_table.moc"
