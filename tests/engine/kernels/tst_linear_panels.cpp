#include "engine/kernels/linear_paths.h"
#include "tests/engine/kernels/linear_bounds.h"
#include "tests/engine/kernels/weight_samples.h"

#include <ATen/Parallel.h>
#include <ATen/ops/equal.h>

#include <QtTest>

#include <limits>

using namespace kvscope;

namespace {

struct Shape
{
    std::int64_t rows, cols, inputs, misalignment;
};

} // namespace

/// linearPanels() at the edges of its blocks; every format goes through it in tst_linear.
class TestLinearPanels : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        if (!hasPanelProducts())
            QSKIP("this processor has no AVX2");
        at::set_num_threads(2);
    }

    // Shapes at the edges of the blocks: 16 rows of W a panel and 16 panels a slice, 6 rows of x a
    // tile and 192 a block, 320 columns at most at a time; shares of x among many threads.
    void panelsCoverEveryEdge()
    {
        at::manual_seed(32);
        for (const int threads : {1, 2, 5}) {
            at::set_num_threads(threads);
            for (const Shape& shape :
                 {Shape{1, 1, 1, 0}, Shape{15, 7, 5, 0}, Shape{16, 8, 6, 0}, Shape{17, 321, 7, 2},
                  Shape{257, 648, 191, 0}, Shape{272, 320, 193, 0}, Shape{3, 97, 400, 0},
                  Shape{40, 1000, 203, 1}}) {
                const auto weight =
                    randomWeight(StorageType::F32, shape.rows, shape.cols, shape.misalignment);
                const at::Tensor x = at::randn({shape.inputs, shape.cols});
                const QString difference =
                    worstAgainstDefinition(linearPanels(x, weight), x, weight, 0.0);
                QVERIFY2(difference.isEmpty(), qPrintable(difference));
            }
        }
    }

    void panelsGiveARowTheSameBitsAmongOthers()
    {
        at::manual_seed(33);
        const auto weight = randomWeight(StorageType::Q4_1, 1027, 672);
        const at::Tensor x = at::randn({205, weight.cols});
        const at::Tensor all = linearPanels(x, weight);
        at::set_num_threads(1);
        QVERIFY(at::equal(linearPanels(x, weight), all));
        for (const std::int64_t n : {1, 6, 77, 204})
            QVERIFY(at::equal(linearPanels(x.narrow(0, n, 1), weight), all.narrow(0, n, 1)));
        // Two panels among many threads: rows of x are shared out too.
        const auto narrow = randomWeight(StorageType::Q8_0, 20, 672);
        const at::Tensor one = linearPanels(x, narrow);
        for (const int threads : {2, 5, 16}) {
            at::set_num_threads(threads);
            QVERIFY(at::equal(linearPanels(x, narrow), one));
        }
    }

    void panelsKeepNotANumberInItsRow()
    {
        at::manual_seed(34);
        const auto weight = randomWeight(StorageType::Q4_0, 50, 96);
        const at::Tensor x = at::randn({14, 96});
        x.select(0, 7).select(0, 40).fill_(std::numeric_limits<float>::quiet_NaN());
        const at::Tensor y = linearPanels(x, weight);
        QVERIFY(y.select(0, 7).isnan().all().item<bool>());
        QVERIFY(y.narrow(0, 0, 7).isfinite().all().item<bool>());
        QVERIFY(y.narrow(0, 8, 6).isfinite().all().item<bool>());
    }
};

QTEST_GUILESS_MAIN(TestLinearPanels)
#include "tst_linear_panels.moc"
