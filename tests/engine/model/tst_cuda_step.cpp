#include "engine/base/errors.h"
#include "engine/kernels/cuda/cuda_backend.h"
#include "engine/model/cuda_step.h"
#include "engine/model/decoder.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/randn.h>

#include <QTest>

#include <random>

using namespace kvscope;

namespace {

std::unique_ptr<Decoder> decoderOn(const std::string& device, const QString& model, CacheType cache,
                                   ComputeType compute = ComputeType::Float32)
{
    DecoderOptions options;
    options.device = device;
    options.computeType = compute;
    options.cacheType = cache;
    return std::make_unique<Decoder>(openCheckpoint(goldenPath(model.toStdString())), options);
}

QString difference(const at::Tensor& got, const at::Tensor& want, double tolerance)
{
    return compareTensors(got.cpu(), want.cpu(), tolerance * want.abs().max().item<double>(),
                          tolerance);
}

/// What scripts/gpu-check packs.
constexpr const char* kModels[] = {"gptosslite/tiny_b",    "gguf/llama_q4_1.gguf",
                                   "gguf/llama_kmix.gguf", "hf/families/gemma3",
                                   "hf/families/gpt_oss",  "hf/families/gpt_oss_mxfp4",
                                   "hf/families/olmo2",    "hf/families/qwen2_moe"};

} // namespace

/// Decode steps on a GPU, whose graph is captured with the second one and again where the cache has
/// grown, against those on the CPU. Without a GPU each is skipped by name; tst_cuda_step_on_cpu
/// runs the same kernels then.
class TestCudaStep : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // Before the first tensor: LibTorch settles once on whether CUDA is there.
    void initTestCase()
    {
        try {
            ensureCudaBackend();
        } catch (const ArgumentError& error) {
            m_whyNot = error.what();
        }
    }
    void init()
    {
        if (!m_whyNot.isEmpty())
            QSKIP(qPrintable("CUDA steps were not run: " + m_whyNot));
    }

    void stepsAreThoseOfTheCpu_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("cache");
        for (const char* model : kModels)
            for (const auto cache :
                 {CacheType::Float32, CacheType::BFloat16, CacheType::Int8, CacheType::Fp8})
                QTest::addRow("%s, cache %d", model, static_cast<int>(cache))
                    << model << static_cast<int>(cache);
    }
    void stepsAreThoseOfTheCpu()
    {
        QFETCH(QString, model);
        QFETCH(int, cache);
        const auto type = static_cast<CacheType>(cache);
        const auto gpu = decoderOn("cuda", model, type);
        const auto cpu = decoderOn("cpu", model, type);
        MixedKVCache onGpu = gpu->makeCache();
        MixedKVCache onCpu = cpu->makeCache();
        std::mt19937 random(5);
        const at::Tensor prompt = randomIds(*cpu, 60, random);
        gpu->forward(prompt, &onGpu);
        cpu->forward(prompt, &onCpu);
        // What is rounded to 8 bits behind sums in another order may round to the next number.
        const double tolerance = type == CacheType::Float32 ? 1e-4
                                 : type == CacheType::Fp8   ? 1e-1
                                                            : 3e-2;
        for (int step = 0; step < 12; ++step) {
            if (step == 6)
                onGpu.reserve(onGpu.globalCapacity() + 100);
            const at::Tensor id = randomIds(*cpu, 1, random);
            const QString worst = compareTensors(gpu->forward(id, &onGpu).cpu(),
                                                 cpu->forward(id, &onCpu), tolerance, tolerance);
            QVERIFY2(worst.isEmpty(), qPrintable(QString("step %1: %2").arg(step).arg(worst)));
        }
    }

    // Weights in bfloat16, and activations of the operations, too.
    void bfloat16StepsAreThoseOfOperations_data()
    {
        QTest::addColumn<QString>("model");
        for (const char* model : kModels)
            QTest::newRow(model) << model;
    }
    void bfloat16StepsAreThoseOfOperations()
    {
        QFETCH(QString, model);
        const auto checkpoint = openCheckpoint(goldenPath(model.toStdString()));
        QVERIFY2(CudaStep::supports(checkpoint->config,
                                    loadWeights(*checkpoint, at::kCPU, ComputeType::Float32, {})),
                 "nothing but operations would be compared");
        const auto decoder = decoderOn("cuda", model, CacheType::BFloat16, ComputeType::BFloat16);
        MixedKVCache cache = decoder->makeCache();
        std::mt19937 random(6);
        decoder->forward(randomIds(*decoder, 40, random), &cache);
        for (int step = 0; step < 4; ++step) {
            const at::Tensor id = randomIds(*decoder, 1, random);
            MixedKVCache other = cache.fork(cache.seqLen());
            const QString worst =
                difference(decoder->forward(id, &cache), byOperations(*decoder, id, other), 6e-2);
            QVERIFY2(worst.isEmpty(), qPrintable(QString("step %1: %2").arg(step).arg(worst)));
        }
    }

    // Many tiles and splits, room for many more, positions taken back between replays.
    void longCachesAreSplit()
    {
        constexpr std::int64_t kLength = 5000;
        const auto decoder = decoderOn("cuda", "gptosslite/tiny_b", CacheType::Float32);
        MixedKVCache cache = decoder->makeCache(1, 8);
        cache.reserve(140'000);
        const CacheShape& shape = cache.shape();
        cache.beginChunk(kLength);
        for (std::size_t layer = 0; layer < shape.layers.size(); ++layer) {
            const at::Tensor rows =
                at::randn({1, shape.numKvHeads, kLength, shape.headDim}, cache.options());
            cache.stage(static_cast<std::int64_t>(layer), rows, rows);
        }
        cache.commitChunk();
        std::mt19937 random(7);
        for (int step = 0; step < 6; ++step) {
            if (step == 3)
                QCOMPARE(cache.truncate(kLength), kLength);
            const at::Tensor id = randomIds(*decoder, 1, random);
            MixedKVCache other = cache.fork(cache.seqLen());
            const QString worst =
                difference(decoder->forward(id, &cache), byOperations(*decoder, id, other), 1e-4);
            QVERIFY2(worst.isEmpty(), qPrintable(QString("step %1: %2").arg(step).arg(worst)));
        }
    }

private:
    QString m_whyNot;
};

QTEST_GUILESS_MAIN(TestCudaStep)
#include "tst_cuda_step.moc"
