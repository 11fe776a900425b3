#include "engine/model/decode_step.h"
#include "engine/model/decoder.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <ATen/Parallel.h>
#include <ATen/ops/arange.h>

#include <QDir>
#include <QtTest>

#include <random>

using namespace kvscope;

namespace {

at::Tensor randomIds(const Decoder& decoder, std::int64_t length, std::mt19937& random)
{
    at::Tensor ids = at::arange(length).view({1, length});
    std::uniform_int_distribution<std::int64_t> any(0, decoder.config().vocabularySize - 1);
    for (std::int64_t i = 0; i < length; ++i)
        ids[0][i] = any(random);
    return ids;
}

/// The same by tensor operations: who watches the layers gets those.
at::Tensor byOperations(Decoder& decoder, const at::Tensor& ids, MixedKVCache& cache)
{
    const ForwardHooks hooks;
    ForwardOptions options;
    options.hooks = &hooks;
    return decoder.forward(ids, &cache, options);
}

} // namespace

/// DecodeStep against the layers by tensor operations, on every family that it supports.
class TestDecodeStep : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void cleanup() { at::set_num_threads(m_threads); }

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
        for (const char* folder :
             {"gptosslite/tiny_a", "gptosslite/tiny_b", "hf/llama", "gguf/llama_q4_1.gguf",
              "gguf/llama_q8_0.gguf", "gguf/llama_kmix.gguf", "gguf/llama_f16.gguf"})
            add(folder);
        const QDir families(QString::fromStdString(goldenPath("hf/families")));
        for (const QString& name : families.entryList(QDir::Dirs | QDir::NoDotAndDotDot))
            add("hf/families/" + name);
        QVERIFY2(supported >= 10, qPrintable(QString::number(supported)));
    }
    void everyFamilyGivesWhatOperationsGive()
    {
        QFETCH(QString, model);
        QFETCH(int, threads);
        at::set_num_threads(threads);
        for (const ComputeType type : {ComputeType::Float32, ComputeType::Auto}) {
            const auto decoder = goldenDecoder(model.toStdString(), type);
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
                // Attention's parts are merged in another order; what is rounded to 8 or 16 bits
                // behind it may round to the next number.
                const double tolerance = type == ComputeType::Float32 ? 1e-5 : 5e-3;
                const QString worst =
                    compareTensors(got, byOperations(*decoder, id, other), tolerance, tolerance);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
                QCOMPARE(got.sizes(), at::IntArrayRef({1, 1, decoder->config().vocabularySize}));
            }
        }
    }

    void theFirstTokenOfAllIsAStepToo()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        std::mt19937 random(2);
        const at::Tensor id = randomIds(*decoder, 1, random);
        MixedKVCache cache = decoder->makeCache();
        MixedKVCache other = decoder->makeCache();
        const QString worst = compareTensors(decoder->forward(id, &cache),
                                             byOperations(*decoder, id, other), 1e-5, 1e-5);
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
        const QString worst = compareTensors(decoder->forward(id, &cache),
                                             byOperations(*decoder, id, other), 1e-5, 1e-5);
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
