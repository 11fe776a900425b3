#include "engine/checkpoint/checkpoint.h"
#include "engine/checkpoint/safetensors_writer.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <algorithm>

using namespace kvscope;
using namespace std::string_literals;

// Configurations that disagree with their tensors, and those of models that are not read. Each
// starts from golden files and changes one thing.
class TestArchitectures : public QObject
{
    Q_OBJECT

    std::unique_ptr<QTemporaryDir> m_folder;

    std::filesystem::path folder() const { return m_folder->path().toStdString(); }
    void copyGolden(const std::string& from, const char* config) const
    {
        for (const std::string& name : {std::string(config), "model.safetensors"s})
            std::filesystem::copy_file(goldenPath(from + "/" + name), folder() / name);
    }
    /// Replaces `from`, which must be there, by `to` in a text file.
    void change(const char* file, const std::string& from, const std::string& to) const
    {
        std::string text = readFile(folder() / file);
        const auto at = text.find(from);
        QVERIFY2(at != std::string::npos, from.c_str());
        writeFile(folder() / file, text.replace(at, from.size(), to));
    }
    QString openingError() const
    {
        return errorOf([this] { openCheckpoint(folder()); });
    }
    /// Writes the golden weights again, with the list of tensors changed; new ones are zero.
    void rewriteWeights(
        const std::function<void(std::vector<SafetensorsWriter::Tensor>&)>& changeList) const
    {
        const auto path = folder() / "model.safetensors";
        std::vector<SafetensorsWriter::Tensor> tensors;
        {
            const auto checkpoint = openCheckpoint(folder());
            for (const auto& [name, tensor] : checkpoint->files.front()->tensors())
                tensors.push_back({name, tensor.type, tensor.shape});
        }
        changeList(tensors);
        SafetensorsWriter writer(path, tensors);
        for (const auto& tensor : tensors)
            writer.write(std::vector<std::byte>(*storedBytes(tensor.type, tensor.shape)));
        writer.finish();
    }

private Q_SLOTS:
    void init() { m_folder = std::make_unique<QTemporaryDir>(); }

    void gptOssLiteConfigurationsAreChecked_data()
    {
        QTest::addColumn<QByteArray>("from");
        QTest::addColumn<QByteArray>("to");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, const char* from, const char* to,
                            const char* reason) {
            QTest::newRow(name) << QByteArray(from) << QByteArray(to) << reason;
        };
        row("missing key", "  window_size: 8\n", "", "model.window_size is missing");
        row("text for a number", "d_model: 64", "d_model: wide",
            "model.d_model is \"wide\", a whole");
        row("quoted number", "d_model: 64", "d_model: '64'", "model.d_model is \"64\", a whole");
        row("fraction", "d_model: 64", "d_model: 64.5", "model.d_model is 64.5, a whole");
        row("negative", "d_model: 64", "d_model: -64", "model width is -64");
        row("beyond 64 bits", "d_model: 64", "d_model: 99999999999999999999",
            "model.d_model is 1e+20");
        row("a billion layers", "n_layers: 4", "n_layers: 1000000000",
            "n_layers is 1000000000; 1 to 1024");
        row("number for a flag", "sink_bias: true", "sink_bias: 3", "true or false was expected");
        row("key twice", "d_model: 64", "d_model: 64\n  d_model: 65", "has the key d_model twice");
        row("window of 0", "window_size: 8", "window_size: 0", "the window is 0");
        row("odd head", "head_dim: 16", "head_dim: 15", "head size is 15; it must be even");
        row("infinite base", "rope_theta: 10000", "rope_theta: .inf", "rotary base is inf");
        row("biases", "sink_bias: true", "sink_bias: true\n  attention_bias: true",
            "model.attention_bias is switched on");
        row("another activation", "sink_bias: true", "sink_bias: true\n  activation: gelu",
            "model.activation is gelu, silu was expected");
        row("an activation that steers the terminal", "sink_bias: true",
            "sink_bias: true\n  activation: \"a\\nb\\e[2J\\N\"",
            "model.activation is a\uFFFDb\uFFFD[2J\uFFFD, silu was expected");
        row("not YAML", "model:", "model: [", "is not valid YAML at line");
        row("not a mapping", "model:", "- model:", "is not");
        row("not UTF-8", "model:", "\xff:", "is not UTF-8 text: byte 0");
        row("wider than the tensors", "d_model: 64", "d_model: 96",
            "model.safetensors: embed.weight is [512, 64], config.yaml asks for [512, 96]. The two "
            "are");
        row("more layers than the tensors", "n_layers: 4", "n_layers: 5",
            "and 19 more are missing");
        row("fewer layers than the tensors", "n_layers: 4", "n_layers: 3",
            "no part of a GPT-OSS-Lite model");
        row("untied without a head", "weight_tying: true", "weight_tying: false",
            "head.weight is missing");
        row("sinks without being asked", "sink_bias: true", "sink_bias: false",
            "blocks.0.attn.sink_bias, blocks.1.attn.sink_bias, blocks.2.attn.sink_bias and 1 more "
            "are no part");
    }
    void gptOssLiteConfigurationsAreChecked()
    {
        QFETCH(QByteArray, from);
        QFETCH(QByteArray, to);
        QFETCH(QString, reason);
        copyGolden("gptosslite/tiny_a", "config.yaml");
        change("config.yaml", from.toStdString(), to.toStdString());
        KVSCOPE_CONTAINS(openingError(), reason);
    }

    void keysMayStandAtTheTopLevel()
    {
        copyGolden("gptosslite/tiny_a", "config.yaml");
        change("config.yaml", "model:\n", "training: {steps: 5}\n");
        std::string text = readFile(folder() / "config.yaml");
        for (auto at = text.find("\n  "); at != std::string::npos; at = text.find("\n  "))
            text.erase(at + 1, 2);
        writeFile(folder() / "config.yaml", text);
        QCOMPARE(openCheckpoint(folder())->config.totalParameters(), std::int64_t{452176});
    }

    void anEndTokenBeyondTheEmbeddingIsNoEndToken()
    {
        copyGolden("gptosslite/tiny_a", "config.yaml");
        change("config.yaml", "model:\n", "model:\n  eos_token_id: 512\n  bos_token_id: 511\n");
        const auto checkpoint = openCheckpoint(folder());
        QVERIFY(checkpoint->tokenizer.endTokens.empty());
        QCOMPARE(checkpoint->tokenizer.beginToken.value(), std::int64_t{511});
        QCOMPARE(checkpoint->warnings.size(), std::size_t{1});
        KVSCOPE_CONTAINS(QString::fromStdString(checkpoint->warnings[0]),
                         "token 512 is beyond the vocabulary of 512 rows");
    }

    void tensorsOfAnUnusableTypeAreRefused()
    {
        copyGolden("gptosslite/tiny_a", "config.yaml");
        rewriteWeights([](auto& tensors) { tensors.back().type = StorageType::I32; });
        KVSCOPE_CONTAINS(openingError(), "norm.weight is stored as I32, a vector of F32");
    }

    void huggingFaceConfigurationsAreChecked_data()
    {
        QTest::addColumn<QByteArray>("from");
        QTest::addColumn<QByteArray>("to");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, const char* from, const char* to,
                            const char* reason) {
            QTest::newRow(name) << QByteArray(from) << QByteArray(to) << reason;
        };
        row("another family", R"("model_type": "llama")", R"("model_type": "mamba")",
            "config.json: model_type is mamba; of Hugging Face folders, this version reads gemma");
        row("no family", R"("model_type": "llama",)", "", "model_type is missing");
        row("attention biases", R"("attention_bias": false)", R"("attention_bias": true)",
            "model.layers.0.self_attn.q_proj.bias, ");
        row("feed-forward biases", R"("mlp_bias": false)", R"("mlp_bias": true)",
            "model.layers.0.mlp.gate_proj.bias, ");
        row("another activation", R"("hidden_act": "silu")", R"("hidden_act": "relu6")",
            "hidden_act is relu6; silu, gelu");
        row("quantised", R"("use_cache": true)", R"("quantization_config": {"bits": 4})",
            "quantization_config says");
        row("another rotation", R"("rope_type": "default")", R"("rope_type": "xpos")",
            "rope_parameters.rope_type is xpos; default, linear, dynamic");
        row("llama3 scaling without numbers", R"("rope_type": "default")",
            R"("rope_type": "llama3")", "rope_parameters.factor is missing");
        row("yarn of factor 0", R"("rope_type": "default")",
            R"("rope_type": "yarn", "factor": 0.0)", "rotary scale is 0");
        row("yarn from 0 positions", R"("rope_type": "default")",
            R"("rope_type": "yarn", "original_max_position_embeddings": 0)", "extension is 0");
        row("longrope without its lists", R"("rope_type": "default")", R"("rope_type": "longrope")",
            "short_factor is missing");
        row("longrope with a short list", R"("rope_type": "default")",
            R"("rope_type": "longrope", "short_factor": [1.0], "long_factor": [1.0])",
            "1 short rotary frequency divisors for 8 pairs");
        row("longrope with words", R"("rope_type": "default")",
            R"("rope_type": "longrope", "short_factor": ["a"])", "a list of numbers was expected");
        row("linear without factor", R"("rope_type": "default")", R"("rope_type": "linear")",
            "rope_parameters.factor is missing");
        row("rotation of nothing", R"("rope_type": "default")", R"("partial_rotary_factor": 0.0)",
            "partial_rotary_factor is not above 0");
        row("rotation of an odd part", R"("rope_type": "default")",
            R"("partial_rotary_factor": 0.2)", "rotated part of a head is 3");
        row("rope as text", R"("rope_parameters": {)", R"("rope_parameters": "default", "x": {)",
            "rope_parameters is \"default\", a section was expected");
        row("missing size", R"("hidden_size": 64,)", "", "hidden_size is missing");
        row("text for a number", R"("hidden_size": 64)", R"("hidden_size": "64")",
            "hidden_size is \"64\", a whole number was expected");
        row("a billion layers", R"("num_hidden_layers": 3)", R"("num_hidden_layers": 1000000000)",
            "num_hidden_layers is 1000000000; 1 to 1024");
        row("heads that do not divide", R"("num_key_value_heads": 2)",
            R"("num_key_value_heads": 3)", "4 query heads cannot share 3");
        row("another vocabulary", R"("vocab_size": 320)", R"("vocab_size": 321)",
            "model.embed_tokens.weight is [320, 64], config.json asks for [321, 64]");
        row("end token as text", R"("eos_token_id": 2)", R"("eos_token_id": ["x"])",
            "not a whole number");
        row("key twice", R"("hidden_size": 64)", R"("hidden_size": 64, "hidden_size": 64)",
            "has the key hidden_size twice");
    }
    void huggingFaceConfigurationsAreChecked()
    {
        QFETCH(QByteArray, from);
        QFETCH(QByteArray, to);
        QFETCH(QString, reason);
        copyGolden("hf/llama", "config.json");
        change("config.json", from.toStdString(), to.toStdString());
        KVSCOPE_CONTAINS(openingError(), reason);
    }

    void linearScalingIsReadFromOldAndNewKeys_data()
    {
        QTest::addColumn<QString>("rope");
        QTest::newRow("rope_parameters")
            << R"("rope_parameters": {"rope_type": "linear", "factor": 4.0, "rope_theta": 5000.0})";
        QTest::newRow("rope_scaling with rope_type")
            << R"("rope_theta": 5000.0, "rope_scaling": {"rope_type": "linear", "factor": 4.0})";
        QTest::newRow("rope_scaling with type")
            << R"("rope_theta": 5000.0, "rope_scaling": {"type": "linear", "factor": 4})";
    }
    void linearScalingIsReadFromOldAndNewKeys()
    {
        QFETCH(QString, rope);
        copyGolden("hf/llama", "config.legacy.json");
        std::filesystem::rename(folder() / "config.legacy.json", folder() / "config.json");
        change("config.json", R"("rope_theta": 10000.0)", "\"ignored\": 1");
        change("config.json", R"("rope_scaling": null)", rope.toStdString());
        const auto checkpoint = openCheckpoint(folder());
        QCOMPARE(std::get<LinearRotary>(checkpoint->config.rotary.scheme).factor, 4.0);
        QCOMPARE(checkpoint->config.rotary.base, 5000.0);
    }

    void buffersAndTheHeadOfATiedModelAreIgnored()
    {
        copyGolden("hf/llama", "config.json");
        rewriteWeights([](auto& tensors) {
            tensors.push_back(
                {"model.layers.0.self_attn.rotary_emb.inv_freq", StorageType::F32, {8}});
        });
        QVERIFY(openCheckpoint(folder())->tensors.head.weight);
        change("config.json", R"("tie_word_embeddings": false)", R"("tie_word_embeddings": true)");
        QVERIFY(!openCheckpoint(folder())->tensors.head.weight);
    }

    void missingAndUnexpectedTensorsAreNamed()
    {
        copyGolden("hf/llama", "config.json");
        rewriteWeights([](auto& tensors) {
            tensors.push_back({"model.layers.1.self_attn.q_proj.bias", StorageType::F32, {64}});
        });
        QCOMPARE(openingError(),
                 QString("model.safetensors: model.layers.1.self_attn.q_proj.bias is no part "
                         "of a llama model of 3 layers as config.json describes it"));
    }

    // 63 / 32 rounded down gives the shapes that are there, so they alone do not tell.
    void mxfp4RowsAreWholeBlocks()
    {
        copyGolden("hf/families/gpt_oss_mxfp4", "config.json");
        constexpr std::int64_t kInner = 63;
        rewriteWeights([](auto& tensors) {
            for (auto& tensor : tensors) {
                const std::int64_t count = tensor.shape.front();
                if (tensor.name.ends_with("gate_up_proj_bias"))
                    tensor.shape = {count, 2 * kInner};
                else if (tensor.name.find("gate_up_proj_") != std::string::npos)
                    tensor.shape[1] = 2 * kInner;
                else if (tensor.name.find("down_proj_blocks") != std::string::npos ||
                         tensor.name.find("down_proj_scales") != std::string::npos)
                    tensor.shape[2] = kInner / 32;
            }
        });
        change("config.json", R"("intermediate_size": 64)", R"("intermediate_size": 63)");
        KVSCOPE_CONTAINS(openingError(),
                         "config.json: asks for rows of 63 numbers of "
                         "model.layers.0.mlp.experts.down_proj_blocks, which is MXFP4");
    }

    void namesOfFilesStayOnOneLine()
    {
        const auto odd = folder() / "two\nlines\x1b[2J.pt";
        writeFile(odd, "\x80\x02");
        KVSCOPE_CONTAINS(errorOf([&] { openCheckpoint(odd); }), "is a PyTorch pickle");
        for (const char* name : {"a\n.yaml", "b\n.yaml"})
            writeFile(folder() / name, "model: {}");
        KVSCOPE_CONTAINS(openingError(), "2 YAML files (a\uFFFD.yaml, b\uFFFD.yaml)");
        KVSCOPE_CONTAINS(errorOf([&] { openCheckpoint(folder() / "gone\n.gguf"); }),
                         "gone\uFFFD.gguf");
    }

    void shardsAreReadTogether()
    {
        copyGolden("hf/llama", "config.json");
        std::filesystem::rename(folder() / "model.safetensors", folder() / "m-1.safetensors");
        const auto writeIndex = [this](const std::string& map) {
            writeFile(folder() / "model.safetensors.index.json", "{\"weight_map\":{" + map + "}}");
        };
        SafetensorsWriter(folder() / "m-2.safetensors", {}).finish();
        writeIndex(R"("model.norm.weight":"m-1.safetensors","lm_head.weight":"m-2.safetensors")");
        KVSCOPE_CONTAINS(openingError(), "m-2.safetensors: lm_head.weight is missing");
        std::filesystem::copy_file(folder() / "m-1.safetensors", folder() / "m-2.safetensors",
                                   std::filesystem::copy_options::overwrite_existing);
        KVSCOPE_CONTAINS(openingError(),
                         "m-2.safetensors: lm_head.weight is also in m-1.safetensors");
        SafetensorsWriter(folder() / "m-2.safetensors",
                          {{"a.rotary_emb.inv_freq", StorageType::F32, {0}}})
            .finish();
        writeIndex(
            R"("model.norm.weight":"m-1.safetensors","a.rotary_emb.inv_freq":"m-2.safetensors")");
        QCOMPARE(openCheckpoint(folder())->files.size(), std::size_t{2});
    }

    void endTokensComeFromBothConfigurations()
    {
        copyGolden("hf/llama", "config.json");
        writeFile(folder() / "generation_config.json", R"({"eos_token_id": [2, 7, 999]})");
        writeFile(
            folder() / "tokenizer_config.json",
            R"({"add_bos_token": true, "chat_template": [{"name": "default", "template": "T"}]})");
        const auto checkpoint = openCheckpoint(folder());
        QCOMPARE(checkpoint->tokenizer.endTokens, (std::vector<std::int64_t>{2, 7}));
        QCOMPARE(checkpoint->warnings.size(), std::size_t{1});
        QVERIFY(checkpoint->tokenizer.addsBeginToken);
        QCOMPARE(checkpoint->tokenizer.chatTemplate, "T"s);
        QCOMPARE(checkpoint->tokenizer.modelVocabularySize.value(),
                 checkpoint->config.vocabularySize);
    }
};

QTEST_GUILESS_MAIN(TestArchitectures)
#include "tst_architectures.moc"
