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
        // Hugging Face's MXFP4, whose files say bytes.
        const auto experts = openCheckpoint(goldenPath("hf/families/gpt_oss_mxfp4"));
        QCOMPARE(weightsText(*experts, ComputeType::BFloat16),
                 experts->storageSummary() + " weights, plain ones as bfloat16");
        const auto plain = openCheckpoint(goldenPath("hf/llama"));
        QCOMPARE(weightsText(*plain, ComputeType::Float16), std::string("float16 weights"));
    }

    void theCacheFollowsTheComputeTypeUnlessItIsNamed()
    {
        QCOMPARE(cacheScalarType(CacheType::Auto, ComputeType::Auto), at::kBFloat16);
        QCOMPARE(cacheScalarType(CacheType::Auto, ComputeType::Float32), at::kFloat);
        QCOMPARE(cacheScalarType(CacheType::Auto, ComputeType::Float16), at::kHalf);
        QCOMPARE(cacheScalarType(CacheType::Int8, ComputeType::Float32), at::kChar);
        QCOMPARE(cacheScalarType(CacheType::Fp8, ComputeType::Auto), at::kFloat8_e4m3fn);
    }

    void namesAreReadAsTheyAreWritten()
    {
        const auto blocks = openCheckpoint(goldenPath("gguf/llama_q4_1.gguf"));
        const auto floats = openCheckpoint(goldenPath("hf/llama"));
        QCOMPARE(cacheTypeIn(*blocks, "auto", "auto"), at::kBFloat16);
        QCOMPARE(cacheTypeIn(*floats, "auto", "auto"), at::kFloat);
        QCOMPARE(cacheTypeIn(*floats, "float16", "auto"), at::kHalf);
        QCOMPARE(cacheTypeIn(Checkpoint{}, "auto", "auto"), at::kBFloat16); // a shape alone
        QCOMPARE(cacheTypeIn(*floats, "auto", "int8"), at::kChar);
        QCOMPARE(cacheTypeIn(*floats, "auto", "fp8"), at::kFloat8_e4m3fn);
        QVERIFY_EXCEPTION_THROWN(cacheTypeIn(*floats, "auto", "int7"), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(computeTypeFrom("int8"), ArgumentError);
    }

    // An int8 cache says nothing of what is computed.
    void logitsAreAsWideAsWhatIsComputed()
    {
        QCOMPARE(logitBytes(ComputeType::Auto, at::kCPU), std::int64_t{4});
        QCOMPARE(logitBytes(ComputeType::Float32, at::kCUDA), std::int64_t{4});
        QCOMPARE(logitBytes(ComputeType::Auto, at::kCUDA), std::int64_t{2});
        QCOMPARE(logitBytes(ComputeType::Float16, at::kCUDA), std::int64_t{2});
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
