#include "engine/base/errors.h"
#include "engine/model/decoder.h"
#include "tests/support/golden_file.h"
#include "tests/support/models.h"
#include "tests/support/tensor_compare.h"

#include <ATen/ops/cat.h>
#include <ATen/ops/stack.h>
#include <c10/core/InferenceMode.h>

#include <QtTest>

#include <algorithm>
#include <map>

using namespace kvscope;

namespace {

ForwardOptions allLogits()
{
    ForwardOptions options;
    options.logits = LogitPositions::All;
    return options;
}

/// Logits at every position, ids [B, T] given in chunks of `chunk` tokens.
at::Tensor chunkedLogits(Decoder& decoder, MixedKVCache& cache, const at::Tensor& ids,
                         std::int64_t chunk)
{
    std::vector<at::Tensor> logits;
    for (std::int64_t first = 0; first < ids.size(1); first += chunk)
        logits.push_back(decoder.forward(ids.narrow(1, first, std::min(chunk, ids.size(1) - first)),
                                         &cache, allLogits()));
    return at::cat(logits, 1);
}

at::Tensor joined(const KVView& view, at::Tensor KVSegment::*part)
{
    std::vector<at::Tensor> pieces;
    for (std::size_t i = 0; i < view.numSegments; ++i)
        pieces.push_back(view.segments[i].*part);
    return at::cat(pieces, 2);
}

std::string numbered(const char* prefix, std::int64_t tokens)
{
    return QString("%1/cache/after_%2").arg(prefix).arg(tokens, 3, 10, QChar('0')).toStdString();
}

#define VERIFY_GOLDEN(golden, name, got)                                                           \
    do {                                                                                           \
        const QString difference = (golden).difference(name, got);                                 \
        QVERIFY2(difference.isEmpty(),                                                             \
                 qPrintable(QString::fromStdString(name) + ": " + difference));                    \
    } while (false)

} // namespace

class TestDecoderGolden : public QObject
{
    Q_OBJECT

    static void addModels()
    {
        QTest::addColumn<QString>("model");
        QTest::newRow("tiny_a, main shape") << "tiny_a";
        QTest::newRow("tiny_b, option corners") << "tiny_b";
    }
    static std::unique_ptr<Decoder> decoder(const QString& model)
    {
        return goldenDecoder("gptosslite/" + model.toStdString());
    }
    static GoldenFile golden(const QString& model)
    {
        return GoldenFile("gptosslite/" + model.toStdString() + "/golden.safetensors");
    }

    /// Cache contents, lengths and capacities after `tokens`, for every layer that the golden data
    /// holds.
    static void verifyCache(const GoldenFile& want, const char* run, const MixedKVCache& cache)
    {
        const std::string prefix = numbered(run, cache.seqLen());
        for (std::int64_t layer = 0;; ++layer) {
            const std::string base = prefix + "/layer" + std::to_string(layer);
            if (!want.contains(base + "/k"))
                break;
            const KVView view = cache.view(layer);
            VERIFY_GOLDEN(want, base + "/k", joined(view, &KVSegment::keys));
            VERIFY_GOLDEN(want, base + "/v", joined(view, &KVSegment::values));
        }
        const std::string key = std::string(run) + "_cache_state";
        const CacheSnapshot snapshot = cache.snapshot();
        for (const auto& state : want.facts().at(key)) {
            if (state.at("tokens_seen").get<std::int64_t>() != cache.seqLen())
                continue;
            const LayerCacheState& got = snapshot.layers.at(state.at("layer").get<std::size_t>());
            QCOMPARE(got.isWindowed, state.at("windowed").get<bool>());
            QCOMPARE(got.retained, state.at("seq_len").get<std::int64_t>());
            if (!got.isWindowed)
                QCOMPARE(got.capacity, state.at("capacity").get<std::int64_t>());
        }
    }

private Q_SLOTS:
    void fullForward_data() { addModels(); }
    void fullForward()
    {
        QFETCH(QString, model);
        const auto model_ = decoder(model);
        const GoldenFile want = golden(model);
        std::vector<at::Tensor> hidden;
        std::map<std::int64_t, at::Tensor> experts;
        const at::Tensor& ids = want.tensor("long/ids");
        ForwardHooks hooks;
        hooks.afterLayer = [&](std::int64_t, const at::Tensor& residual) {
            hidden.push_back(residual.clone());
        };
        hooks.afterRouting = [&](std::int64_t layer, const at::Tensor& chosen) {
            experts[layer] = chosen.view({ids.size(0), ids.size(1), -1}).clone();
        };
        for (const KernelPath path : {KernelPath::Fast, KernelPath::Reference}) {
            hidden.clear();
            ForwardOptions options = allLogits();
            options.hooks = &hooks;
            options.path = path;
            VERIFY_GOLDEN(want, "long/logits", model_->forward(ids, nullptr, options));
            VERIFY_GOLDEN(want, "long/hidden", at::stack(hidden));
            std::vector<at::Tensor> choices;
            for (const auto& [layer, chosen] : experts)
                choices.push_back(chosen);
            VERIFY_GOLDEN(want, "long/expert_choice", at::stack(choices));
            options.firstPosition = 37;
            options.hooks = nullptr;
            VERIFY_GOLDEN(want, "long/logits_positions_plus_37",
                          model_->forward(ids, nullptr, options));
        }
    }

    void everyChunkingEqualsTheFullForward_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<int>("chunk");
        for (const auto& [model, window] : {std::pair{"tiny_a", 8}, std::pair{"tiny_b", 5}})
            for (const int chunk : {1, 3, window - 1, window, window + 1, 19, 37})
                QTest::addRow("%s, chunks of %d", model, chunk) << model << chunk;
    }
    void everyChunkingEqualsTheFullForward()
    {
        QFETCH(QString, model);
        QFETCH(int, chunk);
        const auto model_ = decoder(model);
        const GoldenFile want = golden(model);
        const at::Tensor& ids = want.tensor("long/ids");
        MixedKVCache cache = model_->makeCache(ids.size(0));
        const at::Tensor logits =
            chunkedLogits(*model_, cache, ids, std::min<std::int64_t>(chunk, ids.size(1)));
        VERIFY_GOLDEN(want, "long/logits", logits);
    }

    void decodeStepsAfterOneShotPrefill_data() { addModels(); }
    void decodeStepsAfterOneShotPrefill()
    {
        QFETCH(QString, model);
        const auto model_ = decoder(model);
        const GoldenFile want = golden(model);
        const at::Tensor& ids = want.tensor("decode/ids");
        const std::int64_t promptLength = want.tensor("long/ids").size(1);
        MixedKVCache cache = model_->makeCache(ids.size(0));
        std::vector<at::Tensor> logits{
            model_->forward(ids.narrow(1, 0, promptLength), &cache, allLogits())};
        verifyCache(want, "decode", cache);
        for (std::int64_t at = promptLength; at < ids.size(1); ++at) {
            logits.push_back(model_->forward(ids.narrow(1, at, 1), &cache, allLogits()));
            verifyCache(want, "decode", cache);
        }
        VERIFY_GOLDEN(want, "decode/logits_cached", at::cat(logits, 1));
        VERIFY_GOLDEN(want, "decode/logits_full", at::cat(logits, 1));
    }

    void shortPromptThenManySteps_data() { addModels(); }
    void shortPromptThenManySteps()
    {
        QFETCH(QString, model);
        const auto model_ = decoder(model);
        const GoldenFile want = golden(model);
        const at::Tensor& ids = want.tensor("short/ids");
        const auto first =
            want.facts().at("short_cache_state").at(0).at("tokens_seen").get<std::int64_t>();
        MixedKVCache cache = model_->makeCache(ids.size(0));
        std::vector<at::Tensor> logits{
            model_->forward(ids.narrow(1, 0, first), &cache, allLogits())};
        std::map<std::int64_t, std::int64_t> capacities{
            {first, cache.snapshot().layers[1].capacity}};
        verifyCache(want, "short", cache);
        for (std::int64_t at = first; at < ids.size(1); ++at) {
            logits.push_back(model_->forward(ids.narrow(1, at, 1), &cache, allLogits()));
            capacities[at + 1] = cache.snapshot().layers[1].capacity;
            verifyCache(want, "short", cache);
        }
        VERIFY_GOLDEN(want, "short/logits_cached", at::cat(logits, 1));
        for (const auto& growth : want.facts().at("short_prompt_global_capacity"))
            QCOMPARE(capacities.at(growth.at("tokens_stored").get<std::int64_t>()),
                     growth.at("capacity_per_global_layer").at(0).get<std::int64_t>());
    }

    void lastLogitsAreTheLastRowOfAll()
    {
        const auto model = decoder("tiny_a");
        const GoldenFile want = golden("tiny_a");
        const at::Tensor last = model->forward(want.tensor("long/ids"), nullptr);
        QCOMPARE(last.size(1), 1);
        const QString difference =
            compareTensors(last, want.tensor("long/logits").narrow(1, 36, 1), 2e-4, 1e-4);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    void bfloat16StaysNear()
    {
        const auto model = goldenDecoder("gptosslite/tiny_a", ComputeType::BFloat16);
        const GoldenFile want = golden("tiny_a");
        const at::Tensor logits = model->forward(want.tensor("long/ids"), nullptr, allLogits());
        const QString difference =
            compareTensors(logits, want.tensor("long/logits_bf16"), 0.5, 0.1);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }

    void idsOutsideTheVocabularyAreRefusedAndChangeNothing()
    {
        const auto model = decoder("tiny_a");
        const GoldenFile want = golden("tiny_a");
        MixedKVCache cache = model->makeCache(2);
        model->forward(want.tensor("long/ids").narrow(1, 0, 5), &cache);
        at::Tensor bad = want.tensor("long/ids").narrow(1, 5, 3).clone();
        bad[1][2].fill_(512);
        try {
            model->forward(bad, &cache);
            QFAIL("accepted");
        } catch (const ArgumentError& error) {
            QCOMPARE(error.what(), "token id 512 is outside the vocabulary of 512 ids");
        }
        QCOMPARE(cache.seqLen(), 5);
    }

    // A stop between layers rolls the chunk back in every layer: what follows equals a run without
    // it.
    void stoppedChunkLeavesNoTrace()
    {
        const auto model = decoder("tiny_a");
        const GoldenFile want = golden("tiny_a");
        const at::Tensor& ids = want.tensor("long/ids");
        MixedKVCache cache = model->makeCache(2);
        model->forward(ids.narrow(1, 0, 11), &cache);
        std::stop_source source;
        ForwardHooks hooks;
        hooks.afterLayer = [&](std::int64_t layer, const at::Tensor&) {
            if (layer == 2)
                source.request_stop();
        };
        ForwardOptions options = allLogits();
        options.stop = source.get_token();
        options.hooks = &hooks;
        QVERIFY_EXCEPTION_THROWN(model->forward(ids.narrow(1, 11, 9), &cache, options), Stopped);
        QCOMPARE(cache.seqLen(), 11);
        const at::Tensor rest = chunkedLogits(*model, cache, ids.narrow(1, 11, 26), 26);
        const QString difference =
            compareTensors(rest, want.tensor("long/logits").narrow(1, 11, 26), 2e-4, 1e-4);
        QVERIFY2(difference.isEmpty(), qPrintable(difference));
    }
};

QTEST_GUILESS_MAIN(TestDecoderGolden)
#include "tst_decoder_golden.moc"
