#include "engine/base/errors.h"
#include "engine/checkpoint/checkpoint.h"
#include "engine/generate/generator.h"
#include "engine/generate/prefill.h"
#include "tests/support/golden_file.h"
#include "tests/support/golden_json.h"
#include "tests/support/models.h"

#include <QtTest>

#include <cmath>
#include <memory>
#include <variant>

using namespace kvscope;

namespace {

std::vector<TokenId> row(const at::Tensor& ids, std::int64_t index)
{
    const at::Tensor flat = ids[index].contiguous();
    const auto* first = flat.const_data_ptr<std::int64_t>();
    return {first, first + flat.numel()};
}

GenerationRequest greedy(std::vector<TokenId> prompt, std::int64_t count)
{
    GenerationRequest request;
    request.prompt = std::move(prompt);
    request.sampling.temperature = 0.0;
    request.sampling.maxNewTokens = count;
    return request;
}

std::vector<TokenId> joined(std::vector<TokenId> prompt, const std::vector<TokenId>& ids)
{
    prompt.insert(prompt.end(), ids.begin(), ids.end());
    return prompt;
}

} // namespace

class TestGenerator : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // One array a layer, from the first chunk on: none is copied, none is left behind.
    void aPromptInChunksIsReservedFor()
    {
        const auto decoder = goldenDecoder("hf/llama");
        Context context(decoder->makeCache());
        GenerationRequest request = greedy(std::vector<TokenId>(90, 3), 4);
        request.chunkTokens = 16;
        generate(*decoder, context, nullptr, request, {}, {});
        const CacheSnapshot snapshot = context.cache().snapshot();
        QCOMPARE(snapshot.peakGrowthBytes, std::uint64_t{0});
        for (const LayerCacheState& layer : snapshot.layers) {
            QCOMPARE(layer.growth.size(), std::size_t{1});
            QCOMPARE(layer.capacity, 94); // and for the four tokens that follow
        }
        // A second turn that has room copies nothing; one that has none makes room for more.
        std::vector<TokenId> more = context.ids();
        more.resize(94, 5);
        request.prompt = more;
        request.sampling.maxNewTokens = 1;
        generate(*decoder, context, nullptr, request, {}, {});
        QCOMPARE(context.cache().snapshot().layers[0].growth.size(), std::size_t{1});
        request.prompt.resize(97, 5);
        generate(*decoder, context, nullptr, request, {}, {});
        QCOMPARE(context.cache().snapshot().layers[0].growth.size(), std::size_t{2});
        QCOMPARE(context.cache().snapshot().layers[0].capacity, 94 + 47 + 1);
        request.prompt.assign(90, 3);
        // What may follow for long is not reserved for beyond what growing would give.
        Context other(decoder->makeCache());
        request.sampling.maxNewTokens = 1'000'000;
        std::stop_source stop;
        GenerationObserver observer;
        observer.generated = [&](const TokenRecord&) { stop.request_stop(); };
        generate(*decoder, other, nullptr, request, observer, stop.get_token());
        QCOMPARE(other.cache().snapshot().layers[0].capacity, 136); // 90 + 45 + 1
    }

    void greedyEqualsTheReferenceWithAndWithoutCache_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<bool>("usesCache");
        QTest::addColumn<int>("chunk");
        for (const char* model : {"tiny_a", "tiny_b"}) {
            QTest::addRow("%s, no cache", model) << model << false << 0;
            for (const int chunk : {0, 1, 5, 8, 9})
                QTest::addRow("%s, chunks of %d", model, chunk) << model << true << chunk;
        }
    }
    void greedyEqualsTheReferenceWithAndWithoutCache()
    {
        QFETCH(QString, model);
        QFETCH(bool, usesCache);
        QFETCH(int, chunk);
        const std::string folder = "gptosslite/" + model.toStdString();
        const auto decoder = goldenDecoder(folder);
        const GoldenFile golden(folder + "/golden.safetensors");
        const at::Tensor& want = golden.tensor("greedy/uncached");
        const std::int64_t promptLength = golden.tensor("long/ids").size(1);
        for (std::int64_t i = 0; i < want.size(0); ++i) {
            Context context(decoder->makeCache());
            GenerationRequest request =
                greedy(row(golden.tensor("long/ids"), i), want.size(1) - promptLength);
            request.usesCache = usesCache;
            request.chunkTokens = chunk;
            const GenerationSummary summary = generate(*decoder, context, nullptr, request, {}, {});
            QCOMPARE(joined(request.prompt, summary.ids), row(want, i));
            QCOMPARE(summary.finish, FinishReason::MaxNewTokens);
            QCOMPARE(summary.nll.size(), summary.ids.size());
        }
    }

    // Longrope divides by other numbers where a sequence is to become longer than the original
    // positions (here 16), so a context made for a shorter one is of no use then.
    void aLongerPlanRotatesAnew()
    {
        const auto decoder = goldenDecoder("hf/families/phi3_longrope");
        const GoldenFile golden("hf/families/phi3_longrope/golden.safetensors");
        const std::vector<TokenId> want = row(golden.tensor("greedy_ids"), 0);
        Context context(decoder->makeCache());
        const std::vector<TokenId> beginning(want.begin(), want.begin() + 10);
        generate(*decoder, context, nullptr, greedy(beginning, 4), {}, {});
        const GenerationRequest request = greedy({want.begin(), want.end() - 8}, 8);
        const GenerationSummary summary = generate(*decoder, context, nullptr, request, {}, {});
        QCOMPARE(summary.reusedTokens, std::int64_t{0});
        QCOMPARE(joined(request.prompt, summary.ids), want);
        // The same plan keeps what it has.
        const GenerationSummary again = generate(*decoder, context, nullptr, request, {}, {});
        QVERIFY(again.reusedTokens > 0);
        QCOMPARE(again.ids, summary.ids);
    }

    void learnedPositionsEndTheContext()
    {
        const auto decoder = goldenDecoder("hf/families/gpt2"); // 64 positions
        const GoldenFile golden("hf/families/gpt2/golden.safetensors");
        GenerationRequest request = greedy(row(golden.tensor("ids"), 0), 100);
        Context context(decoder->makeCache());
        const GenerationSummary summary = generate(*decoder, context, nullptr, request, {}, {});
        QCOMPARE(summary.finish, FinishReason::ContextFull);
        QCOMPARE(context.cache().seqLen(), std::int64_t{64});
        request.prompt.resize(65, 3);
        QVERIFY_EXCEPTION_THROWN(generate(*decoder, context, nullptr, request, {}, {}),
                                 ArgumentError);
    }

    void seededSamplingEqualsTheReference_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("seed");
        QTest::newRow("tiny_a") << "tiny_a" << 1101;
    }
    void seededSamplingEqualsTheReference()
    {
        QFETCH(QString, model);
        QFETCH(int, seed);
        const std::string folder = "gptosslite/" + model.toStdString();
        const auto decoder = goldenDecoder(folder);
        const GoldenFile golden(folder + "/golden.safetensors");
        const std::vector<TokenId> want = row(golden.tensor("sampled/ids"), 0);
        Context context(decoder->makeCache());
        GenerationRequest request = greedy({want.begin(), want.end() - 12}, 12);
        request.sampling.temperature = 0.9;
        request.sampling.topP = 0.85;
        request.sampling.seed = static_cast<std::uint64_t>(seed);
        QCOMPARE(joined(request.prompt, generate(*decoder, context, nullptr, request, {}, {}).ids),
                 want);
    }

    void endTokensStopUnlessToldToGoOn()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const GoldenFile golden("gptosslite/tiny_a/golden.safetensors");
        const std::vector<TokenId> all = row(golden.tensor("greedy/uncached"), 0);
        GenerationRequest request = greedy(row(golden.tensor("long/ids"), 0), 24);
        const std::size_t promptLength = request.prompt.size();
        request.endTokens = {all[promptLength + 3]};
        Context context(decoder->makeCache());
        GenerationSummary summary = generate(*decoder, context, nullptr, request, {}, {});
        QCOMPARE(summary.finish, FinishReason::EndToken);
        QCOMPARE(summary.ids.back(), request.endTokens.front());
        QVERIFY(summary.ids.size() <= 4);
        request.sampling.stopsAtEndTokens = false;
        context.reset();
        summary = generate(*decoder, context, nullptr, request, {}, {});
        QCOMPARE(summary.ids.size(), std::size_t{24});
    }

    // The next turn reuses the common prefix and continues as a fresh context would.
    void nextTurnReusesThePrefix_data()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("rings and growing arrays") << "gptosslite/tiny_a";
        QTest::newRow("growing arrays only") << "hf/llama";
    }
    void nextTurnReusesThePrefix()
    {
        QFETCH(QString, model);
        const auto decoder = goldenDecoder(model.toStdString());
        Context context(decoder->makeCache());
        std::vector<TokenId> prompt;
        for (TokenId id = 10; id < 40; ++id)
            prompt.push_back(id * 7 % 290);
        const GenerationSummary first =
            generate(*decoder, context, nullptr, greedy(prompt, 6), {}, {});
        QCOMPARE(first.reusedTokens, 0);

        std::vector<TokenId> longer = joined(prompt, first.ids);
        longer.insert(longer.end(), {5, 6, 7});
        const GenerationSummary second =
            generate(*decoder, context, nullptr, greedy(longer, 8), {}, {});
        QCOMPARE(second.reusedTokens,
                 static_cast<std::int64_t>(prompt.size() + first.ids.size()) - 1);
        Context fresh(decoder->makeCache());
        QCOMPARE(second.ids, generate(*decoder, fresh, nullptr, greedy(longer, 8), {}, {}).ids);

        // A prompt that parts from the cached one early: rings cannot give that prefix back, arrays
        // can.
        std::vector<TokenId> other(prompt.begin(), prompt.begin() + 12);
        other.insert(other.end(), {9, 8, 7, 6});
        const GenerationSummary third =
            generate(*decoder, context, nullptr, greedy(other, 8), {}, {});
        QCOMPARE(third.reusedTokens, decoder->config().numLayers(LayerKind::Windowed) > 0 ? 0 : 12);
        fresh.reset();
        QCOMPARE(third.ids, generate(*decoder, fresh, nullptr, greedy(other, 8), {}, {}).ids);

        // The same prompt again: its last token is run anew, for its logits.
        const GenerationSummary fourth =
            generate(*decoder, fresh, nullptr, greedy(other, 8), {}, {});
        QCOMPARE(fourth.ids, third.ids);
    }

    void promptLossesDoNotDependOnChunks()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        const GoldenFile golden("gptosslite/tiny_a/golden.safetensors");
        const std::vector<TokenId> ids = row(golden.tensor("long/ids"), 0);
        const at::Tensor logProbabilities = golden.tensor("long/logits")[0].log_softmax(-1);
        for (const std::int64_t chunk : {0, 1, 4, 36, 37}) {
            std::vector<double> nll(ids.size(), -1.0);
            GenerationObserver observer;
            observer.promptScored = [&](std::int64_t first, const std::vector<double>& part) {
                std::copy(part.begin(), part.end(), nll.begin() + first);
            };
            GenerationRequest request = greedy(ids, 1);
            request.chunkTokens = chunk;
            request.scoresPrompt = true;
            Context context(decoder->makeCache());
            generate(*decoder, context, nullptr, request, observer, {});
            QCOMPARE(nll[0], -1.0); // nothing comes before the first token
            for (std::size_t i = 1; i < ids.size(); ++i) {
                const double want =
                    -logProbabilities[static_cast<std::int64_t>(i) - 1][ids[i]].item<double>();
                QVERIFY2(std::abs(nll[i] - want) < 5e-4,
                         qPrintable(QString("chunk %1, position %2: %3, not %4")
                                        .arg(chunk)
                                        .arg(i)
                                        .arg(nll[i])
                                        .arg(want)));
            }
        }
    }

    void stopsWithinAStepAndKeepsWholeSteps()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        Context context(decoder->makeCache());
        std::stop_source source;
        GenerationObserver observer;
        int made = 0;
        observer.generated = [&](const TokenRecord&) {
            if (++made == 5)
                source.request_stop();
        };
        const GenerationSummary summary = generate(
            *decoder, context, nullptr, greedy({1, 2, 3}, 1000), observer, source.get_token());
        QCOMPARE(summary.finish, FinishReason::Cancelled);
        QCOMPARE(summary.ids.size(), std::size_t{5});
        QCOMPARE(context.cache().seqLen(), static_cast<std::int64_t>(context.ids().size()));
        QCOMPARE(context.cache().seqLen(), 3 + 4);
        QVERIFY(summary.decodeSeconds > 0.0);
        QCOMPARE(summary.prefilledTokens, 3);
    }

    void stopsBetweenPrefillChunks()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        Context context(decoder->makeCache());
        std::stop_source source;
        GenerationObserver observer;
        observer.prefilled = [&](const PrefillProgress& progress) {
            if (progress.doneTokens == 8)
                source.request_stop();
        };
        GenerationRequest request = greedy(std::vector<TokenId>(40, 3), 5);
        request.chunkTokens = 4;
        const GenerationSummary summary =
            generate(*decoder, context, nullptr, request, observer, source.get_token());
        QCOMPARE(summary.finish, FinishReason::Cancelled);
        QVERIFY(summary.ids.empty());
        QCOMPARE(context.cache().seqLen(), 8);
        QCOMPARE(summary.prefilledTokens, 8); // and the time they took is told
        QVERIFY(summary.prefillSeconds > 0.0);
    }

    void contextLimitEndsTheAnswer()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        Context context(decoder->makeCache());
        GenerationRequest request = greedy({1, 2, 3, 4}, 100);
        request.contextLimit = 10;
        const GenerationSummary summary = generate(*decoder, context, nullptr, request, {}, {});
        QCOMPARE(summary.finish, FinishReason::ContextFull);
        QVERIFY(context.cache().seqLen() <= 10);
        QCOMPARE(static_cast<std::int64_t>(summary.ids.size()),
                 7); // six run, and one that has no room any more
    }

    void refusesEmptyAndForeignPrompts()
    {
        const auto decoder = goldenDecoder("gptosslite/tiny_a");
        Context context(decoder->makeCache());
        QVERIFY_EXCEPTION_THROWN(generate(*decoder, context, nullptr, greedy({}, 1), {}, {}),
                                 ArgumentError);
        QVERIFY_EXCEPTION_THROWN(generate(*decoder, context, nullptr, greedy({1, 512}, 1), {}, {}),
                                 ArgumentError);
        QVERIFY_EXCEPTION_THROWN(generate(*decoder, context, nullptr, greedy({-1}, 1), {}, {}),
                                 ArgumentError);
        QCOMPARE(context.cache().seqLen(), 0);
    }

    void aCacheThatCannotFitIsRefusedWithBothNumbers()
    {
        const auto decoder = goldenDecoder("hf/llama");
        const MixedKVCache cache = decoder->makeCache();
        try {
            requireCacheFits(*decoder, cache, std::int64_t{1} << 40);
            QFAIL("accepted");
        } catch (const MemoryError& error) {
            const QString message(error.what());
            QVERIFY2(message.contains("needs") && message.contains("free"), qPrintable(message));
        }
    }

    // A ring's slots that were never written to are not memory that its reuse would save.
    void aRingThatCannotFitIsRefused()
    {
        const auto checkpoint = openCheckpoint(goldenPath("gptosslite/tiny_a"));
        auto longRings = std::make_shared<Checkpoint>(*checkpoint);
        for (LayerConfig& layer : longRings->config.layers) {
            layer.kind = LayerKind::Windowed;
            layer.window = std::int64_t{1} << 36;
        }
        Decoder decoder(longRings, {});
        const MixedKVCache cache = decoder.makeCache();
        QVERIFY(cache.allocatedBytes() < std::uint64_t{1} << 24);
        QVERIFY_EXCEPTION_THROWN(requireCacheFits(decoder, cache, std::int64_t{1} << 35),
                                 MemoryError);
        requireCacheFits(decoder, cache, 100);
    }

    void aDynamicRotationIsTheSameForAnyChunk()
    {
        const auto decoder = goldenDecoder("hf/families/llama_rope_dynamic");
        QVERIFY(std::holds_alternative<DynamicRotary>(decoder->config().rotary.scheme));
        std::vector<TokenId> prompt;
        for (TokenId i = 0; i < 90; ++i)
            prompt.push_back(i * 7 % 96);
        const auto losses = [&](std::int64_t chunk) {
            Context context(decoder->makeCache());
            GenerationRequest request = greedy(prompt, 1);
            request.chunkTokens = chunk;
            request.scoresPrompt = true;
            std::vector<double> nll;
            GenerationObserver observer;
            observer.promptScored = [&](std::int64_t, const std::vector<double>& part) {
                nll.insert(nll.end(), part.begin(), part.end());
            };
            generate(*decoder, context, nullptr, request, observer, {});
            return nll;
        };
        const std::vector<double> whole = losses(0);
        QCOMPARE(whole.size(), prompt.size() - 1);
        for (const std::int64_t chunk : {7, 16, 64}) {
            const std::vector<double> parts = losses(chunk);
            for (std::size_t i = 0; i < whole.size(); ++i)
                QVERIFY2(std::abs(parts[i] - whole[i]) < 1e-4, qPrintable(QString::number(i)));
        }
    }

    void timeLeftFollowsTheSlope()
    {
        // Seconds per token grow by 1 ms per 100 positions from 1 ms: the rest is known in closed
        // form.
        PrefillClock clock(0, 1000);
        for (int chunk = 0; chunk < 5; ++chunk)
            clock.add(100, 100 * (0.001 + 0.001 * chunk));
        double want = 0.0;
        for (int chunk = 5; chunk < 10; ++chunk)
            want += 100 * (0.001 + 0.001 * chunk);
        QVERIFY(std::abs(clock.secondsLeft() - want) < 1e-9);
        QVERIFY(std::abs(clock.secondsElapsed() - 1.5) < 1e-9);
    }
};

QTEST_GUILESS_MAIN(TestGenerator)
#include "tst_generator.moc"
