#include "engine/base/cuda_devices.h"
#include "engine/base/units.h"
#include "engine/model/decoder.h"
#include "engine/session/open_preview.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"
#include "tests/support/event_log.h"

#include <QElapsedTimer>

#include <unistd.h>

using namespace kvscope;

namespace {

OpenRequest requestFor(const std::filesystem::path& path, const std::string& rotary = {})
{
    OpenRequest request;
    request.path = path.string();
    request.rotary = rotary;
    return request;
}

/// The header of an 8B llama of the usual shape, its data a hole in the file.
void writeEightBillion(const std::filesystem::path& path)
{
    constexpr std::uint64_t kWidth = 4096;
    constexpr std::uint64_t kInner = 14336;
    constexpr std::uint64_t kVocabulary = 128256;
    GgufBytes file;
    file.entry("general.architecture", "llama")
        .entry("general.name", "Eight billion")
        .entry("llama.vocab_size", 128256U)
        .entry("llama.embedding_length", 4096U)
        .entry("llama.feed_forward_length", 14336U)
        .entry("llama.block_count", 32U)
        .entry("llama.attention.head_count", 32U)
        .entry("llama.attention.head_count_kv", 8U)
        .entry("llama.context_length", 131072U)
        .entry("llama.attention.layer_norm_rms_epsilon", 6, bytesOf(1e-5F))
        .entry("llama.rope.freq_base", 6, bytesOf(500000.0F));
    std::uint64_t offset = 0;
    const auto add = [&](const std::string& name, const std::vector<std::uint64_t>& dims) {
        std::uint64_t elements = 1;
        for (const std::uint64_t size : dims)
            elements *= size;
        const bool isMatrix = dims.size() > 1;
        file.tensor(name, dims, isMatrix ? 2 : 0, offset); // Q4_0, F32
        const std::uint64_t bytes = isMatrix ? elements / 32 * 18 : elements * 4;
        offset += (bytes + 31) / 32 * 32;
    };
    add("token_embd.weight", {kWidth, kVocabulary});
    add("output_norm.weight", {kWidth});
    add("output.weight", {kWidth, kVocabulary});
    for (int i = 0; i < 32; ++i) {
        const std::string block = "blk." + std::to_string(i) + ".";
        add(block + "attn_norm.weight", {kWidth});
        add(block + "attn_q.weight", {kWidth, kWidth});
        add(block + "attn_k.weight", {kWidth, 1024});
        add(block + "attn_v.weight", {kWidth, 1024});
        add(block + "attn_output.weight", {kWidth, kWidth});
        add(block + "ffn_norm.weight", {kWidth});
        add(block + "ffn_gate.weight", {kWidth, kInner});
        add(block + "ffn_up.weight", {kWidth, kInner});
        add(block + "ffn_down.weight", {kInner, kWidth});
    }
    std::string head = file.bytes();
    head.resize((head.size() + 31) / 32 * 32, '\0');
    writeFile(path, head);
    QVERIFY(::truncate(path.c_str(), static_cast<off_t>(head.size() + offset)) == 0);
}

std::string lineOf(const OpenPreview& preview, const std::string& label)
{
    for (const PreviewLine& line : preview.summary)
        if (line.label == label)
            return line.value;
    return "(no such line)";
}

/// 2 windowed layers of 128 and 1 global one, 10 bytes of elements a token and layer.
OpenPreview smallPreview(std::uint64_t freeBytes)
{
    OpenPreview preview;
    preview.layers = {{false, 0, 1}, {true, 128, 2}};
    preview.rowsPerToken = 2;
    preview.headDim = 5;
    preview.extendedPositions = 1000;
    preview.dtypes = {{"auto", 5000, 6000, "float16"}, {"float32", 5000, 9000, "float32"}};
    preview.storedWeightBytes = 5000;
    preview.workBytes = 700;
    preview.devices = {{"cpu", "this machine", freeBytes, {}},
                       {"cuda:0", "a GPU", std::nullopt, {}}};
    return preview;
}

} // namespace

class TestOpenPreview : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void anEightBillionHeaderIsReadWithinASecond()
    {
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "8b.gguf";
        writeEightBillion(path);
        qint64 best = 1'000'000;
        OpenPreview preview;
        for (int i = 0; i < 3; ++i) {
            QElapsedTimer timer;
            timer.start();
            preview = previewCheckpoint(requestFor(path)).preview;
            best = std::min(best, timer.elapsed());
        }
        qInfo("read in %lld ms", best);
        QVERIFY(best < 1000);
        QVERIFY2(preview.opens(), preview.error.c_str());
        QCOMPARE(preview.numLayers(), std::int64_t{32});
        // 2 (keys and values) * 8 heads * 128 * 2 bytes * 32 layers = 131,072 bytes a token.
        QCOMPARE(cacheBytesAt(preview, 131072, 2), std::uint64_t{16} << 30);
        QCOMPARE(formatBytes(cacheBytesAt(preview, 131072, cacheNumbersOf("float16"))),
                 std::string("16.0 GiB"));
        QCOMPARE(formatBytes(cacheBytesAt(preview, 131072, cacheNumbersOf("float32"))),
                 std::string("32.0 GiB"));
        const QString cache = QString::fromStdString(lineOf(preview, "Cache"));
        KVSCOPE_CONTAINS(cache, "128 KiB per token, 16.0 GiB at 131,072 tokens in float16");
        KVSCOPE_CONTAINS(QString::fromStdString(lineOf(preview, "Size")),
                         "8,030,261,248 parameters, all active per token");
    }

    void memoryFollowsFromTheShape()
    {
        const OpenPreview preview = smallPreview(40'000);
        QCOMPARE(cacheBytesAt(preview, 100, 2), std::uint64_t{3 * 100 * 20});
        QCOMPARE(cacheBytesAt(preview, 1000, 2), std::uint64_t{(1000 + 2 * 128) * 20});
        // Two rows of five bytes and a scale.
        for (const char* dtype : {"int8", "fp8"})
            QCOMPARE(cacheBytesAt(preview, 100, cacheNumbersOf(dtype)),
                     std::uint64_t{3 * 100 * 18});
        const FitEstimate fit = estimateFit(preview, {});
        QCOMPARE(fit.context, std::int64_t{1000});
        QCOMPARE(fit.cacheDtype, std::string("float16"));
        QCOMPARE(fit.weightBytes, std::uint64_t{5000});
        QCOMPARE(fit.growthBytes, std::uint64_t{20'000}); // one layer once more
        QCOMPARE(fit.totalBytes(), std::uint64_t{5000 + 25'120 + 20'000 + 700});
        QVERIFY(!fit.fits());
        // 5700 + (n + 256) * 20 + n * 20 <= 40,000 gives n <= 729.
        QCOMPARE(fit.longestContext, std::int64_t{729});
        QVERIFY(!fit.isRefused);
        QVERIFY(estimateFit(smallPreview(60'000), {}).fits());
        QCOMPARE(estimateFit(smallPreview(60'000), {}).longestContext, std::int64_t{1000});
        QVERIFY(estimateFit(smallPreview(4'000), {}).isRefused);
        QCOMPARE(estimateFit(smallPreview(4'000), {}).longestContext, std::int64_t{0});
    }

    void aChoiceChangesWhatItTakes()
    {
        const OpenPreview preview = smallPreview(40'000);
        const FitEstimate wide =
            estimateFit(preview, {.device = "cpu", .dtype = "float32", .maxContext = 100});
        QCOMPARE(wide.cacheDtype, std::string("float32"));
        QCOMPARE(wide.cacheBytes, std::uint64_t{300 * 40});
        const FitEstimate narrow =
            estimateFit(preview, {.dtype = "float32", .cacheDtype = "bfloat16"});
        QCOMPARE(narrow.cacheBytes, std::uint64_t{1256 * 20});
        const FitEstimate device = estimateFit(preview, {.device = "cuda:0"});
        QCOMPARE(device.weightBytes, std::uint64_t{6000});
        QVERIFY(!device.freeBytes && device.fits()); // not known, so not denied
    }

    void hostileSizesSaturate()
    {
        OpenPreview preview = smallPreview(40'000);
        preview.layers = {{false, 0, 1024}};
        preview.rowsPerToken = std::int64_t{1} << 17;
        preview.headDim = 256;
        preview.extendedPositions = std::int64_t{1} << 40;
        const FitEstimate fit = estimateFit(preview, {});
        QCOMPARE(fit.totalBytes(), std::numeric_limits<std::uint64_t>::max());
        QCOMPARE(fit.longestContext, std::int64_t{0});
        QVERIFY(fitText(fit).starts_with("no (for 1,099,511,627,776 tokens "));
    }

    void weightBytesAreThoseOfTheDecoder_data()
    {
        QTest::addColumn<QString>("model");
        QTest::addColumn<QString>("dtype");
        for (const char* dtype : {"auto", "float32", "bfloat16", "float16"}) {
            QTest::addRow("float32 file, %s", dtype) << "gptosslite/tiny_a" << dtype;
            QTest::addRow("Q4_1 file, %s", dtype) << "gguf/llama_q4_1.gguf" << dtype;
            QTest::addRow("float16 file, %s", dtype) << "gguf/llama_f16.gguf" << dtype;
            QTest::addRow("biases, %s", dtype) << "hf/families/qwen2" << dtype;
        }
    }
    void weightBytesAreThoseOfTheDecoder()
    {
        QFETCH(QString, model);
        QFETCH(QString, dtype);
        const auto previewed = previewCheckpoint(requestFor(goldenPath(model.toStdString())));
        DecoderOptions options;
        options.computeType = dtype == "auto"       ? ComputeType::Auto
                              : dtype == "float32"  ? ComputeType::Float32
                              : dtype == "bfloat16" ? ComputeType::BFloat16
                                                    : ComputeType::Float16;
        const Decoder decoder(previewed.checkpoint, options);
        const DtypeChoice choice = dtypeChoice(previewed.preview, dtype.toStdString());
        QCOMPARE(choice.hostWeightBytes, decoder.weightBytes());
        const auto cacheBytes =
            static_cast<std::int64_t>(decoder.makeCache().options().dtype().itemsize());
        QCOMPARE(cacheNumbersOf(choice.cache).elementBytes, cacheBytes);
    }

    void anOverrideIsSaidAndChangesThePositions()
    {
        const auto previewed =
            previewCheckpoint(requestFor(goldenPath("gptosslite/tiny_a"), "linear:8"));
        QCOMPARE(previewed.preview.rotaryOverride, std::string("linear:8"));
        QCOMPARE(previewed.preview.extendedPositions, std::int64_t{512}); // 8 * 64
        KVSCOPE_CONTAINS(QString::fromStdString(lineOf(previewed.preview, "Rotation")),
                         "(overridden; the file says gpt-oss-lite YaRN x4");
        const auto wrong =
            previewCheckpoint(requestFor(goldenPath("gptosslite/tiny_a"), "linear:0.5"));
        QVERIFY(!wrong.preview.opens() && wrong.checkpoint == nullptr);
        KVSCOPE_CONTAINS(QString::fromStdString(wrong.preview.error), "factor of 1 or more");
    }

    void everySchemeIsOfferedOrSaysWhyNot()
    {
        const auto own = previewCheckpoint(requestFor(goldenPath("hf/llama"))).preview;
        QCOMPARE(own.rotaryOptions.size(), rotaryOptions().size());
        int usable = 0;
        for (const RotaryOption& option : own.rotaryOptions) {
            const std::string choice = option.name + (option.takesFactor ? ":2" : "");
            const auto other =
                previewCheckpoint(requestFor(goldenPath("hf/llama"), choice)).preview;
            QVERIFY2(other.opens() == option.unusable.empty(), choice.c_str());
            QCOMPARE(other.error, option.unusable);
            usable += other.opens() ? 1 : 0;
        }
        QVERIFY(usable >= 5 && usable < static_cast<int>(own.rotaryOptions.size()));
    }

    void whatDoesNotOpenSaysWhyWithItsChecks()
    {
        const auto previewed = previewCheckpoint(requestFor("/no/such/model.gguf"));
        QVERIFY(!previewed.preview.opens());
        QCOMPARE(previewed.preview.error, std::string("/no/such/model.gguf: no such file"));
        QCOMPARE(previewed.preview.checks.back().found, previewed.preview.error);
        QVERIFY(previewed.preview.checks.back().result == CheckResult::Failed);
    }

    void aTokenizerThatCannotBeBuiltIsAWarning()
    {
        const OpenPreview preview =
            previewCheckpoint(requestFor(goldenPath("gptosslite/tiny_a"))).preview;
        QVERIFY(preview.opens());
        const CheckEntry& last = preview.checks.back();
        QVERIFY(last.section == CheckSection::Tokenizer && last.result == CheckResult::Warning);
        KVSCOPE_CONTAINS(QString::fromStdString(last.found), "no tokenizer");
        QCOMPARE(preview.warnings.size(), std::size_t{1});
    }

    void aStoppedPreviewEnds()
    {
        std::stop_source stop;
        stop.request_stop();
        const auto previewed =
            previewCheckpoint(requestFor(goldenPath("gguf/llama_q4_1.gguf")), stop.get_token());
        QVERIFY(!previewed.preview.opens());
        QVERIFY(previewed.checkpoint == nullptr);
    }

    void thisMachineIsTheFirstDevice()
    {
        const auto devices = readDevices();
        QCOMPARE(devices.front().id, std::string("cpu"));
        QVERIFY(devices.front().freeBytes.value_or(0) > 0);
        QCOMPARE(devices.size(), readCudaDevices().size() + 1);
    }

    // The choices reach the engine, and what is shown of the model says so.
    void aSessionOpensAsChosen()
    {
        EventLog log;
        Session session(log.callbacks());
        OpenRequest request = requestFor(goldenPath("gptosslite/tiny_a"), "linear:2");
        request.dtype = "float32";
        request.cacheDtype = "float16";
        request.contextLimit = 100;
        session.open(request);
        const auto opened = log.waitFor<ModelOpened>();
        QVERIFY(opened.has_value());
        const ModelDescription& model = opened->model;
        QCOMPARE(model.rotaryOverride, std::string("linear:2"));
        KVSCOPE_CONTAINS(QString::fromStdString(model.rotary), "linear x2");
        QCOMPARE(model.contextLimit, std::int64_t{100});
        QCOMPARE(model.extendedPositions, std::int64_t{128});
        KVSCOPE_CONTAINS(QString::fromStdString(model.compute), "float16 cache");
        QCOMPARE(model.layers[0].cacheBytesPerToken, std::int64_t{2 * 2 * 16 * 2});
        request.rotary = "spiral";
        session.open(request);
        const auto failed = log.waitFor<CommandFailed>();
        QVERIFY(failed.has_value());
        KVSCOPE_CONTAINS(QString::fromStdString(failed->message), "rotary override 'spiral'");
    }
};

QTEST_GUILESS_MAIN(TestOpenPreview)
#include "tst_open_preview.moc"
