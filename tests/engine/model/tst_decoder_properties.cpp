#include "engine/base/errors.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/model/decoder.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/empty.h>

#include <QtTest>

#include <filesystem>
#include <random>

using namespace kvscope;

// Properties on seeded random lengths and chunkings, on three models: mixed cache with sinks and
// experts, without pruning and with an odd layer count, and all-global llama in a block format.
class TestDecoderProperties : public QObject
{
    Q_OBJECT

    static constexpr int kTrials = 12;

    static at::Tensor randomIds(const Decoder& decoder, std::int64_t batch, std::int64_t length,
                                std::mt19937& random)
    {
        at::Tensor ids = at::empty({batch, length}, at::kLong);
        std::uniform_int_distribution<std::int64_t> any(0, decoder.config().vocabularySize - 1);
        auto* values = ids.mutable_data_ptr<std::int64_t>();
        for (std::int64_t i = 0; i < ids.numel(); ++i)
            values[i] = any(random);
        return ids;
    }

    static at::Tensor run(Decoder& decoder, const at::Tensor& ids, MixedKVCache* cache)
    {
        ForwardOptions options;
        options.logits = LogitPositions::All;
        return decoder.forward(ids, cache, options);
    }

    /// Runs ids in chunks of random size.
    static at::Tensor runInChunks(Decoder& decoder, const at::Tensor& ids, MixedKVCache& cache,
                                  std::mt19937& random)
    {
        std::vector<at::Tensor> parts;
        for (std::int64_t first = 0; first < ids.size(1);) {
            std::uniform_int_distribution<std::int64_t> size(
                1, std::min<std::int64_t>(20, ids.size(1) - first));
            const std::int64_t count = size(random);
            parts.push_back(run(decoder, ids.narrow(1, first, count), &cache));
            first += count;
        }
        return at::cat(parts, 1);
    }

    static QString difference(const at::Tensor& got, const at::Tensor& want)
    {
        return compareTensors(got, want, 2e-4, 1e-4);
    }

private Q_SLOTS:
    void cachedEqualsUncachedAndEveryChunkingEqualsOneShot_data() { addModels(); }
    void cachedEqualsUncachedAndEveryChunkingEqualsOneShot()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        std::mt19937 random(7);
        for (int trial = 0; trial < kTrials; ++trial) {
            const std::int64_t batch = 1 + trial % 3;
            const at::Tensor ids =
                randomIds(*decoder, batch, 1 + static_cast<std::int64_t>(random() % 60), random);
            const at::Tensor uncached = run(*decoder, ids, nullptr);
            MixedKVCache oneShot = decoder->makeCache(batch);
            QString worst = difference(run(*decoder, ids, &oneShot), uncached);
            QVERIFY2(worst.isEmpty(), qPrintable(worst));
            MixedKVCache chunked = decoder->makeCache(batch);
            worst = difference(runInChunks(*decoder, ids, chunked, random), uncached);
            QVERIFY2(worst.isEmpty(), qPrintable(worst));
        }
    }

    // Of a chunk the last layer goes on with the positions that are asked for alone.
    void whatIsNotAskedForChangesNothing_data()
    {
        addModels();
        for (const char* family : {"gemma3", "mixtral", "olmo2", "phi3_partial", "gpt2"})
            QTest::newRow(family) << QString("hf/families/") + family;
    }
    void whatIsNotAskedForChangesNothing()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        std::mt19937 random(23);
        for (const std::int64_t length : {1, 2, 40}) {
            const at::Tensor ids = randomIds(*decoder, 2, length, random);
            const at::Tensor next = randomIds(*decoder, 2, 1, random);
            MixedKVCache all = decoder->makeCache(2);
            const at::Tensor want = run(*decoder, ids, &all).narrow(1, length - 1, 1);
            const at::Tensor wantNext = run(*decoder, next, &all);
            for (const auto logits : {LogitPositions::Last, LogitPositions::None}) {
                ForwardOptions options;
                options.logits = logits;
                MixedKVCache cache = decoder->makeCache(2);
                const at::Tensor got = decoder->forward(ids, &cache, options);
                QCOMPARE(got.defined(), logits == LogitPositions::Last);
                QString worst = got.defined() ? difference(got, want) : QString();
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
                QCOMPARE(cache.seqLen(), length);
                worst = difference(run(*decoder, next, &cache), wantNext);
                QVERIFY2(worst.isEmpty(), qPrintable(worst));
            }
        }
    }

    void truncatedAndRefilledEqualsFresh_data() { addModels(); }
    void truncatedAndRefilledEqualsFresh()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        std::mt19937 random(11);
        int numExact = 0;
        for (int trial = 0; trial < kTrials; ++trial) {
            const std::int64_t slack = trial % 4 * 5;
            const at::Tensor first =
                randomIds(*decoder, 1, 2 + static_cast<std::int64_t>(random() % 40), random);
            const at::Tensor second =
                randomIds(*decoder, 1, 1 + static_cast<std::int64_t>(random() % 30), random);
            MixedKVCache cache = decoder->makeCache(1, slack);
            runInChunks(*decoder, first, cache, random);
            const auto wanted =
                static_cast<std::int64_t>(random() % static_cast<unsigned>(first.size(1) + 1));
            const std::int64_t kept = cache.truncate(wanted);
            QVERIFY(kept == wanted || kept == 0);
            numExact += kept > 0 ? 1 : 0;
            const at::Tensor sequence = at::cat({first.narrow(1, 0, kept), second}, 1);
            const at::Tensor fresh =
                run(*decoder, sequence, nullptr).narrow(1, kept, second.size(1));
            const QString worst = difference(runInChunks(*decoder, second, cache, random), fresh);
            QVERIFY2(worst.isEmpty(), qPrintable(worst));
        }
        QVERIFY(numExact > 0);
    }

    void forkContinuesOnItsOwn_data() { addModels(); }
    void forkContinuesOnItsOwn()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        std::mt19937 random(13);
        const at::Tensor shared = randomIds(*decoder, 1, 21, random);
        const at::Tensor left = randomIds(*decoder, 1, 9, random);
        const at::Tensor right = randomIds(*decoder, 1, 9, random);
        MixedKVCache cache = decoder->makeCache();
        run(*decoder, shared, &cache);
        MixedKVCache fork = cache.fork(21);
        const at::Tensor onOriginal = run(*decoder, left, &cache);
        const at::Tensor onFork = run(*decoder, right, &fork);
        const auto fresh = [&](const at::Tensor& tail) {
            return run(*decoder, at::cat({shared, tail}, 1), nullptr).narrow(1, 21, 9);
        };
        QVERIFY(difference(onOriginal, fresh(left)).isEmpty());
        QVERIFY(difference(onFork, fresh(right)).isEmpty());
    }

    void aFileThatBecomesShorterIsTold()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "cut.gguf";
        std::filesystem::copy_file(goldenPath("gguf/llama_q4_1.gguf"), path);
        Decoder decoder(openCheckpoint(path), {});
        std::mt19937 random(14);
        const at::Tensor ids = randomIds(decoder, 1, 24, random);
        MixedKVCache cache = decoder.makeCache();
        run(decoder, ids, &cache);
        std::filesystem::resize_file(path, std::filesystem::file_size(path) / 4);
        for (const std::int64_t count : {1, 24}) { // a step, a chunk
            QVERIFY_THROWS_EXCEPTION(CheckpointError,
                                     run(decoder, ids.narrow(1, 0, count), &cache));
            QCOMPARE(cache.seqLen(), 24);
        }
    }

private:
    static void addModels()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("gpt-oss-lite, main shape") << "gptosslite/tiny_a";
        QTest::newRow("gpt-oss-lite, option corners") << "gptosslite/tiny_b";
        QTest::newRow("llama, Q4_1") << "gguf/llama_q4_1.gguf";
    }
};

QTEST_GUILESS_MAIN(TestDecoderProperties)
#include "tst_decoder_properties.moc"
