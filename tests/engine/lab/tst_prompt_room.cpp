#include "engine/base/errors.h"
#include "engine/generate/generator.h"
#include "engine/generate/prefill.h"
#include "engine/lab/memory_costs.h"
#include "engine/lab/prompt_room.h"
#include "tests/support/models.h"

#include <QtTest>

using namespace kvscope;

// Whether a prompt fits the memory, with its activations.
class TestPromptRoom : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void activationsCount()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const MixedKVCache cache = decoder->makeCache();
        const PromptNeed whole = promptNeed(*decoder, cache, 100'000, 0);
        const PromptNeed chunks = promptNeed(*decoder, cache, 100'000, 64);
        QCOMPARE(whole.cacheBytes, cacheBytesNeeded(cache, 100'000));
        QCOMPARE(whole.activationBytes, activationBytes(decoder->config(), 100'000));
        QCOMPARE(chunks.activationBytes, activationBytes(decoder->config(), 64));
        QCOMPARE(promptNeed(*decoder, cache, 32, 64).activationBytes,
                 activationBytes(decoder->config(), 32));
        const std::uint64_t between = whole.total() - 1; // enough for the cache, and for chunks
        const QString reason =
            QString::fromStdString(reasonAgainstPrompt(*decoder, cache, 100'000, 0, between));
        QVERIFY2(reason.contains("for activations") && reason.contains("are free"),
                 qPrintable(reason));
        QVERIFY(reasonAgainstPrompt(*decoder, cache, 100'000, 0, whole.total()).empty());
        QVERIFY(reasonAgainstPrompt(*decoder, cache, 100'000, 64, between).empty());
        QVERIFY(reasonAgainstPrompt(*decoder, cache, 100'000, 0, std::nullopt).empty());
    }

    // The memory of the run before goes when this one takes its own.
    void whatTheCacheHoldsAlreadyIsFree()
    {
        const auto decoder = goldenDecoder("hf/llama");
        MixedKVCache cache = decoder->makeCache();
        const std::vector<TokenId> ids(200, 1);
        decoder->forward(idsTensor(ids.data(), 200), &cache, {});
        QVERIFY(cache.touchedBytes() > 0);
        const std::uint64_t free =
            promptNeed(*decoder, cache, 200, 0).total() - cache.touchedBytes();
        QVERIFY(reasonAgainstPrompt(*decoder, cache, 200, 0, free).empty());
        QVERIFY(!reasonAgainstPrompt(*decoder, decoder->makeCache(), 200, 0, free).empty());
    }

    void whatDoesNotFitIsRefused()
    {
        const auto decoder = goldenDecoder("hf/llama");
        requirePromptFits(*decoder, decoder->makeCache(), 100, 0);
        QVERIFY_EXCEPTION_THROWN(
            requirePromptFits(*decoder, decoder->makeCache(), std::int64_t{1} << 36, 64),
            MemoryError);
    }
};

QTEST_GUILESS_MAIN(TestPromptRoom)
#include "tst_prompt_room.moc"
