#include "engine/base/memory_reading.h"
#include "engine/checkpoint/tensor_file.h"
#include "engine/model/decoder.h"
#include "tests/engine/checkpoint/checkpoint_test_files.h"

#include <ATen/ops/arange.h>
#include <ATen/ops/mm.h>
#include <ATen/ops/ones.h>

#include <QtTest>

#include <algorithm>
#include <array>
#include <fstream>

using namespace kvscope;

namespace {

constexpr std::uint64_t kMiB = std::uint64_t{1} << 20;
// For slices, activations, the allocator and pages of the libraries (20 to 46 MiB were seen), of
// the 150 MiB that a whole application may take. Expanded to 16 bits, the weights are 130 MiB
// beside the file's own pages, more than any row here allows.
constexpr std::uint64_t kScratch = 80 * kMiB;

// A llama model of 4 layers, width 1024: 68 million weights in matrices of one type.
constexpr std::uint32_t kWidth = 1024;
constexpr std::uint32_t kHidden = 4096;
constexpr std::uint32_t kLayers = 4;

struct FormatUnderTest
{
    std::uint32_t ggmlNumber;
    StorageType storage;
};

/// Adds tensors one behind the other and knows how many bytes they take.
class TensorList
{
public:
    TensorList(GgufBytes& head, const FormatUnderTest& format)
        : m_head(head)
        , m_format(format)
    {
    }
    void matrix(const std::string& name, std::uint64_t rows, std::uint64_t cols)
    {
        m_head.tensor(name, {cols, rows}, m_format.ggmlNumber, m_bytes);
        const std::vector<std::int64_t> shape{static_cast<std::int64_t>(rows),
                                              static_cast<std::int64_t>(cols)};
        advance(storedBytes(m_format.storage, shape).value());
    }
    void gain(const std::string& name)
    {
        m_head.tensor(name, {kWidth}, 0, m_bytes);
        advance(kWidth * sizeof(float));
    }
    std::uint64_t bytes() const { return m_bytes; }

private:
    void advance(std::uint64_t bytes) { m_bytes += (bytes + 31) / 32 * 32; }

    GgufBytes& m_head;
    FormatUnderTest m_format;
    std::uint64_t m_bytes = 0;
};

/// Writes the model piece by piece, so that making it takes no memory. Every byte is 0x11, which is
/// a small scale in every format.
void writeModel(const std::filesystem::path& path, const FormatUnderTest& format)
{
    GgufBytes head;
    head.entry("general.architecture", "llama")
        .entry("llama.block_count", kLayers)
        .entry("llama.context_length", 256U)
        .entry("llama.embedding_length", kWidth)
        .entry("llama.feed_forward_length", kHidden)
        .entry("llama.attention.head_count", 16U)
        .entry("llama.attention.head_count_kv", 4U)
        .entry("llama.attention.layer_norm_rms_epsilon", 6, bytesOf(1e-5F));
    TensorList tensors(head, format);
    tensors.matrix("token_embd.weight", 512, kWidth);
    tensors.gain("output_norm.weight");
    for (std::uint32_t layer = 0; layer < kLayers; ++layer) {
        const std::string prefix = "blk." + std::to_string(layer) + ".";
        tensors.gain(prefix + "attn_norm.weight");
        tensors.gain(prefix + "ffn_norm.weight");
        tensors.matrix(prefix + "attn_q.weight", kWidth, kWidth);
        tensors.matrix(prefix + "attn_k.weight", kWidth / 4, kWidth);
        tensors.matrix(prefix + "attn_v.weight", kWidth / 4, kWidth);
        tensors.matrix(prefix + "attn_output.weight", kWidth, kWidth);
        tensors.matrix(prefix + "ffn_gate.weight", kHidden, kWidth);
        tensors.matrix(prefix + "ffn_up.weight", kHidden, kWidth);
        tensors.matrix(prefix + "ffn_down.weight", kWidth, kHidden);
    }
    std::string bytes = head.bytes();
    bytes.resize((bytes.size() + 31) / 32 * 32, '\0');
    std::ofstream file(path, std::ios::binary);
    file << bytes;
    const std::string piece(1 << 16, '\x11');
    for (std::uint64_t done = 0; done < tensors.bytes(); done += piece.size())
        file.write(piece.data(), static_cast<std::streamsize>(std::min<std::uint64_t>(
                                     piece.size(), tensors.bytes() - done)));
}

/// Sets the peak back to what is resident now. \returns whether the kernel lets us
bool resetPeak()
{
    std::ofstream file("/proc/self/clear_refs");
    file << 5 << std::flush;
    return file.good();
}

} // namespace
Q_DECLARE_METATYPE(FormatUnderTest)

class TestQuantisedMemory : public QObject
{
    Q_OBJECT

private Q_SLOTS:
    // The matrix library's own code and scratch, some 50 MiB once a process, are no part of a
    // model.
    void initTestCase()
    {
        const at::Tensor weight = at::ones({kHidden, kWidth});
        QVERIFY(at::mm(at::ones({64, kWidth}), weight.t()).isfinite().all().item<bool>());
    }

    void weightsStayQuantisedInMemory_data()
    {
        QTest::addColumn<FormatUnderTest>("format");
        // Numbers as in ggml.h, enum ggml_type; every block format that is read.
        constexpr std::array kFormats = {
            FormatUnderTest{2, StorageType::Q4_0},    FormatUnderTest{3, StorageType::Q4_1},
            FormatUnderTest{6, StorageType::Q5_0},    FormatUnderTest{7, StorageType::Q5_1},
            FormatUnderTest{8, StorageType::Q8_0},    FormatUnderTest{10, StorageType::Q2_K},
            FormatUnderTest{11, StorageType::Q3_K},   FormatUnderTest{12, StorageType::Q4_K},
            FormatUnderTest{13, StorageType::Q5_K},   FormatUnderTest{14, StorageType::Q6_K},
            FormatUnderTest{15, StorageType::Q8_K},   FormatUnderTest{20, StorageType::IQ4_NL},
            FormatUnderTest{23, StorageType::IQ4_XS}, FormatUnderTest{39, StorageType::MXFP4},
        };
        for (const FormatUnderTest& format : kFormats)
            QTest::newRow(std::string(storageName(format.storage)).c_str()) << format;
    }
    // Prefill (many rows, slices expanded) and decode (few rows) of a file of some 40 MB, of which
    // float32 would be 270 and float16 135: the peak above the size before opening is at most 1.15
    // times file and cache, and a constant for scratch and libraries.
    void weightsStayQuantisedInMemory()
    {
        QFETCH(FormatUnderTest, format);
        QTemporaryDir folder;
        const auto path = std::filesystem::path(folder.path().toStdString()) / "model.gguf";
        writeModel(path, format);
        if (!resetPeak() && readProcessMemory().peakResident > readProcessMemory().resident + kMiB)
            QSKIP("the kernel does not let a process reset its peak, and an earlier row's remains");
        const std::uint64_t before = readProcessMemory().resident;

        DecoderOptions options;
        options.computeType = ComputeType::Auto;
        Decoder decoder(openCheckpoint(path), options);
        QCOMPARE(decoder.weightBytes(), decoder.checkpoint().weightBytes());
        MixedKVCache cache = decoder.makeCache();
        at::Tensor logits = decoder.forward(at::arange(64, at::kLong).unsqueeze(0), &cache);
        for (std::int64_t id = 0; id < 3; ++id)
            logits = decoder.forward(at::arange(id, id + 1, at::kLong).unsqueeze(0), &cache);
        QVERIFY(logits.isfinite().all().item<bool>());

        const std::uint64_t grown = readProcessMemory().peakResident - before;
        const std::uint64_t held = std::filesystem::file_size(path) + cache.allocatedBytes();
        const std::uint64_t allowed = held * 115 / 100 + kScratch;
        qInfo("file and cache %.1f MiB, grown by %.1f MiB, at most %.1f MiB allowed",
              static_cast<double>(held) / kMiB, static_cast<double>(grown) / kMiB,
              static_cast<double>(allowed) / kMiB);
        QVERIFY(grown > held / 2); // the file's pages count, or nothing was measured
        QVERIFY(grown <= allowed);
    }
};

QTEST_GUILESS_MAIN(TestQuantisedMemory)
#include "tst_quantised_memory.moc"
