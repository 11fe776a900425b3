#include "engine/base/errors.h"
#include "engine/model/decoder_types.h"
#include "tests/support/golden_json.h"

#include <QtTest>

using namespace kvscope;

class TestDecoderTypes : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void weightsAreCalledWhatTheyAre()
    {
        const auto blocks = openCheckpoint(goldenPath("gguf/llama_q4_1.gguf"));
        const std::string stored = blocks->storageSummary() + " weights";
        QCOMPARE(weightsText(*blocks, ComputeType::Auto), stored);
        QCOMPARE(weightsText(*blocks, ComputeType::BFloat16), stored + ", plain ones as bfloat16");
        const auto plain = openCheckpoint(goldenPath("hf/llama"));
        QCOMPARE(weightsText(*plain, ComputeType::Float16), std::string("float16 weights"));
    }

    void theCacheFollowsTheComputeTypeUnlessItIsNamed()
    {
        QCOMPARE(cacheScalarType(CacheType::Auto, ComputeType::Auto), at::kBFloat16);
        QCOMPARE(cacheScalarType(CacheType::Auto, ComputeType::Float32), at::kFloat);
        QCOMPARE(cacheScalarType(CacheType::Auto, ComputeType::Float16), at::kHalf);
        QCOMPARE(cacheScalarType(CacheType::Int8, ComputeType::Float32), at::kChar);
    }

    void devicesThatAreNoneAreRefused()
    {
        QVERIFY(parsedDevice("cpu").is_cpu());
        for (const char* name : {"", "gpu", "cuda:", "cuda:x", "cuda:123"})
            QVERIFY_EXCEPTION_THROWN(parsedDevice(name), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestDecoderTypes)
#include "tst_decoder_types.moc"
