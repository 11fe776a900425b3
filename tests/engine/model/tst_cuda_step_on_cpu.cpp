// A whole decode step of the CUDA kernels themselves, compiled for the CPU
// (tests/support/cuda_on_cpu), where there is no GPU to run it on.
#include "engine/base/errors.h"
#include "engine/kernels/cuda/step_kernels.h"
#include "engine/kernels/elementwise/elementwise.h"
#include "engine/model/cuda_step.h"
#include "engine/model/decoder.h"
#include "tests/support/cuda_on_cpu/block_of_fibers.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <QtTest>

#include <memory>
#include <optional>
#include <random>
#include <stdexcept>
#include <utility>

using namespace kvscope;

namespace {

class RunnerOnCpu : public StepRunner
{
public:
    void run(std::span<const StepLaunch> launches, bool areNew) override
    {
        numNew += areNew ? 1 : 0;
        if (std::exchange(fails, false))
            throw std::runtime_error("no memory");
        if (const cudaError_t error = launchStep(launches.data(), launches.size(), nullptr);
            error != cudaSuccess)
            throw std::runtime_error("a launch was refused");
    }
    /// Few, so that splits are of several tiles, and more than one.
    int multiprocessors() const override { return 4; }

    int numNew = 0;
    bool fails = false; ///< once
};

/// A CudaStep of a model on the CPU.
class Step
{
public:
    explicit Step(const std::string& path)
        : m_checkpoint(openCheckpoint(goldenPath(path)))
        , m_weights(loadWeights(*m_checkpoint, at::kCPU, ComputeType::Float32, {}))
    {
        const ModelConfig& config = m_checkpoint->config;
        if (!CudaStep::supports(config, m_weights))
            return;
        // One rotation a layer, so that each is found by its number.
        std::vector<std::size_t> rotaryOfLayer;
        for (const LayerConfig& layer : config.layers) {
            rotaryOfLayer.push_back(rotaryOfLayer.size());
            m_rotations.emplace_back(config.rotaryOf(layer), config.headDim, layer.identityPairs);
        }
        auto runner = std::make_unique<RunnerOnCpu>();
        m_runner = runner.get();
        m_step.emplace(config, m_weights, rotaryOfLayer, std::move(runner));
    }

    bool isSupported() const { return m_step.has_value(); }
    int numPlans() const { return m_runner->numNew; }
    void failOnce() { m_runner->fails = true; }

    at::Tensor run(std::int64_t id, MixedKVCache& cache, const std::stop_token& stop = {})
    {
        std::vector<RotaryRows> rows;
        for (const RotaryTable& rotation : m_rotations)
            rows.push_back(rotation.rows(cache.seqLen(), 1, cache.seqLen() + 1));
        return m_step->run(id, rows, cache, stop);
    }

private:
    std::shared_ptr<const Checkpoint> m_checkpoint;
    DecoderWeights m_weights;
    std::vector<RotaryTable> m_rotations;
    RunnerOnCpu* m_runner = nullptr;
    std::optional<CudaStep> m_step;
};

/// As the decoder does behind its step.
at::Tensor scaled(const ModelConfig& config, at::Tensor logits)
{
    logits.mul_(config.logitScale);
    if (config.finalSoftCap > 0.0)
        softCap(logits, config.finalSoftCap);
    return logits;
}

} // namespace

class TestCudaStepOnCpu : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { BlockOfFibers::startsFromTheLast = false; }

    void everyFamilyGivesWhatOperationsGive_data()
    {
        QTest::addColumn<QString>("model");
        int supported = 0;
        const auto add = [&](const QString& model) {
            if (!Step(model.toStdString()).isSupported())
                return;
            QTest::addRow("%s", qPrintable(model)) << model;
            ++supported;
        };
        for (const std::string& model : goldenModels())
            add(QString::fromStdString(model));
        QVERIFY2(supported >= 10, qPrintable(QString::number(supported)));
    }
    void everyFamilyGivesWhatOperationsGive()
    {
        QFETCH(QString, model);
        Step step(model.toStdString());
        struct Numbers
        {
            CacheType cache;
            double tolerance;
            std::int64_t promptLength; ///< rings wrap after 5 to 16
        };
        for (const Numbers& numbers :
             {Numbers{CacheType::Float32, 2e-5, 72}, Numbers{CacheType::Float32, 2e-5, 0},
              Numbers{CacheType::Float32, 2e-5, 4}, Numbers{CacheType::BFloat16, 1e-2, 9},
              Numbers{CacheType::Int8, 2e-2, 72}, Numbers{CacheType::Fp8, 6e-2, 15}}) {
            const auto decoder =
                goldenDecoder(model.toStdString(), ComputeType::Float32, numbers.cache);
            std::mt19937 random(5);
            MixedKVCache cache = decoder->makeCache();
            MixedKVCache other = decoder->makeCache();
            if (!CudaStep::canFill(cache))
                continue;
            if (numbers.promptLength > 0) {
                const at::Tensor prompt = randomIds(*decoder, numbers.promptLength, random);
                decoder->forward(prompt, &cache);
                decoder->forward(prompt, &other);
            }
            for (int i = 0; i < 2; ++i) {
                BlockOfFibers::startsFromTheLast = i == 1;
                const at::Tensor id = randomIds(*decoder, 1, random);
                const at::Tensor want = byOperations(*decoder, id, other);
                const at::Tensor got =
                    scaled(decoder->config(), step.run(id.item<std::int64_t>(), cache));
                QCOMPARE(got.sizes(), want.sizes());
                const QString worst =
                    compareTensors(got, want, numbers.tolerance, numbers.tolerance);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
                QCOMPARE(cache.seqLen(), other.seqLen());
            }
        }
    }

    // A cache that has grown, and one beside it: the sequence of kernels is made anew only then.
    void newArraysAreNewLaunches()
    {
        Step step("gptosslite/tiny_a");
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::mt19937 random(6);
        MixedKVCache cache = decoder->makeCache();
        MixedKVCache other = decoder->makeCache();
        cache.reserve(64);
        const auto compare = [&](std::int64_t count) {
            for (std::int64_t i = 0; i < count; ++i) {
                const at::Tensor id = randomIds(*decoder, 1, random);
                const at::Tensor want = byOperations(*decoder, id, other);
                const QString worst =
                    compareTensors(step.run(id.item<std::int64_t>(), cache), want, 2e-5, 2e-5);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
            }
        };
        compare(4); // from the first position of all
        QCOMPARE(step.numPlans(), 1);
        cache.reserve(cache.globalCapacity() + 1);
        compare(2);
        QCOMPARE(step.numPlans(), 2);
        MixedKVCache beside = cache.fork(cache.seqLen());
        step.run(1, beside);
        QCOMPARE(step.numPlans(), 3);
        compare(2);
        QCOMPARE(step.numPlans(), 4);
    }

    void whatIsCutBackIsOverwritten()
    {
        Step step("gptosslite/tiny_a");
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::mt19937 random(7);
        MixedKVCache cache = decoder->makeCache(1, 8);
        MixedKVCache other = decoder->makeCache(1, 8);
        const at::Tensor prompt = randomIds(*decoder, 70, random);
        decoder->forward(prompt, &cache);
        decoder->forward(prompt, &other);
        for (int i = 0; i < 5; ++i)
            step.run(3 + i, cache);
        QCOMPARE(cache.truncate(70), std::int64_t(70));
        const at::Tensor id = randomIds(*decoder, 1, random);
        const QString worst = compareTensors(step.run(id.item<std::int64_t>(), cache),
                                             byOperations(*decoder, id, other), 2e-5, 2e-5);
        QVERIFY2(worst.isEmpty(), qPrintable(worst));
        QCOMPARE(cache.seqLen(), std::int64_t(71));
    }

    void logitsStayWhenTheNextStepIsRun()
    {
        Step step("gptosslite/tiny_a");
        MixedKVCache cache = goldenDecoder("gptosslite/tiny_a")->makeCache();
        const at::Tensor first = step.run(1, cache);
        const at::Tensor before = first.clone();
        step.run(2, cache);
        QVERIFY(first.equal(before));
    }

    void aStepThatCannotBeRunLeavesTheCacheAsItWas()
    {
        Step step("gptosslite/tiny_a");
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        CacheShape shape = decoder->makeCache().shape();
        shape.capTokens = 3;
        MixedKVCache cache(shape, decoder->makeCache().options());
        step.run(1, cache);
        std::stop_source source;
        source.request_stop();
        QVERIFY_EXCEPTION_THROWN(step.run(2, cache, source.get_token()), Stopped);
        QCOMPARE(cache.seqLen(), std::int64_t(1));
        step.run(2, cache);
        step.run(3, cache);
        QVERIFY_EXCEPTION_THROWN(step.run(4, cache), MemoryError);
        QCOMPARE(cache.seqLen(), std::int64_t(3));
    }

    void anotherModelsCacheIsRefused()
    {
        Step step("gptosslite/tiny_a");
        for (const char* model : {"gptosslite/tiny_b", "hf/llama", "hf/families/gemma3"}) {
            MixedKVCache cache = goldenDecoder(model)->makeCache();
            QVERIFY_EXCEPTION_THROWN(step.run(1, cache), c10::Error);
            QCOMPARE(cache.seqLen(), std::int64_t(0));
        }
    }

    void launchesThatFailedAreMadeAnew()
    {
        Step step("gptosslite/tiny_a");
        MixedKVCache cache = goldenDecoder("gptosslite/tiny_a")->makeCache();
        cache.reserve(64);
        step.failOnce();
        QVERIFY_EXCEPTION_THROWN(step.run(1, cache), std::runtime_error);
        QCOMPARE(cache.seqLen(), std::int64_t(0));
        step.run(1, cache);
        step.run(2, cache);
        QCOMPARE(step.numPlans(), 2);
    }

    void someModelsAreLeftToOperations()
    {
        QVERIFY(!Step("hf/families/gpt2").isSupported());       // LayerNorm
        QVERIFY(!Step("hf/families/starcoder2").isSupported()); // no gate
        QVERIFY(!Step("hf/families/gemma2").isSupported());     // attention's soft cap
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        QVERIFY(CudaStep::canFill(decoder->makeCache(1)));
        QVERIFY(!CudaStep::canFill(decoder->makeCache(2)));
    }
};

QTEST_GUILESS_MAIN(TestCudaStepOnCpu)
#include "tst_cuda_step_on_cpu.moc"
