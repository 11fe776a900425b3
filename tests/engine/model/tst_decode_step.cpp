#include "engine/base/errors.h"
#include "engine/kernels/linear/linear.h"
#include "engine/model/decode_step.h"
#include "engine/model/decoder.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>
#include <ATen/ops/full.h>

#include <QtTest>

#include <random>

using namespace kvscope;

namespace {

/// What differs between a step and operations, of two caches that hold the same.
QString stepAgainstOperations(Decoder& decoder, const at::Tensor& id, MixedKVCache& cache,
                              MixedKVCache& other)
{
    return compareTensors(decoder.forward(id, &cache), byOperations(decoder, id, other), 1e-5,
                          1e-5);
}

/// A DecodeStep on its own, so that nothing else can have answered.
class OneStep
{
public:
    explicit OneStep(const std::string& path)
        : m_checkpoint(openCheckpoint(goldenPath(path)))
        , m_weights(loadWeights(*m_checkpoint, at::kCPU, ComputeType::Float32, {}))
        , m_step(m_checkpoint->config, m_weights,
                 {.precision = Precision::Exact,
                  .weightBytes = 1,     // all is streamed; a tiny model's own step streams
                  .lastCacheBytes = 0}) // nothing
    {
    }

    at::Tensor run(std::int64_t id, MixedKVCache& cache)
    {
        const ModelConfig& config = m_checkpoint->config;
        std::vector<RotaryRows> tables;
        std::vector<const RotaryRows*> rows;
        for (const LayerConfig& layer : config.layers)
            tables.push_back(
                RotaryTable(config.rotaryOf(layer), config.headDim, layer.identityPairs)
                    .rows(cache.seqLen(), 1, cache.seqLen() + 1));
        for (const RotaryRows& table : tables)
            rows.push_back(&table);
        at::Tensor x = lookUpRows(m_weights.embedding, at::full({1}, id, at::kLong));
        at::Tensor logits = at::empty({1, 1, config.vocabularySize}, at::kFloat);
        const std::int64_t position = cache.seqLen();
        cache.beginChunk(1);
        m_step.run(x.mutable_data_ptr<float>(), position, rows, cache,
                   logits.mutable_data_ptr<float>(), {});
        cache.commitChunk();
        return logits;
    }

private:
    std::shared_ptr<const Checkpoint> m_checkpoint;
    DecoderWeights m_weights;
    DecodeStep m_step;
};

} // namespace

/// DecodeStep against the layers by tensor operations, on every family that it supports.
class TestDecodeStep : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { at::set_num_threads(m_threads); }

    void theCacheGivesWayToWeights()
    {
        const StepSettings settings{.weightBytes = 30, .lastCacheBytes = 32};
        QVERIFY(!settings.streamsWeights());
        QVERIFY(!settings.streamsCache(2));
        QVERIFY(settings.streamsCache(3));
        const StepSettings large{.weightBytes = 33, .lastCacheBytes = 32};
        QVERIFY(large.streamsWeights());
        QVERIFY(large.streamsCache(0));
    }

    void everyFamilyGivesWhatOperationsGive_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("threads");
        int supported = 0;
        const auto add = [&](const QString& model) {
            const auto decoder = goldenDecoder(model.toStdString());
            if (!DecodeStep::supports(decoder->config()))
                return;
            for (const int threads : {1, 2, 5})
                QTest::addRow("%s, %d threads", qPrintable(model), threads) << model << threads;
            ++supported;
        };
        for (const std::string& model : goldenModels())
            add(QString::fromStdString(model));
        QVERIFY2(supported >= 10, qPrintable(QString::number(supported)));
    }
    void everyFamilyGivesWhatOperationsGive()
    {
        QFETCH(QString, model);
        QFETCH(int, threads);
        at::set_num_threads(threads);
        struct Numbers
        {
            ComputeType type;
            CacheType cache;
            double tolerance;
        };
        // Attention's parts are merged in another order; what is rounded to 8 or 16 bits behind it
        // may round to the next number.
        for (const Numbers& numbers : {Numbers{ComputeType::Float32, CacheType::Auto, 1e-5},
                                       Numbers{ComputeType::Auto, CacheType::Auto, 5e-3},
                                       Numbers{ComputeType::Float32, CacheType::Int8, 2e-2},
                                       Numbers{ComputeType::Float32, CacheType::Fp8, 5e-2}}) {
            const auto decoder = goldenDecoder(model.toStdString(), numbers.type, numbers.cache);
            std::mt19937 random(5);
            MixedKVCache cache = decoder->makeCache();
            MixedKVCache other = decoder->makeCache();
            const at::Tensor prompt =
                randomIds(*decoder, 1 + static_cast<std::int64_t>(random() % 90), random);
            decoder->forward(prompt, &cache);
            decoder->forward(prompt, &other);
            for (int step = 0; step < 20; ++step) {
                const at::Tensor id = randomIds(*decoder, 1, random);
                const at::Tensor got = decoder->forward(id, &cache);
                const QString worst = compareTensors(got, byOperations(*decoder, id, other),
                                                     numbers.tolerance, numbers.tolerance);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
                QCOMPARE(got.sizes(), at::IntArrayRef({1, 1, decoder->config().vocabularySize}));
            }
        }
    }

    void byItselfItIsWhatTheDecoderAnswers_data()
    {
        QTest::addColumn<QString>("model");
        for (const char* model : {"gptosslite/tiny_a", "hf/llama", "hf/families/qwen2_moe"})
            QTest::newRow(model) << model;
    }
    void byItselfItIsWhatTheDecoderAnswers()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        OneStep step(model.toStdString());
        std::mt19937 random(9);
        MixedKVCache cache = decoder->makeCache();
        MixedKVCache other = decoder->makeCache();
        const at::Tensor ids = randomIds(*decoder, 40, random);
        for (std::int64_t i = 0; i < 40; ++i) {
            const at::Tensor alone = step.run(ids[0][i].item<std::int64_t>(), cache);
            QVERIFY(alone.equal(decoder->forward(ids.narrow(1, i, 1), &other)));
        }
        MixedKVCache whole = decoder->makeCache();
        const at::Tensor last = decoder->forward(ids, &whole);
        const at::Tensor id = randomIds(*decoder, 1, random);
        const QString worst = compareTensors(step.run(id.item<std::int64_t>(), cache),
                                             byOperations(*decoder, id, whole), 2e-5, 2e-5);
        QVERIFY2(worst.isEmpty(), qPrintable(worst));
    }

    void aFullCacheIsAnErrorAndTheNextStepIsWhole()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::mt19937 random(8);
        CacheShape shape = decoder->makeCache().shape();
        shape.capTokens = 12;
        shape.ringSlack = 4; // so that a position can be taken back
        MixedKVCache cache(shape, decoder->makeCache().options());
        decoder->forward(randomIds(*decoder, 12, random), &cache);
        MixedKVCache other = cache.fork(12);
        const at::Tensor id = randomIds(*decoder, 1, random);
        QVERIFY_EXCEPTION_THROWN(decoder->forward(id, &cache), MemoryError);
        QCOMPARE(cache.seqLen(), std::int64_t(12));
        QCOMPARE(cache.truncate(11), std::int64_t(11));
        QCOMPARE(other.truncate(11), std::int64_t(11));
        const QString worst = stepAgainstOperations(*decoder, id, cache, other);
        QVERIFY2(worst.isEmpty(), qPrintable(worst));
    }

    void theFirstTokenOfAllIsAStepToo()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::mt19937 random(2);
        const at::Tensor id = randomIds(*decoder, 1, random);
        MixedKVCache cache = decoder->makeCache();
        MixedKVCache other = decoder->makeCache();
        const QString worst = stepAgainstOperations(*decoder, id, cache, other);
        QVERIFY2(worst.isEmpty(), qPrintable(worst));
        ForwardOptions none;
        none.logits = LogitPositions::None;
        QVERIFY(!decoder->forward(id, &cache, none).defined());
        QCOMPARE(cache.seqLen(), std::int64_t(2));
    }

    void aStepThatStopsLeavesTheCacheAsItWas()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::mt19937 random(3);
        MixedKVCache cache = decoder->makeCache();
        decoder->forward(randomIds(*decoder, 30, random), &cache);
        MixedKVCache other = cache.fork(30);
        const at::Tensor id = randomIds(*decoder, 1, random);
        std::stop_source source;
        source.request_stop();
        ForwardOptions stopped;
        stopped.stop = source.get_token();
        QVERIFY_EXCEPTION_THROWN(decoder->forward(id, &cache, stopped), Stopped);
        QCOMPARE(cache.seqLen(), std::int64_t(30));
        const QString worst = stepAgainstOperations(*decoder, id, cache, other);
        QVERIFY2(worst.isEmpty(), qPrintable(worst));
    }

    void theSameStepGivesTheSameBits()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::mt19937 random(4);
        MixedKVCache cache = decoder->makeCache();
        decoder->forward(randomIds(*decoder, 50, random), &cache);
        const at::Tensor id = randomIds(*decoder, 1, random);
        MixedKVCache first = cache.fork(50);
        const at::Tensor logits = decoder->forward(id, &first);
        for (int i = 0; i < 20; ++i) {
            MixedKVCache again = cache.fork(50);
            QVERIFY(decoder->forward(id, &again).equal(logits));
        }
    }

private:
    int m_threads = at::get_num_threads();
};

QTEST_GUILESS_MAIN(TestDecodeStep)
#include "tst_decode_step.moc"
