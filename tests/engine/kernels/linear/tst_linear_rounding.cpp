#include "engine/kernels/linear/linear_paths.h"
#include "tests/engine/kernels/linear/linear_bounds.h"
#include "tests/engine/kernels/linear/weight_samples.h"

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>

#include <QtTest>

#include <algorithm>
#include <limits>
#include <vector>

using namespace kvscope;

/// Inputs rounded to integers, which block formats multiply with: linear_kernels.h, QuantizeRow.
class TestLinearRounding : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { at::set_num_threads(2); }

    // Rounding to 1 / 32767 of a block's largest input, some 2.2 standard deviations, costs outputs
    // 2.2 / 32767 / sqrt(12) = 2e-5 of their size.
    void quantisedInputsCostLittle()
    {
        at::manual_seed(25);
        for (const auto type : kBlockTypes) {
            const auto weight = randomWeight(type, 200, wholeBlocks(type, 576));
            const at::Tensor x = at::randn({3, weight.cols});
            const at::Tensor want = linearReference(x, weight);
            const auto error = (linear(x, weight, Precision::Fast) - want).norm() / want.norm();
            QVERIFY2(error.item<double>() < 3e-5,
                     qPrintable(QString::number(error.item<double>())));
        }
    }

    // That of the formats of nibbles: of each two blocks 0, 2, ... 14 of both, 16, 18, ... 30 of
    // both, then the odd ones likewise; scale beside sum, of each four blocks as 0, 2, 1, 3; the
    // last block alone as bothQuantisersAgree() has it.
    void theNibblesQuantiserAgrees()
    {
        at::manual_seed(30);
        const auto plain = formatKernels(StorageType::Q4_1, InstructionSet::Portable).quantize;
        const auto fast = formatKernels(StorageType::Q4_1, bestInstructionSet()).quantize;
        if (fast == plain)
            QSKIP("this processor has no AVX2");
        constexpr std::size_t kBlocks = 4 + 2 + 1;
        const at::Tensor x = at::randn({kBlocks, 32}) * at::randn({kBlocks, 1}).exp();
        std::vector<std::int16_t> got(32 * kBlocks), want(32 * kBlocks);
        std::vector<float> gotScales(2 * kBlocks), wantScales(2 * kBlocks);
        fast(x.const_data_ptr<float>(), 32 * kBlocks, got.data(), gotScales.data());
        plain(x.const_data_ptr<float>(), 32 * kBlocks, want.data(), wantScales.data());
        for (std::size_t i = 0; i < want.size(); ++i) {
            const std::size_t block = i / 32;
            const std::size_t within = i % 32;
            const std::size_t alone = block * 32 + within % 2 * 16 + within / 2;
            const std::size_t inPair = block / 2 * 64 + within % 2 * 32 + within / 16 * 16 +
                                       block % 2 * 8 + within % 16 / 2;
            QCOMPARE(got[block + 1 == kBlocks ? alone : inPair], want[i]);
        }
        const std::size_t placeOf[kBlocks] = {0, 2, 1, 3, 4, 5, 6};
        for (std::size_t block = 0; block < kBlocks; ++block)
            for (std::size_t which = 0; which < 2; ++which)
                QCOMPARE(gotScales[2 * placeOf[block] + which], wantScales[2 * block + which]);
    }

    // The other AVX2 quantiser's integers and scales are the plain one's in another order: of each
    // block even elements before odd ones, of each 256 columns (the last 64 here) scales before
    // sums.
    void bothQuantisersAgree()
    {
        at::manual_seed(27);
        const auto plain = formatKernels(StorageType::Q8_0, InstructionSet::Portable).quantize;
        const auto fast = formatKernels(StorageType::Q8_0, bestInstructionSet()).quantize;
        if (fast == plain)
            QSKIP("this processor has no AVX2");
        constexpr std::size_t kBlocks = 26;
        const at::Tensor x = at::randn({kBlocks, 32}) * at::randn({kBlocks, 1}).exp();
        std::vector<std::int16_t> got(32 * kBlocks), want(32 * kBlocks);
        std::vector<float> gotScales(2 * kBlocks), wantScales(2 * kBlocks);
        fast(x.const_data_ptr<float>(), 32 * kBlocks, got.data(), gotScales.data());
        plain(x.const_data_ptr<float>(), 32 * kBlocks, want.data(), wantScales.data());
        for (std::size_t i = 0; i < want.size(); ++i)
            QCOMPARE(got[i / 32 * 32 + i % 2 * 16 + i % 32 / 2], want[i]);
        for (std::size_t block = 0; block < kBlocks; ++block) {
            const std::size_t first = block / 8 * 8;
            const std::size_t together = std::min<std::size_t>(8, kBlocks - first);
            for (std::size_t which = 0; which < 2; ++which)
                QCOMPARE(gotScales[2 * first + together * which + block - first],
                         wantScales[2 * block + which]);
        }
    }

    // The largest integers of every kind with inputs at full scale: no sum of 32 bits overflows.
    void theLargestIntegersDoNotOverflow()
    {
        for (const auto type : kBlockTypes)
            for (const int byte : {0x00, 0x7f, 0x80, 0xff}) {
                auto weight = randomWeight(type, 4, 256);
                const at::Tensor factors = randomBlocks(type, 4, 256);
                weight.data.fill_(byte);
                const FactorPlaces places = factorPlaces(type);
                const at::Tensor blocks = weight.data.view({4, -1, blockBytes(type)});
                const at::Tensor from = factors.view(blocks.sizes());
                const std::int64_t bytes = type == StorageType::Q8_K ? 4 : 2;
                blocks.narrow(2, places.scaleAt, bytes)
                    .copy_(from.narrow(2, places.scaleAt, bytes));
                if (places.offsetAt >= 0)
                    blocks.narrow(2, places.offsetAt, 2).copy_(from.narrow(2, places.offsetAt, 2));
                for (const double sign : {1.0, -1.0}) {
                    const at::Tensor x = at::ones({1, 256}) * sign;
                    for (const auto instructions : availableInstructionSets()) {
                        const at::Tensor y =
                            linearFewRows(x, weight, Precision::Fast, instructions);
                        const QString difference = worstAgainstDefinition(y, x, weight, kQuantized);
                        QVERIFY2(difference.isEmpty(), qPrintable(nameOf(type) + difference));
                    }
                }
            }
    }

    // Eight, four, two blocks and one: each part of the loops meets it.
    void notANumberIsFoundInEveryBlock()
    {
        at::manual_seed(31);
        constexpr std::int64_t kBlocks = 8 + 4 + 2 + 1;
        for (const auto type : {StorageType::Q4_0, StorageType::Q4_1, StorageType::Q8_0}) {
            const auto weight = randomWeight(type, 5, 32 * kBlocks);
            for (std::int64_t block = 0; block < kBlocks; ++block) {
                at::Tensor x = at::randn({5, weight.cols});
                x.select(0, 2)
                    .select(0, 32 * block + (7 * block) % 32)
                    .fill_(std::numeric_limits<float>::quiet_NaN());
                const at::Tensor y =
                    linearFewRows(x, weight, Precision::Fast, bestInstructionSet());
                QVERIFY(y.select(0, 2).isnan().all().item<bool>());
                QVERIFY(y.narrow(0, 0, 2).isfinite().all().item<bool>());
                QVERIFY(y.narrow(0, 3, 2).isfinite().all().item<bool>());
            }
        }
    }

    void tinyAndHugeInputsKeepTheirScale()
    {
        at::manual_seed(29);
        for (const auto type : kBlockTypes) {
            const auto weight = randomWeight(type, 8, wholeBlocks(type, 64));
            for (const double size : {0.0, 1e-42, 1e-25, 1e25}) {
                const at::Tensor x = at::randn({2, weight.cols}) * size;
                for (const auto instructions : availableInstructionSets()) {
                    const at::Tensor y = linearFewRows(x, weight, Precision::Fast, instructions);
                    const QString difference = worstAgainstDefinition(y, x, weight, kQuantized);
                    QVERIFY2(difference.isEmpty(), qPrintable(difference));
                }
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestLinearRounding)
#include "tst_linear_rounding.moc"
