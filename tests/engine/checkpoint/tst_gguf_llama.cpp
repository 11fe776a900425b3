#include "engine/checkpoint/architectures/family.h"
#include "engine/checkpoint/checkpoint.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

using namespace kvscope;

namespace {

constexpr std::uint32_t kText = 8;
constexpr std::uint32_t kArray = 9;

std::string textArray(const std::vector<std::string>& values)
{
    std::string bytes = bytesOf(kText) + bytesOf<std::uint64_t>(values.size());
    for (const std::string& value : values)
        bytes += GgufBytes::text(value);
    return bytes;
}

std::string intArray(const std::vector<std::int32_t>& values)
{
    std::string bytes = bytesOf(5U) + bytesOf<std::uint64_t>(values.size());
    for (const std::int32_t value : values)
        bytes += bytesOf(value);
    return bytes;
}

struct Entry
{
    std::string key;
    std::uint32_t type = 0;
    std::string value;
};

/// The metadata of a llama model of one layer, width 32, two heads of 16, three tokens.
std::vector<Entry> smallMetadata()
{
    const auto count = [](const char* key, std::uint32_t value) {
        return Entry{key, 4, bytesOf(value)};
    };
    return {
        {"general.architecture", kText, GgufBytes::text("llama")},
        count("llama.block_count", 1),
        count("llama.context_length", 64),
        count("llama.embedding_length", 32),
        count("llama.feed_forward_length", 32),
        count("llama.attention.head_count", 2),
        {"llama.attention.layer_norm_rms_epsilon", 6, bytesOf(1e-5F)},
        {"tokenizer.ggml.model", kText, GgufBytes::text("gpt2")},
        {"tokenizer.ggml.pre", kText, GgufBytes::text("smollm")},
        {"tokenizer.ggml.tokens", kArray, textArray({"a", "b", "ab"})},
        {"tokenizer.ggml.token_type", kArray, intArray({1, 1, 1})},
        {"tokenizer.ggml.merges", kArray, textArray({"a b"})},
        count("tokenizer.ggml.eos_token_id", 2),
    };
}

struct Matrix
{
    std::string name;
    std::vector<std::uint64_t> dims; ///< innermost first
    std::uint32_t type = 0;
};

std::vector<Matrix> smallTensors()
{
    std::vector<Matrix> tensors = {{"token_embd.weight", {32, 3}},
                                   {"output_norm.weight", {32}},
                                   {"blk.0.attn_norm.weight", {32}},
                                   {"blk.0.ffn_norm.weight", {32}}};
    for (const char* name :
         {"attn_q", "attn_k", "attn_v", "attn_output", "ffn_gate", "ffn_up", "ffn_down"})
        tensors.push_back({std::string("blk.0.") + name + ".weight", {32, 32}});
    return tensors;
}

std::string build(const std::vector<Entry>& metadata, const std::vector<Matrix>& tensors)
{
    GgufBytes file;
    for (const Entry& entry : metadata)
        file.entry(entry.key, entry.type, entry.value);
    std::uint64_t offset = 0;
    for (const Matrix& tensor : tensors) {
        file.tensor(tensor.name, tensor.dims, tensor.type, offset);
        offset += 32 * 32 * 4;
    }
    return file.data(offset).bytes();
}

} // namespace
Q_DECLARE_METATYPE(Entry)
Q_DECLARE_METATYPE(Matrix)

class TestGgufLlama : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    std::filesystem::path write(const std::string& bytes) const
    {
        const auto path = std::filesystem::path(m_folder.path().toStdString()) / "a.gguf";
        writeFile(path, bytes);
        return path;
    }
    /// The small model with one entry replaced, added, or (type 99) left out.
    std::filesystem::path writeWith(const Entry& change) const
    {
        auto metadata = smallMetadata();
        std::erase_if(metadata, [&](const Entry& entry) { return entry.key == change.key; });
        if (change.type != 99)
            metadata.push_back(change);
        return write(build(metadata, smallTensors()));
    }

private Q_SLOTS:
    void theSmallModelOpens()
    {
        const auto checkpoint = openCheckpoint(write(build(smallMetadata(), smallTensors())));
        QCOMPARE(checkpoint->config.numKvHeads, std::int64_t{2});
        QCOMPARE(checkpoint->config.vocabularySize, std::int64_t{3});
        QCOMPARE(checkpoint->config.rotary.base, 10000.0);
        QVERIFY(checkpoint->config.hasTiedHead);
        QCOMPARE(checkpoint->tokenizer.endTokens, std::vector<std::int64_t>{2});
        QCOMPARE(checkpoint->tokenizer.bpe->merges, std::vector<std::string>{"a b"});
    }

    void metadataIsChecked_data()
    {
        QTest::addColumn<Entry>("entry");
        QTest::addColumn<QString>("reason");
        const auto row = [](const char* name, const Entry& entry, const char* reason) {
            QTest::newRow(name) << entry << reason;
        };
        const auto count = [](const char* key, std::uint32_t value) {
            return Entry{key, 4, bytesOf(value)};
        };
        const auto text = [](const char* key, const char* value) {
            return Entry{key, kText, GgufBytes::text(value)};
        };
        row("no architecture", {"general.architecture", 99, {}}, "no general.architecture");
        row("another architecture", text("general.architecture", "mamba"),
            "general.architecture is mamba; of GGUF files, this version reads gemma, ");
        row("no layers", {"llama.block_count", 99, {}}, "the metadata has no llama.block_count");
        row("a billion layers", count("llama.block_count", 1000000000), "1 to 1024 was expected");
        row("two layers for one", count("llama.block_count", 2), "blk.1.attn_norm.weight");
        row("width as text", text("llama.embedding_length", "32"), "is not a whole number");
        row("another width", count("llama.embedding_length", 64),
            "token_embd.weight is [3, 32], its metadata");
        row("no heads", count("llama.attention.head_count", 0), "not a multiple of the 0 heads");
        row("heads that do not divide the width", count("llama.attention.head_count", 3),
            "not a multiple");
        row("heads per layer", {"llama.attention.head_count", kArray, intArray({2, 4})},
            "differs from layer to layer");
        row("no heads per layer", {"llama.attention.head_count", kArray, intArray({})},
            "differs from layer to layer");
        row("heads as texts", {"llama.attention.head_count", kArray, textArray({"2"})},
            "is not a list of whole numbers");
        row("rotation of more than a head", count("llama.rope.dimension_count", 18),
            "rotated part of a head is 18");
        row("values of another size", count("llama.attention.value_length", 8),
            "value_length is 8");
        row("no epsilon", {"llama.attention.layer_norm_rms_epsilon", 99, {}},
            "layer_norm_rms_epsilon");
        row("experts without a number of active ones", count("llama.expert_count", 8),
            "the metadata has no llama.expert_used_count");
        row("an attention scale", {"llama.attention.scale", 6, bytesOf(0.5F)},
            "llama.attention.scale is set, which a llama model does not have");
        row("no causality", {"llama.attention.causal", 7, std::string(1, '\0')},
            "attention.causal is false");
        row("another scaling", text("llama.rope.scaling.type", "spiral"),
            "scaling.type is spiral; none, linear and yarn");
        row("negative base", {"llama.rope.freq_base", 6, bytesOf(-1.0F)}, "rotary base is -1");
        row("another vocabulary", count("llama.vocab_size", 4),
            "[3, 32], its metadata asks for [4, 32]");
        row("too few tokens", {"tokenizer.ggml.tokens", kArray, textArray({"a"})},
            "tokenizer.ggml.tokens has 1 entries for a vocabulary of 3");
        row("tokens as numbers", {"tokenizer.ggml.tokens", kArray, intArray({1, 2, 3})},
            "tokenizer.ggml.tokens is not an array of texts");
        row("tokens as text", text("tokenizer.ggml.tokens", "abc"), "tokens is not an array");
        row("no tokens", {"tokenizer.ggml.tokens", 99, {}},
            "the metadata has no tokenizer.ggml.tokens");
        row("too few types", {"tokenizer.ggml.token_type", kArray, intArray({1})},
            "token_type has 1 entries for 3 tokens");
        row("types as texts", {"tokenizer.ggml.token_type", kArray, textArray({"1", "1", "1"})},
            "token_type is not an array of whole numbers");
        row("unknown token type", {"tokenizer.ggml.token_type", kArray, intArray({1, 7, 1})},
            "unknown type 7");
        row("negative token type", {"tokenizer.ggml.token_type", kArray, intArray({1, -1, 1})},
            "unknown type -1");
        row("no merges", {"tokenizer.ggml.merges", 99, {}},
            "the metadata has no tokenizer.ggml.merges");
        row("merges as numbers", {"tokenizer.ggml.merges", kArray, intArray({1})},
            "tokenizer.ggml.merges is not an array of texts");
        row("merge of one piece", {"tokenizer.ggml.merges", kArray, textArray({"ab"})},
            "merges has \"ab\"");
        row("empty merge", {"tokenizer.ggml.merges", kArray, textArray({""})}, "merges has \"\"");
        row("merge without a right", {"tokenizer.ggml.merges", kArray, textArray({"a "})},
            "merges has");
    }
    void metadataIsChecked()
    {
        QFETCH(Entry, entry);
        QFETCH(QString, reason);
        const QString error = errorOf([&] { openCheckpoint(writeWith(entry)); });
        QVERIFY2(error.startsWith("a.gguf: "), qPrintable(error));
        KVSCOPE_CONTAINS(error, reason);
    }

    void tensorsAreChecked_data()
    {
        QTest::addColumn<Matrix>("tensor");
        QTest::addColumn<QString>("reason");
        QTest::newRow("unread type")
            << Matrix{"blk.0.ffn_down.weight", {256, 4}, 16}
            << "blk.0.ffn_down.weight is stored as IQ2_XXS (type 16), which this version does not "
               "read; F32, F16, BF16, Q8_0, Q4_0, Q4_1, Q5_0, Q5_1, IQ4_NL, MXFP4, Q2_K, Q3_K, "
               "Q4_K, Q5_K, Q6_K, Q8_K and IQ4_XS are";
        QTest::newRow("a type too new") << Matrix{"blk.0.ffn_down.weight", {64, 4}, 40}
                                        << "is stored as NVFP4 (type 40), which";
        QTest::newRow("blocks of 256 for a row of 32")
            << Matrix{"blk.0.ffn_down.weight", {32, 32}, 12}
            << "blk.0.ffn_down.weight is Q4_K [32, 32], whose rows are not whole blocks of 256";
        QTest::newRow("unknown type")
            << Matrix{"blk.0.ffn_down.weight", {32, 32}, 77} << "is stored as type 77, which";
        QTest::newRow("integers") << Matrix{"blk.0.ffn_down.weight", {32, 32}, 26}
                                  << "is stored as I32";
        QTest::newRow("quantised norm") << Matrix{"output_norm.weight", {32}, 8}
                                        << "output_norm.weight is stored as Q8_0, a vector of F32";
        QTest::newRow("swapped shape")
            << Matrix{"token_embd.weight", {3, 32}, 0} << "asks for [32, 32]";
        QTest::newRow("one bias of three") << Matrix{"blk.0.attn_q.bias", {32}, 0}
                                           << "blk.0.attn_k.bias, blk.0.attn_v.bias are missing";
        QTest::newRow("a tensor of another family")
            << Matrix{"blk.0.ssm_a", {32}, 0}
            << "blk.0.ssm_a is no part of a llama model of 1 layers";
        QTest::newRow("divisors of another length")
            << Matrix{"rope_freqs.weight", {7}, 0}
            << "rope_freqs.weight has 7 stored rotary frequency divisors for 8 pairs";
        QTest::newRow("divisors of 0") << Matrix{"rope_freqs.weight", {8}, 0} << "divisor is 0";
        QTest::newRow("divisors in half")
            << Matrix{"rope_freqs.weight", {8}, 1} << "rope_freqs.weight is F16 [8]";
    }
    void tensorsAreChecked()
    {
        QFETCH(Matrix, tensor);
        QFETCH(QString, reason);
        auto tensors = smallTensors();
        std::erase_if(tensors, [&](const Matrix& other) { return other.name == tensor.name; });
        tensors.push_back(tensor);
        const auto path = write(build(smallMetadata(), tensors));
        KVSCOPE_CONTAINS(errorOf([&] { openCheckpoint(path); }), reason);
    }

    // llama.cpp presets 4,096 for this family, whose first files do not say it.
    void gemma2WithoutAWindowHasThatOfItsFirstFiles()
    {
        const std::string bytes =
            GgufBytes()
                .entry("general.architecture", "gemma2")
                .entry("gemma2.block_count", 3U)
                .entry("gemma2.context_length", 64U)
                .entry("gemma2.embedding_length", 32U)
                .entry("gemma2.feed_forward_length", 32U)
                .entry("gemma2.attention.head_count", 2U)
                .entry("gemma2.attention.layer_norm_rms_epsilon", 6, bytesOf(1e-6F))
                .tensor("token_embd.weight", {32, 3}, 0, 0)
                .data(384)
                .bytes();
        const ModelConfig model = findGgufFamily("gemma2")->readGguf(GgufFile(write(bytes)));
        QCOMPARE(model.layers[0].window, std::int64_t{4096});
        QVERIFY(model.layers[1].kind == LayerKind::Global);
        QVERIFY(model.layers[2].kind == LayerKind::Windowed);
    }

    // As gguf-split writes it: the metadata in the first part, tensors in all.
    void aModelOfTwoPartsOpensFromEither()
    {
        const auto split = [](std::uint16_t number) {
            return std::vector<Entry>{
                {"split.no", 2, bytesOf(number)},
                {"split.count", 2, bytesOf<std::uint16_t>(2)},
                {"split.tensors.count", 5,
                 bytesOf(static_cast<std::int32_t>(smallTensors().size()))},
            };
        };
        auto metadata = smallMetadata();
        for (const Entry& entry : split(0))
            metadata.push_back(entry);
        const auto tensors = smallTensors();
        const auto middle = tensors.begin() + 4;
        const std::filesystem::path folder(m_folder.path().toStdString());
        writeFile(folder / "m-00001-of-00002.gguf", build(metadata, {tensors.begin(), middle}));
        writeFile(folder / "m-00002-of-00002.gguf", build(split(1), {middle, tensors.end()}));
        for (const char* name : {"m-00001-of-00002.gguf", "m-00002-of-00002.gguf"}) {
            const auto checkpoint = openCheckpoint(folder / name);
            QCOMPARE(checkpoint->files.size(), std::size_t{2});
            QCOMPARE(checkpoint->config.vocabularySize, std::int64_t{3});
            QCOMPARE(checkpoint->tokenizer.bpe->tokens.size(), std::size_t{3});
            for (const Matrix& tensor : tensors)
                QVERIFY(checkpoint->find(tensor.name) != nullptr);
        }
        QVERIFY(readTokenizerSource(folder / "m-00002-of-00002.gguf").bpe.has_value());
    }

    void linearScalingIsRead()
    {
        auto metadata = smallMetadata();
        metadata.push_back({"llama.rope.scaling.type", kText, GgufBytes::text("linear")});
        metadata.push_back({"llama.rope.scaling.factor", 6, bytesOf(4.0F)});
        metadata.push_back({"llama.rope.scaling.original_context_length", 4, bytesOf(16U)});
        const auto checkpoint = openCheckpoint(write(build(metadata, smallTensors())));
        QCOMPARE(std::get<LinearRotary>(checkpoint->config.rotary.scheme).factor, 4.0);
        QCOMPARE(checkpoint->config.trainedPositions, std::int64_t{16});
        QCOMPARE(checkpoint->config.extendedPositions, std::int64_t{64});
    }

    void specialTokensOutsideTheVocabularyAreWarnedOf()
    {
        const auto checkpoint =
            openCheckpoint(writeWith({"tokenizer.ggml.eos_token_id", 4, bytesOf(128009U)}));
        QVERIFY(checkpoint->tokenizer.endTokens.empty());
        QCOMPARE(checkpoint->warnings.size(), std::size_t{1});
    }

    void aFileWithoutATokenizerStillOpens()
    {
        const auto path = writeWith({"tokenizer.ggml.model", 99, {}});
        const auto checkpoint = openCheckpoint(path);
        QVERIFY(!checkpoint->tokenizer.bpe);
        QVERIFY(checkpoint->tokenizer.unsupported.empty());
        QVERIFY(!readTokenizerSource(path).bpe);
    }
};

QTEST_GUILESS_MAIN(TestGgufLlama)
#include "tst_gguf_llama.moc"
