#include "engine/kernels/linear/linear_paths.h"
#include "engine/kernels/linear/panel_integers.h"
#include "tests/engine/kernels/linear/linear_bounds.h"
#include "tests/engine/kernels/linear/weight_samples.h"
#include "tests/support/avx512_on_avx2/kernels.h"

#include <ATen/Parallel.h>
#include <ATen/TensorOperators.h>
#include <ATen/ops/equal.h>
#include <ATen/ops/ones.h>

#include <QtTest>

#include <algorithm>
#include <array>
#include <bit>
#include <limits>
#include <map>

using namespace kvscope;

namespace {

struct Shape
{
    std::int64_t rows, cols, inputs, misalignment;
};

struct Subject
{
    const PanelKernels* kernels;
    ProductError error;
};

/// All that run here, AVX-512's and AMX's on AVX2 among them, by name.
const std::map<QByteArray, Subject> kSubjects = [] {
    std::map<QByteArray, Subject> subjects;
    const auto add = [&](const char* name, const PanelKernels& kernels, const ProductError& error) {
        subjects.emplace(name, Subject{&kernels, error});
    };
    for (const auto instructions : availableInstructionSets()) {
        if (instructions == InstructionSet::Portable)
            continue;
        add(instructions == InstructionSet::Avx2 ? "AVX2" : "AVX-512", *panelKernels(instructions),
            kExact);
#ifdef KVSCOPE_AVX512_ON_AVX2
        add("AVX-512 on AVX2", avx512_on_avx2::kPanels, kExact);
        add("AVX-512 on AVX2, integers", avx512_on_avx2::kIntegerPanels, kIntegers);
        add("AVX-VNNI on AVX2, integers", avx_vnni_on_avx2::kIntegerPanels, kIntegers);
        add("AMX on AVX2", amx_on_avx2::kPanels, kTakenApart);
        add("AMX on AVX2, weights bfloat16", amx_on_avx2::kPanelsOfBFloat16, kTakenApart);
#endif
    }
#ifdef KVSCOPE_AVX512_ON_AVX2 // built for x86-64
    if (hasAvxVnni())
        add("AVX-VNNI, integers", avx2::kIntegerPanels, kIntegers);
#endif
    if (hasVnni())
        add("AVX-512, integers", *integerKernels(), kIntegers);
    if (hasTiles()) {
        add("AMX", *tileKernels(StorageType::F16), kTakenApart);
        add("AMX, weights bfloat16", *tileKernels(StorageType::BF16), kTakenApart);
    }
    return subjects;
}();

bool isOfTiles(const PanelKernels& kernels)
{
    return kernels.begin != nullptr;
}

/// Weights without low parts, which are bfloat16 themselves.
bool takesBFloat16Alone(const QByteArray& name)
{
    return name.endsWith("bfloat16");
}

void addKernels()
{
    QTest::addColumn<QByteArray>("name");
    for (const auto& [name, subject] : kSubjects)
        QTest::newRow(name.constData()) << name;
}

} // namespace

/// linearPanels() at the edges of its blocks; every format goes through it in tst_linear.
class TestLinearPanels : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        if (kSubjects.empty())
            QSKIP("this processor has no panels");
    }
    void init() { at::set_num_threads(2); }

    // Shapes at the edges of the blocks: 16 or 32 rows of W a panel and 256 a slice, 6, 12 or 32
    // rows of x a tile and 192 a block, 320 columns at most at a time; shares of x among many
    // threads.
    void panelsCoverEveryEdge_data() { addKernels(); }
    void panelsCoverEveryEdge()
    {
        QFETCH(QByteArray, name);
        const auto& [kernels, error] = kSubjects.at(name);
        const auto type = takesBFloat16Alone(name) ? StorageType::BF16 : StorageType::F32;
        at::manual_seed(32);
        for (const int threads : {1, 2, 5}) {
            at::set_num_threads(threads);
            for (const Shape& shape :
                 {Shape{1, 1, 1, 0}, Shape{15, 7, 5, 0}, Shape{16, 8, 6, 0}, Shape{17, 321, 7, 2},
                  Shape{257, 648, 191, 0}, Shape{272, 320, 193, 0}, Shape{3, 97, 400, 0},
                  Shape{40, 1000, 203, 1}, Shape{32, 32, 32, 0}, Shape{33, 31, 33, 0},
                  Shape{64, 352, 24, 0}}) {
                const auto weight = randomWeight(type, shape.rows, shape.cols, shape.misalignment);
                const at::Tensor x = at::randn({shape.inputs, shape.cols});
                const QString difference =
                    worstAgainstDefinition(linearPanels(x, weight, *kernels), x, weight, error);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
        }
    }

    void panelsGiveARowTheSameBitsAmongOthers_data() { addKernels(); }
    void panelsGiveARowTheSameBitsAmongOthers()
    {
        QFETCH(QByteArray, name);
        const PanelKernels& kernels = *kSubjects.at(name).kernels;
        const bool ofBFloat16 = takesBFloat16Alone(name);
        at::manual_seed(33);
        const auto weight =
            randomWeight(ofBFloat16 ? StorageType::BF16 : StorageType::Q4_1, 1027, 672);
        const at::Tensor x = at::randn({205, weight.cols});
        const at::Tensor all = linearPanels(x, weight, kernels);
        at::set_num_threads(1);
        QVERIFY(at::equal(linearPanels(x, weight, kernels), all));
        for (const std::int64_t n : {1, 6, 77, 204})
            QVERIFY(
                at::equal(linearPanels(x.narrow(0, n, 1), weight, kernels), all.narrow(0, n, 1)));
        // Two panels among many threads: rows of x are shared out too.
        const auto narrow =
            randomWeight(ofBFloat16 ? StorageType::BF16 : StorageType::Q8_0, 20, 672);
        const at::Tensor one = linearPanels(x, narrow, kernels);
        for (const int threads : {2, 5, 16}) {
            at::set_num_threads(threads);
            QVERIFY(at::equal(linearPanels(x, narrow, kernels), one));
        }
    }

    // The matrix library may have set tiles of its own, and does not look whether they are there.
    void shapesOfTilesArePutBack_data()
    {
        QTest::addColumn<QByteArray>("name");
        for (const auto& [name, subject] : kSubjects)
            if (isOfTiles(*subject.kernels))
                QTest::newRow(name.constData()) << name;
    }
    void shapesOfTilesArePutBack()
    {
        if (std::none_of(kSubjects.begin(), kSubjects.end(),
                         [](const auto& subject) { return isOfTiles(*subject.second.kernels); }))
            QSKIP("no tiles here");
        QFETCH(QByteArray, name);
        const PanelKernels& kernels = *kSubjects.at(name).kernels;
        at::set_num_threads(1);
        using Shapes = std::array<std::uint8_t, 64>;
        alignas(64) Shapes before{};
        alignas(64) Shapes others{};
        others[0] = 1;  // palette
        others[16] = 8; // bytes a row of tile 0
        others[48] = 3; // its rows
        kernels.begin(before.data());
        kernels.end(others.data()); // sets them
        const auto weight =
            randomWeight(takesBFloat16Alone(name) ? StorageType::BF16 : StorageType::F32, 40, 64);
        linearPanels(at::randn({40, 64}), weight, kernels);
        alignas(64) Shapes after{};
        kernels.begin(after.data());
        QVERIFY(after == others);
        kernels.end(before.data());
    }

    // All at full scale and of one sign: sums of 32 bits reach what they can hold.
    void theLargestIntegersDoNotOverflow_data() { addKernels(); }
    void theLargestIntegersDoNotOverflow()
    {
        QFETCH(QByteArray, name);
        const PanelKernels& kernels = *kSubjects.at(name).kernels;
        for (const std::int64_t cols : {32, 320, 352})
            for (const double sign : {1.0, -1.0}) {
                auto weight = randomWeight(
                    takesBFloat16Alone(name) ? StorageType::BF16 : StorageType::F32, 40, cols);
                weight.data.fill_(sign);
                const auto want = static_cast<double>(cols) * sign;
                const at::Tensor y = linearPanels(at::ones({20, cols}), weight, kernels);
                QVERIFY((y - want).abs().max().item<double>() < 1e-3);
            }
    }

    void panelsKeepNotANumberInItsRow_data() { addKernels(); }
    void panelsKeepNotANumberInItsRow()
    {
        QFETCH(QByteArray, name);
        const PanelKernels& kernels = *kSubjects.at(name).kernels;
        at::manual_seed(34);
        const auto weight =
            randomWeight(takesBFloat16Alone(name) ? StorageType::BF16 : StorageType::Q4_0, 50, 96);
        for (const float special : {std::numeric_limits<float>::quiet_NaN(),
                                    -std::bit_cast<float>(0x7fffffff), // all bits set
                                    std::numeric_limits<float>::infinity()}) {
            const at::Tensor x = at::randn({14, 96});
            x.select(0, 7).select(0, 40).fill_(special);
            const at::Tensor y = linearPanels(x, weight, kernels);
            QVERIFY(!y.select(0, 7).isfinite().any().item<bool>());
            QVERIFY(y.narrow(0, 0, 7).isfinite().all().item<bool>());
            QVERIFY(y.narrow(0, 8, 6).isfinite().all().item<bool>());
        }
    }
};

QTEST_GUILESS_MAIN(TestLinearPanels)
#include "tst_linear_panels.moc"
