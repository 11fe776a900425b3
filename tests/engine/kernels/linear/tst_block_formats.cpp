#include "engine/checkpoint/gguf_file.h"
#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"
#include "tests/engine/kernels/linear/few_rows_paths.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/golden_file.h"
#include "tests/support/golden_json.h"

#include <ATen/ops/arange.h>

#include <QCryptographicHash>
#include <QtTest>

#include <cmath>
#include <set>
#include <vector>

using namespace kvscope;

namespace {

std::vector<std::byte> bytesOf(std::initializer_list<int> values)
{
    std::vector<std::byte> bytes;
    for (const int value : values)
        bytes.push_back(static_cast<std::byte>(value));
    return bytes;
}

// One line about the first element that is not bit for bit what is wanted; any NaN matches any
// other.
QString firstDifference(const std::vector<float>& got, const float* want)
{
    for (std::size_t i = 0; i < got.size(); ++i) {
        const bool areNaN = std::isnan(got[i]) && std::isnan(want[i]);
        if (!areNaN && std::memcmp(&got[i], &want[i], sizeof(float)) != 0)
            return QString("element %1 is %2, not %3").arg(i).arg(got[i]).arg(want[i]);
    }
    return {};
}

std::vector<float> decodeWith(InstructionSet instructions, StorageType type, const std::byte* row,
                              std::int64_t cols)
{
    std::vector<float> out(static_cast<std::size_t>(cols));
    formatKernels(type, instructions).decode(row, out.data(), cols);
    return out;
}

/// Of every set that runs here, and AVX-512's of float formats on AVX2.
std::vector<DecodeRow> decodersOf(StorageType type)
{
    std::vector<DecodeRow> decoders;
    for (const auto instructions : availableInstructionSets())
        decoders.push_back(formatKernels(type, instructions).decode);
    const auto wide = avx512OnAvx2();
    if (const auto found = wide.find(type); found != wide.end() && !isQuantized(type))
        decoders.push_back(found->second.decode);
    return decoders;
}

std::int64_t countOf(const TensorInfo& info)
{
    std::int64_t count = 1;
    for (const std::int64_t size : info.shape)
        count *= size;
    return count;
}

std::string sha256(const std::vector<float>& values)
{
    const QByteArray bytes =
        QByteArray::fromRawData(reinterpret_cast<const char*>(values.data()),
                                static_cast<qsizetype>(values.size() * sizeof(float)));
    return QCryptographicHash::hash(bytes, QCryptographicHash::Sha256).toHex().toStdString();
}

} // namespace

class TestBlockFormats : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void rowsTakeWholeBlocks()
    {
        QCOMPARE(bytesPerRow(StorageType::F32, 7), 28);
        QCOMPARE(bytesPerRow(StorageType::BF16, 7), 14);
        QCOMPARE(bytesPerRow(StorageType::Q8_0, 576), 18 * 34);
        QCOMPARE(bytesPerRow(StorageType::Q4_0, 576), 18 * 18);
        QCOMPARE(bytesPerRow(StorageType::Q4_1, 576), 18 * 20);
        QCOMPARE(bytesPerRow(StorageType::MXFP4, 2880), 90 * 17);
        QCOMPARE(bytesPerRow(StorageType::Q4_K, 4096), 16 * 144);
        QCOMPARE(bytesPerRow(StorageType::Q6_K, 256), 210);
        for (const auto type : weightTypes())
            QVERIFY(isWeightType(type));
        QVERIFY(!isWeightType(StorageType::I8));
        QVERIFY(!isWeightType(StorageType::F64));
    }

    // 0x3800 is 0.5 and 0xc000 is -2 in float16; bytes 0x21, 0x43 hold nibbles 1, 2 and 3, 4.
    void handWorkedBlocksDecode()
    {
        auto q4 = bytesOf({0x00, 0x38, 0x21, 0x43});
        q4.resize(18);
        auto out = decodeWith(InstructionSet::Portable, StorageType::Q4_0, q4.data(), 32);
        QCOMPARE(out[0], -3.5F); // 0.5 (1 - 8)
        QCOMPARE(out[1], -2.5F);
        QCOMPARE(out[16], -3.0F); // 0.5 (2 - 8)
        QCOMPARE(out[17], -2.0F);
        QCOMPARE(out[31], -4.0F);

        auto q41 = bytesOf({0x00, 0x38, 0x00, 0xc0, 0x21, 0x43});
        q41.resize(20);
        out = decodeWith(InstructionSet::Portable, StorageType::Q4_1, q41.data(), 32);
        QCOMPARE(out[0], -1.5F); // 0.5 * 1 - 2
        QCOMPARE(out[16], -1.0F);
        QCOMPARE(out[31], -2.0F);

        auto q8 = bytesOf({0x00, 0x38, 0x80, 0x7f});
        q8.resize(34);
        out = decodeWith(InstructionSet::Portable, StorageType::Q8_0, q8.data(), 32);
        QCOMPARE(out[0], -64.0F);
        QCOMPARE(out[1], 63.5F);
        QCOMPARE(out[2], 0.0F);
    }

    // Scales of 0.5 again; 0x02 as the last byte of the fifth bits sets that of element 25.
    void handWorkedFiveBitBlocksDecode()
    {
        auto q5 = bytesOf({0x00, 0x38, 0x01, 0x00, 0x00, 0x02, 0x21, 0x43});
        q5.resize(22);
        auto out = decodeWith(InstructionSet::Portable, StorageType::Q5_0, q5.data(), 32);
        QCOMPARE(out[0], 0.5F);   // 0.5 (1 + 16 - 16)
        QCOMPARE(out[1], -6.5F);  // 0.5 (3 - 16)
        QCOMPARE(out[16], -7.0F); // 0.5 (2 - 16)
        QCOMPARE(out[25], 0.0F);  // 0.5 (0 + 16 - 16)

        auto q51 = bytesOf({0x00, 0x38, 0x00, 0xc0, 0x01, 0x00, 0x00, 0x02, 0x21, 0x43});
        q51.resize(24);
        out = decodeWith(InstructionSet::Portable, StorageType::Q5_1, q51.data(), 32);
        QCOMPARE(out[0], 6.5F); // 0.5 * 17 - 2
        QCOMPARE(out[1], -0.5F);
        QCOMPARE(out[25], 6.0F);
    }

    // Nibbles 1 and 15: of IQ4_NL -104 and 113, of E2M1 0.5 and -6.
    void handWorkedTableBlocksDecode()
    {
        auto nonLinear = bytesOf({0x00, 0x38, 0xf1});
        nonLinear.resize(18);
        auto out = decodeWith(InstructionSet::Portable, StorageType::IQ4_NL, nonLinear.data(), 32);
        QCOMPARE(out[0], -52.0F);
        QCOMPARE(out[16], 56.5F);
        QCOMPARE(out[1], -63.5F);

        auto mxfp4 = bytesOf({0x80, 0xf1}); // 2^(128 - 127)
        mxfp4.resize(17);
        out = decodeWith(InstructionSet::Portable, StorageType::MXFP4, mxfp4.data(), 32);
        QCOMPARE(out[0], 1.0F);
        QCOMPARE(out[16], -12.0F);
        QCOMPARE(out[1], 0.0F);
        mxfp4[0] = std::byte{0}; // 2^-127, and half of it 2^-128, are subnormal
        out = decodeWith(InstructionSet::Portable, StorageType::MXFP4, mxfp4.data(), 32);
        QCOMPARE(out[0], 0x1p-128F);
        mxfp4[0] = std::byte{1};
        out = decodeWith(InstructionSet::Portable, StorageType::MXFP4, mxfp4.data(), 32);
        QCOMPARE(out[0], 0x1p-127F);
    }

    // Q4_K of d = 0.5, m = 1: pair 0 is (3, 2), pair 4 (5 + 16, 6 + 32), its top bits being those
    // of bytes 0 and 4.
    void handWorkedLargeBlocksDecode()
    {
        auto q4 = bytesOf({0x00, 0x38, 0x00, 0x3c, 0x43, 0, 0, 0, 0x82, 0, 0, 0, 0x65});
        q4.resize(144);
        q4[16] = std::byte{0x07};      // element 0
        q4[16 + 64] = std::byte{0x09}; // element 128
        auto out = decodeWith(InstructionSet::Portable, StorageType::Q4_K, q4.data(), 256);
        QCOMPARE(out[0], 8.5F); // 0.5 * 3 * 7 - 2
        QCOMPARE(out[1], -2.0F);
        QCOMPARE(out[128], 56.5F); // 0.5 * 21 * 9 - 38

        std::vector<std::byte> q6(210);
        q6[208] = std::byte{0x00};
        q6[209] = std::byte{0x38};
        q6[0] = std::byte{0x52};   // elements 0 and 64
        q6[128] = std::byte{0x03}; // the high bits of element 0: 2 + 48
        q6[192] = std::byte{0xff}; // the scale of elements 0 to 15: -1
        q6[196] = std::byte{0x02}; // of 64 to 79
        out = decodeWith(InstructionSet::Portable, StorageType::Q6_K, q6.data(), 256);
        QCOMPARE(out[0], -9.0F);   // 0.5 * -1 * (50 - 32)
        QCOMPARE(out[64], -27.0F); // 0.5 * 2 * (5 - 32)

        std::vector<std::byte> q8(292);
        const float d = 0.75F;
        std::memcpy(q8.data(), &d, sizeof(d));
        q8[4 + 255] = std::byte{0x80};
        out = decodeWith(InstructionSet::Portable, StorageType::Q8_K, q8.data(), 256);
        QCOMPARE(out[255], -96.0F);
    }

    void everyHalfDecodesAsLibTorchDoes()
    {
        const at::Tensor bits = at::arange(-32768, 32768, at::kShort);
        const auto* bytes = static_cast<const std::byte*>(bits.const_data_ptr());
        for (const auto type : {StorageType::F16, StorageType::BF16}) {
            const at::Tensor want = bits.view(scalarTypeOf(type)).to(at::kFloat);
            std::vector<float> got(65536);
            for (const DecodeRow decode : decodersOf(type)) {
                decode(bytes, got.data(), 65536);
                const QString difference = firstDifference(got, want.const_data_ptr<float>());
                QVERIFY2(difference.isEmpty(), qPrintable(nameOf(type) + ": " + difference));
            }
        }
    }

    void extremeScalesMatchGgml()
    {
        const GgufFile file(goldenPath("gguf/probe.gguf"));
        const GoldenFile golden("gguf/probe.safetensors");
        std::set<StorageType> compared;
        for (const auto& [name, info] : file.files().front()->tensors()) {
            if (!isWeightType(info.type))
                continue;
            const at::Tensor want = golden.tensor(name);
            for (const auto instructions : availableInstructionSets()) {
                const auto got =
                    decodeWith(instructions, info.type, info.data.data(), want.numel());
                const QString difference = firstDifference(got, want.const_data_ptr<float>());
                QVERIFY2(difference.isEmpty(),
                         qPrintable(QString::fromStdString(name) + ": " + difference));
            }
            compared.insert(info.type);
        }
        QCOMPARE(compared.size(), weightTypes().size() - 1); // no Q8_K: files hold none
    }

    void modelsMatchGgml_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name : {"f32", "f32_ropefreqs", "f16", "bf16", "q8_0", "q4_0", "q4_1",
                                 "q5_0", "q5_1", "kmix"})
            QTest::newRow(name) << QString("llama_") + name;
    }
    // Golden are the hashes of what ggml makes of each tensor (trim_gguf.py).
    void modelsMatchGgml()
    {
        QFETCH(QString, name);
        const std::string base = "gguf/" + name.toStdString();
        const GgufFile file(goldenPath(base + ".gguf"));
        const auto hashes = readGoldenJson(base + ".sha256.json");
        QCOMPARE(hashes.size(), file.numTensors());
        for (const auto& [tensor, info] : file.files().front()->tensors()) {
            const auto want = hashes.at(tensor).get<std::string>();
            for (const auto instructions : availableInstructionSets()) {
                const auto got =
                    decodeWith(instructions, info.type, info.data.data(), countOf(info));
                QVERIFY2(sha256(got) == want,
                         qPrintable(QString::fromStdString(tensor) + " of type " +
                                    nameOf(info.type) + " is not what ggml makes of it"));
            }
        }
    }

    void fastDecodingIsBitEqual_data()
    {
        QTest::addColumn<int>("type");
        for (const auto type : weightTypes())
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    // Property: on any bytes, NaN and infinite scales among them, at any address.
    void fastDecodingIsBitEqual()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        at::manual_seed(11);
        for (std::int64_t trial = 0; trial < 40; ++trial) {
            const std::int64_t cols =
                isQuantized(storage) ? blockElements(storage) * (1 + trial % 5) : 1 + trial;
            const std::int64_t bytes = bytesPerRow(storage, cols);
            const at::Tensor random = at::randint(0, 256, {bytes + 3}, at::kByte);
            const auto* row = static_cast<const std::byte*>(random.const_data_ptr()) + trial % 4;
            std::vector<float> want(static_cast<std::size_t>(cols));
            decodeRow(storage, row, want.data(), cols);
            for (const DecodeRow decode : decodersOf(storage)) {
                std::vector<float> got(want.size());
                decode(row, got.data(), cols);
                const QString difference = firstDifference(got, want.data());
                QVERIFY2(difference.isEmpty(),
                         qPrintable(QString("%1 columns: %2").arg(cols).arg(difference)));
            }
        }
    }

    void groupsComeApartIntoIntegersAndFactors()
    {
        at::manual_seed(12);
        for (const auto type : kBlockTypes) {
            const auto weight = randomWeight(type, 1, 512);
            const auto* row = static_cast<const std::byte*>(weight.data.const_data_ptr());
            const auto want = decodeWith(InstructionSet::Portable, type, row, 512);
            for (std::size_t group = 0; group < 16; ++group) {
                std::int8_t integers[kGroup];
                const GroupFactors factors =
                    readGroup(type, row, static_cast<std::int64_t>(group), integers);
                for (std::size_t i = 0; i < kGroup; ++i)
                    QCOMPARE(factors.scales[i / 16] * static_cast<float>(integers[i]) +
                                 factors.offsets[i / 16],
                             want[group * kGroup + i]);
                QVERIFY(hasOffsets(type) || factors.offsets[0] == 0.0F);
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestBlockFormats)
#include "tst_block_formats.moc"
