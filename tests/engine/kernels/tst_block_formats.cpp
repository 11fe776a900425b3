#include "engine/checkpoint/gguf_file.h"
#include "engine/kernels/block_formats.h"
#include "engine/kernels/linear_paths.h"
#include "tests/engine/kernels/weight_samples.h"
#include "tests/support/golden_file.h"
#include "tests/support/golden_json.h"

#include <ATen/ops/arange.h>

#include <QtTest>

#include <cmath>
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

void compareWithGolden(const std::string& ggufName, const std::string& goldenName)
{
    const GgufFile file(goldenPath(ggufName));
    const GoldenFile golden(goldenName);
    int compared = 0;
    for (const auto& [name, info] : file.tensors()->tensors()) {
        if (!isWeightType(info.type) || !golden.contains(name))
            continue;
        const at::Tensor want = golden.tensor(name);
        for (const auto instructions : {InstructionSet::Portable, bestInstructionSet()}) {
            const auto got = decodeWith(instructions, info.type, info.data.data(), want.numel());
            const QString difference = firstDifference(got, want.const_data_ptr<float>());
            QVERIFY2(difference.isEmpty(),
                     qPrintable(QString::fromStdString(name) + ": " + difference));
        }
        ++compared;
    }
    QVERIFY(compared >= 5);
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
        QVERIFY(!isWeightType(StorageType::I8));
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

    void everyHalfDecodesAsLibTorchDoes_data()
    {
        QTest::addColumn<int>("instructions");
        QTest::newRow("portable") << static_cast<int>(InstructionSet::Portable);
        QTest::newRow("best here") << static_cast<int>(bestInstructionSet());
    }
    void everyHalfDecodesAsLibTorchDoes()
    {
        QFETCH(int, instructions);
        const auto set = static_cast<InstructionSet>(instructions);
        const at::Tensor bits = at::arange(-32768, 32768, at::kShort);
        const auto* bytes = static_cast<const std::byte*>(bits.const_data_ptr());
        for (const auto type : {StorageType::F16, StorageType::BF16}) {
            const at::Tensor want = bits.view(scalarTypeOf(type)).to(at::kFloat);
            const auto got = decodeWith(set, type, bytes, 65536);
            const QString difference = firstDifference(got, want.const_data_ptr<float>());
            QVERIFY2(difference.isEmpty(), qPrintable(nameOf(type) + ": " + difference));
        }
    }

    void extremeScalesMatchGgml()
    {
        compareWithGolden("gguf/probe.gguf", "gguf/probe.safetensors");
    }

    void modelsMatchGgml_data()
    {
        QTest::addColumn<QString>("name");
        for (const char* name :
             {"llama_q4_0", "llama_q4_1", "llama_q8_0", "llama_f16", "llama_bf16"})
            QTest::newRow(name) << QString(name);
    }
    void modelsMatchGgml()
    {
        QFETCH(QString, name);
        const std::string base = "gguf/" + name.toStdString();
        compareWithGolden(base + ".gguf", base + ".safetensors");
    }

    void fastDecodingIsBitEqual_data()
    {
        QTest::addColumn<int>("type");
        for (const auto type : kWeightTypes)
            QTest::newRow(qPrintable(nameOf(type))) << static_cast<int>(type);
    }
    // Property: on any bytes, NaN and infinite scales among them, at any address.
    void fastDecodingIsBitEqual()
    {
        QFETCH(int, type);
        const auto storage = static_cast<StorageType>(type);
        at::manual_seed(11);
        for (std::int64_t trial = 0; trial < 40; ++trial) {
            const std::int64_t cols = isQuantized(storage) ? 32 * (1 + trial % 5) : 1 + trial;
            const std::int64_t bytes = bytesPerRow(storage, cols);
            const at::Tensor random = at::randint(0, 256, {bytes + 3}, at::kByte);
            const auto* row = static_cast<const std::byte*>(random.const_data_ptr()) + trial % 4;
            std::vector<float> want(static_cast<std::size_t>(cols));
            decodeRow(storage, row, want.data(), cols);
            const auto got = decodeWith(bestInstructionSet(), storage, row, cols);
            const QString difference = firstDifference(got, want.data());
            QVERIFY2(difference.isEmpty(),
                     qPrintable(QString("%1 columns: %2").arg(cols).arg(difference)));
        }
    }

    void blocksComeApartIntoScaleIntegersAndOffset()
    {
        at::manual_seed(12);
        for (const auto type : {StorageType::Q8_0, StorageType::Q4_0, StorageType::Q4_1}) {
            const auto weight = randomWeight(type, 1, 32);
            const auto* block = static_cast<const std::byte*>(weight.data.const_data_ptr());
            std::int8_t integers[32];
            const auto [scale, offset] = readBlock(type, block, integers);
            const auto want = decodeWith(InstructionSet::Portable, type, block, 32);
            for (std::size_t i = 0; i < want.size(); ++i)
                QCOMPARE(scale * static_cast<float>(integers[i]) + offset, want[i]);
        }
    }
};

QTEST_GUILESS_MAIN(TestBlockFormats)
#include "tst_block_formats.moc"
