#include "engine/kernels/linear/linear_paths.h"
#include "engine/kernels/linear/linear_portable.h"
#include "tests/engine/kernels/linear/few_rows_paths.h"
#include "tests/engine/kernels/linear/linear_bounds.h"
#include "tests/engine/kernels/linear/weight_samples.h"

#include <ATen/Parallel.h>
#include <ATen/ops/ones.h>

#include <QtTest>

#include <algorithm>
#include <limits>
#include <vector>

#ifdef KVSCOPE_AVX512_ON_AVX2 // built for x86-64
#include "engine/kernels/linear/linear_avx2.h"
#endif

using namespace kvscope;

namespace {

/// That linear_avx2.h states.
enum class Order { EvenOdd, Pairs, Nibbles, NibbleFours };

/// Where element i of a row lies.
std::size_t placeOf(Order order, std::size_t i, std::size_t blocks)
{
    const std::size_t block = i / 32;
    const std::size_t within = i % 32;
    const std::size_t half = within % 2; // even elements before odd ones
    const std::size_t alone = block * 32 + half * 16 + within / 2;
    // By nibble, of `together` blocks beside each other: 0, 2, ... 14 of all, 16, 18, ... 30 of
    // all, and the odd ones likewise.
    const auto nibbles = [&](std::size_t together) {
        return block / together * together * 32 + (half * 2 + within / 16) * 8 * together +
               block % together * 8 + within % 16 / 2;
    };
    switch (order) {
    case Order::EvenOdd:
        return alone;
    case Order::Pairs:
        return block >= blocks / 2 * 2 ? alone
                                       : block / 2 * 64 + half * 32 + block % 2 * 16 + within / 2;
    case Order::NibbleFours:
        if (block < blocks / 4 * 4)
            return nibbles(4);
        break;
    case Order::Nibbles:
        break;
    }
    return block >= blocks / 2 * 2 ? alone : nibbles(2);
}

/// Of each four blocks as 0, 2, 1, 3.
std::size_t scaleBesideSum(std::size_t block, std::size_t which, std::size_t blocks)
{
    constexpr std::size_t kPlaces[] = {0, 2, 1, 3};
    const std::size_t place = block < blocks / 4 * 4 ? block / 4 * 4 + kPlaces[block % 4] : block;
    return 2 * place + which;
}

/// Of each eight blocks, or what is left.
std::size_t scalesBeforeSums(std::size_t block, std::size_t which, std::size_t blocks)
{
    const std::size_t first = block / 8 * 8;
    const std::size_t together = std::min<std::size_t>(8, blocks - first);
    return 2 * first + together * which + block - first;
}

} // namespace

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

    void quantisersAgree_data()
    {
        QTest::addColumn<int>("order");
        QTest::newRow("even, odd") << static_cast<int>(Order::EvenOdd);
        QTest::newRow("pairs") << static_cast<int>(Order::Pairs);
        QTest::newRow("nibbles") << static_cast<int>(Order::Nibbles);
        QTest::newRow("nibbles, fours") << static_cast<int>(Order::NibbleFours);
    }
    // Their integers and scales are the plain one's in the orders that linear_avx2.h states.
    void quantisersAgree()
    {
#ifdef KVSCOPE_AVX512_ON_AVX2
        QFETCH(int, order);
        const auto wanted = static_cast<Order>(order);
        if (bestInstructionSet() == InstructionSet::Portable)
            QSKIP("this processor has no AVX2");
        const bool hasNibbles = wanted == Order::Nibbles || wanted == Order::NibbleFours;
        const QuantizeRow fast[] = {avx2::quantizeRowEvenOdd, avx2::quantizeRowPairs,
                                    avx2::quantizeRowNibbles, avx2::quantizeRowNibbleFours};
        at::manual_seed(30);
        for (const std::size_t blocks : {1U, 2U, 3U, 4U, 7U, 8U, 13U, 26U}) {
            const auto count = static_cast<std::int64_t>(blocks);
            const at::Tensor x = at::randn({count, 32}) * at::randn({count, 1}).exp();
            std::vector<std::int16_t> got(32 * blocks), want(32 * blocks);
            std::vector<float> gotScales(2 * blocks), wantScales(2 * blocks);
            fast[order](x.const_data_ptr<float>(), 32 * count, got.data(), gotScales.data());
            portable::quantizeRow(x.const_data_ptr<float>(), 32 * count, want.data(),
                                  wantScales.data());
            for (std::size_t i = 0; i < want.size(); ++i)
                QCOMPARE(got[placeOf(wanted, i, blocks)], want[i]);
            for (std::size_t block = 0; block < blocks; ++block)
                for (std::size_t which = 0; which < 2; ++which)
                    QCOMPARE(gotScales[hasNibbles ? scaleBesideSum(block, which, blocks)
                                                  : scalesBeforeSums(block, which, blocks)],
                             wantScales[2 * block + which]);
        }
#else
        QSKIP("not built for x86-64");
#endif
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
                    for (const FewRowsPath& path : fewRowsPaths(type)) {
                        const QString difference =
                            worstAgainstDefinition(path.multiply(x, weight), x, weight, kQuantized);
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
                for (const FewRowsPath& path : fewRowsPaths(type)) {
                    const at::Tensor y = path.multiply(x, weight);
                    QVERIFY(y.select(0, 2).isnan().all().item<bool>());
                    QVERIFY(y.narrow(0, 0, 2).isfinite().all().item<bool>());
                    QVERIFY(y.narrow(0, 3, 2).isfinite().all().item<bool>());
                }
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
                for (const FewRowsPath& path : fewRowsPaths(type)) {
                    const QString difference =
                        worstAgainstDefinition(path.multiply(x, weight), x, weight, kQuantized);
                    QVERIFY2(difference.isEmpty(), qPrintable(difference));
                }
            }
        }
    }
};

QTEST_GUILESS_MAIN(TestLinearRounding)
#include "tst_linear_rounding.moc"
