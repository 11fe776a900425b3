#include "tests/support/tensor_compare.h"

#include <ATen/ops/full.h>
#include <ATen/ops/zeros.h>

#include <QtTest>

#include <limits>

using namespace kvscope;

/// The helper that other tests trust.
class TestTensorCompare : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void equalTensorsHaveNoDifference()
    {
        const auto tensor = at::full({2, 3}, 1.5);
        QCOMPARE(compareTensors(tensor, tensor.clone(), 0.0, 0.0), QString());
        QCOMPARE(compareTensors(at::zeros({0, 3}), at::zeros({0, 3}), 0.0, 0.0), QString());
    }

    void boundIsAbsolutePlusRelative_data()
    {
        QTest::addColumn<double>("got");
        QTest::addColumn<double>("atol");
        QTest::addColumn<double>("rtol");
        QTest::addColumn<bool>("passes");
        QTest::newRow("inside absolute") << 10.25 << 0.25 << 0.0 << true;
        QTest::newRow("outside absolute") << 10.5 << 0.25 << 0.0 << false;
        QTest::newRow("inside relative") << 11.0 << 0.0 << 0.1 << true;
        QTest::newRow("both together") << 11.25 << 0.25 << 0.1 << true;
        QTest::newRow("outside both") << 11.5 << 0.25 << 0.1 << false;
        QTest::newRow("below") << 8.5 << 0.25 << 0.1 << false;
    }
    void boundIsAbsolutePlusRelative()
    {
        QFETCH(double, got);
        QFETCH(double, atol);
        QFETCH(double, rtol);
        const auto want = at::full({1}, 10.0, at::kDouble);
        const auto text = compareTensors(at::full({1}, got, at::kDouble), want, atol, rtol);
        QTEST(text.isEmpty(), "passes");
    }

    void worstElementIsNamedWithItsIndex()
    {
        const auto want = at::zeros({2, 3, 4});
        auto got = want.clone();
        got.select(0, 0).select(0, 1).select(0, 1).fill_(0.5);
        got.select(0, 1).select(0, 2).select(0, 3).fill_(-2.0);
        const auto text = compareTensors(got, want, 0.1, 0.0);
        QVERIFY2(text.contains("2 of 24"), qPrintable(text));
        QVERIFY2(text.contains("[1, 2, 3]"), qPrintable(text));
        QVERIFY2(text.contains("got -2, want 0"), qPrintable(text));
    }

    void indexIsOfTheTensorNotOfItsMemory()
    {
        const auto want = at::zeros({4, 2}).t();
        auto got = want.clone();
        got.select(0, 1).select(0, 2).fill_(1.0);
        QVERIFY(compareTensors(got, want, 0.0, 0.0).contains("[1, 2]"));
    }

    void shapesMustAgree()
    {
        const auto text = compareTensors(at::zeros({2, 3}), at::zeros({3, 2}), 1.0, 1.0);
        QCOMPARE(text, QString("got shape [2, 3], want [3, 2]"));
        QVERIFY(!compareTensors(at::Tensor(), at::zeros({1}), 1.0, 1.0).isEmpty());
    }

    void notANumberAndInfinityOnlyMatchThemselves()
    {
        const auto nan = at::full({1}, std::numeric_limits<double>::quiet_NaN());
        const auto inf = at::full({1}, std::numeric_limits<double>::infinity());
        const auto one = at::full({1}, 1.0);
        QVERIFY(compareTensors(nan, nan, 0.0, 0.0).isEmpty());
        QVERIFY(compareTensors(inf, inf, 0.0, 0.0).isEmpty());
        QVERIFY(!compareTensors(nan, one, 1e9, 1e9).isEmpty());
        QVERIFY(!compareTensors(one, nan, 1e9, 1e9).isEmpty());
        QVERIFY(!compareTensors(inf, one, 1e9, 1e9).isEmpty());
        QVERIFY(!compareTensors(one, inf, 1e9, 1e9).isEmpty());
        QVERIFY(!compareTensors(inf, -inf, 1e9, 1e9).isEmpty());
    }

    void dtypesMayDiffer()
    {
        QVERIFY(compareTensors(at::full({3}, 1.5, at::kBFloat16), at::full({3}, 1.5), 0.0, 0.0)
                    .isEmpty());
        QVERIFY(compareTensors(at::full({3}, 7, at::kLong), at::full({3}, 7, at::kInt), 0.0, 0.0)
                    .isEmpty());
    }
};

QTEST_GUILESS_MAIN(TestTensorCompare)
#include "tst_tensor_compare.moc"
