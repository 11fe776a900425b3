#include "engine/checkpoint/checkpoint.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <QElapsedTimer>

using namespace kvscope;

class TestOpenCheckpoint : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void gptOssLiteFolderGivesShapeAndTensors()
    {
        const auto checkpoint = openCheckpoint(goldenPath("gptosslite/tiny_a"));
        const ModelConfig& config = checkpoint->config;
        QCOMPARE(checkpoint->format, std::string("GPT-OSS-Lite safetensors"));
        QCOMPARE(config.architecture, std::string("gpt-oss-lite"));
        QCOMPARE(config.name, std::string("tiny_a"));
        QCOMPARE(config.totalParameters(), std::int64_t{452176});
        QCOMPARE(config.activeParameters(), std::int64_t{304720});
        QCOMPARE(config.numLayers(), std::int64_t{4});
        QCOMPARE(config.numLayers(LayerKind::Windowed), std::int64_t{2});
        QCOMPARE(config.layers[0].window, std::int64_t{8});
        QCOMPARE(config.layers[0].identityPairs, std::int64_t{0});
        QVERIFY(config.layers[1].kind == LayerKind::Global);
        QCOMPARE(config.layers[1].identityPairs, std::int64_t{4}); // head_dim / 4
        QVERIFY(config.layers[3].hasSink);
        QVERIFY(config.rotary.pairing == RotaryPairing::Adjacent);
        QCOMPARE(std::get<GptOssLiteRotary>(config.rotary.scheme).factor, 4.0);
        QCOMPARE(config.trainedPositions, std::int64_t{64});
        QCOMPARE(config.extendedPositions, std::int64_t{256});
        QVERIFY(!checkpoint->tensors.head.weight);
        QCOMPARE(checkpoint->tensors.layers.size(), std::size_t{4});
        const LayerTensors& layer = checkpoint->tensors.layers[2];
        QCOMPARE(layer.value.weight.tensor->name, std::string("blocks.2.attn.kv_proj.weight"));
        QCOMPARE(layer.value.weight.offset, layer.key.weight.rows * config.modelWidth);
        QCOMPARE(layer.experts[3].gate.weight.tensor->name,
                 std::string("blocks.2.moe.experts.3.w1.weight"));
        QCOMPARE(layer.experts[3].up.weight.tensor->name,
                 std::string("blocks.2.moe.experts.3.w3.weight"));
        QCOMPARE(layer.sharedExperts[0].down.weight.tensor->name,
                 std::string("blocks.2.moe.shared_experts.0.w2.weight"));
        QCOMPARE(checkpoint->weightBytes(), std::uint64_t{452176 * 4});
        QCOMPARE(checkpoint->storageSummary(), std::string("F32"));
        QVERIFY(!checkpoint->checks.empty());
        QVERIFY(checkpoint->warnings.empty());
    }

    void gptOssLiteOptionsAreRead()
    {
        const auto checkpoint = openCheckpoint(goldenPath("gptosslite/tiny_b/model.safetensors"));
        const ModelConfig& config = checkpoint->config;
        QCOMPARE(config.totalParameters(), std::int64_t{215856});
        QCOMPARE(config.activeParameters(), std::int64_t{164016});
        QVERIFY(!config.layers[0].hasSink);
        QCOMPARE(config.layers[1].identityPairs, std::int64_t{0});
        QCOMPARE(config.experts->numShared, std::int64_t{0});
        QCOMPARE(config.extendedPositions, std::int64_t{64}); // scale 1: no extension
        QVERIFY(checkpoint->tensors.head.weight);
        QVERIFY(!checkpoint->tensors.layers[0].sink);
    }

    void huggingFaceLlamaOpensWithNewAndOldKeys_data()
    {
        QTest::addColumn<QString>("config");
        QTest::newRow("rope_parameters") << "config.json";
        QTest::newRow("rope_theta and rope_scaling") << "config.legacy.json";
    }
    void huggingFaceLlamaOpensWithNewAndOldKeys()
    {
        QFETCH(QString, config);
        QTemporaryDir folder;
        const std::filesystem::path path = folder.path().toStdString();
        std::filesystem::copy_file(goldenPath("hf/llama/" + config.toStdString()),
                                   path / "config.json");
        std::filesystem::copy_file(goldenPath("hf/llama/model.safetensors"),
                                   path / "model.safetensors");
        const auto checkpoint = openCheckpoint(path);
        QCOMPARE(checkpoint->config.architecture, std::string("llama"));
        QCOMPARE(checkpoint->config.headDim, std::int64_t{16});
        QVERIFY(checkpoint->config.rotary.pairing == RotaryPairing::Half);
        QVERIFY(std::holds_alternative<PlainRotary>(checkpoint->config.rotary.scheme));
        QCOMPARE(checkpoint->config.trainedPositions, std::int64_t{512});
        QCOMPARE(checkpoint->tensors.layers[2].dense.down.weight.tensor->name,
                 std::string("model.layers.2.mlp.down_proj.weight"));
        QCOMPARE(checkpoint->tokenizer.endTokens, std::vector<std::int64_t>{2});
        QCOMPARE(checkpoint->tokenizer.beginToken.value(), std::int64_t{1});
    }

    void ggufLlamaOpensInEveryReadType_data()
    {
        QTest::addColumn<QString>("name");
        QTest::addColumn<QString>("storage");
        QTest::newRow("F32") << "llama_f32"
                             << "F32";
        QTest::newRow("F16, alignment 64") << "llama_f16"
                                           << "F16, F32";
        QTest::newRow("BF16, tied") << "llama_bf16"
                                    << "BF16, F32";
        QTest::newRow("Q8_0") << "llama_q8_0"
                              << "Q8_0, F32";
        QTest::newRow("Q4_0") << "llama_q4_0"
                              << "Q4_0, F32";
        QTest::newRow("Q4_1") << "llama_q4_1"
                              << "Q4_1, F32";
        QTest::newRow("Q5_0") << "llama_q5_0"
                              << "Q5_0, F32";
        QTest::newRow("Q5_1") << "llama_q5_1"
                              << "Q5_1, F32";
        QTest::newRow("rope_freqs") << "llama_f32_ropefreqs"
                                    << "F32";
    }
    void ggufLlamaOpensInEveryReadType()
    {
        QFETCH(QString, name);
        QFETCH(QString, storage);
        const auto checkpoint = openCheckpoint(goldenPath("gguf/" + name.toStdString() + ".gguf"));
        const ModelConfig& config = checkpoint->config;
        QCOMPARE(checkpoint->format, std::string("GGUF v3"));
        QCOMPARE(QString::fromStdString(checkpoint->storageSummary()), storage);
        QCOMPARE(config.name, ("golden " + name).toStdString());
        QCOMPARE(config.vocabularySize, std::int64_t{320});
        QVERIFY(config.rotary.pairing == RotaryPairing::Adjacent);
        QCOMPARE(config.hasTiedHead, name == "llama_bf16");
        QCOMPARE(!checkpoint->tensors.head.weight, config.hasTiedHead);
        QCOMPARE(config.rotary.frequencyDivisors.size(),
                 std::size_t{name == "llama_f32_ropefreqs" ? 8U : 0U});
        QCOMPARE(checkpoint->tensors.layers[1].dense.down.weight.tensor->shape,
                 (std::vector<std::int64_t>{64, 96}));
        QVERIFY(!checkpoint->tokenizer.bpe);
        QCOMPARE(checkpoint->tokenizer.scored->tokens.size(), std::size_t{320});
        QVERIFY(checkpoint->tokenizer.addsBeginToken);
    }

    void vocabularyOnlyGgufServesAsTokenizerAlone()
    {
        const auto path = goldenPath("tokenizers/smollm2_vocab.gguf");
        const TokenizerSource source = readTokenizerSource(path);
        QVERIFY(source.bpe.has_value());
        QCOMPARE(source.bpe->tokens.size(), std::size_t{49152});
        QCOMPARE(source.bpe->types.size(), std::size_t{49152});
        QCOMPARE(source.bpe->merges.size(), std::size_t{48900});
        QCOMPARE(source.bpe->preTokenizer, std::string("smollm"));
        QCOMPARE(source.endTokens, std::vector<std::int64_t>{2});
        QCOMPARE(source.beginToken.value(), std::int64_t{1});
        QVERIFY(!source.addsBeginToken);
        QVERIFY(source.chatTemplate.find("<|im_start|>") != std::string::npos);
        KVSCOPE_CONTAINS(errorOf([&] { openCheckpoint(path); }), "holds no tensors");
    }

    void realModelOpensWithinATenthOfASecond()
    {
        const auto path = std::filesystem::path(qEnvironmentVariable("HOME").toStdString()) /
                          ".local/share/kvscope/models/SmolLM2-135M-Instruct.Q4_1.gguf";
        if (!std::filesystem::exists(path))
            QSKIP("SmolLM2-135M-Instruct.Q4_1.gguf is not installed");
        qint64 best = 1000;
        for (int i = 0; i < 5; ++i) {
            QElapsedTimer timer;
            timer.start();
            const auto checkpoint = openCheckpoint(path);
            best = std::min(best, timer.elapsed());
            QCOMPARE(checkpoint->config.totalParameters(), std::int64_t{134515008});
            QCOMPARE(checkpoint->config.numKvHeads, std::int64_t{3});
            QCOMPARE(checkpoint->storageSummary(), std::string("Q4_1, Q8_0, F32"));
        }
        qInfo("opened in %lld ms", best);
        QVERIFY(best < 100);
    }
};

QTEST_GUILESS_MAIN(TestOpenCheckpoint)
#include "tst_open_checkpoint.moc"
