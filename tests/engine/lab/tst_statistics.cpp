#include "engine/base/errors.h"
#include "engine/lab/sample_mean.h"
#include "engine/lab/statistics.h"
#include "tests/support/golden_json.h"

#include <QtTest>

#include <cmath>
#include <limits>
#include <random>
#include <vector>

using namespace kvscope;
using nlohmann::json;

namespace {

/// Within a relative error, or as absolutely near to 0.
bool isNear(double got, double want, double tolerance = 1e-9)
{
    const bool near = std::abs(got - want) <= tolerance * std::max(1e-3, std::abs(want));
    if (!near)
        qWarning("got %.17g, want %.17g", got, want);
    return near;
}

/// To three digits, as tables print them.
QString printed(const Interval& interval)
{
    return QString("[%1, %2]").arg(interval.low, 0, 'f', 3).arg(interval.high, 0, 'f', 3);
}

} // namespace

class TestStatistics : public QObject
{
    Q_OBJECT

    json m_golden; ///< SciPy's answers: tests/golden/lab/make_expected.py

private Q_SLOTS:
    void initTestCase() { m_golden = readGoldenJson("lab/statistics.json"); }

    void wilsonIsThePublishedTable()
    {
        QCOMPARE(printed(wilsonInterval({12, 12})), QString("[0.758, 1.000]"));
        QCOMPARE(printed(wilsonInterval({10, 12})), QString("[0.552, 0.953]"));
        QCOMPARE(printed(wilsonInterval({7, 12})), QString("[0.320, 0.807]"));
        QCOMPARE(printed(wilsonInterval({0, 12})), QString("[0.000, 0.242]"));
        QCOMPARE(printed(wilsonInterval({425, 500})), QString("[0.816, 0.879]"));
        QCOMPARE(wilsonInterval({12, 12}).high, 1.0);
        QCOMPARE(wilsonInterval({0, 12}).low, 0.0);
    }

    void wilsonEqualsSciPy()
    {
        QVERIFY(m_golden["wilson"].size() > 5);
        for (const json& row : m_golden["wilson"]) {
            const Interval interval = wilsonInterval({row[0].get<int>(), row[1].get<int>()});
            QVERIFY(isNear(interval.low, row[2].get<double>()));
            QVERIFY(isNear(interval.high, row[3].get<double>()));
        }
    }

    void wilsonHoldsTheRateAndMirrors()
    {
        std::mt19937 random(3);
        for (int trial = 0; trial < 300; ++trial) {
            const auto trials = static_cast<std::int64_t>(1 + random() % 400);
            const auto correct = static_cast<std::int64_t>(random()) % (trials + 1);
            const Interval interval = wilsonInterval({correct, trials});
            const Interval mirrored = wilsonInterval({trials - correct, trials});
            QVERIFY(interval.contains(Proportion{correct, trials}.rate()));
            QVERIFY(isNear(interval.low, 1.0 - mirrored.high));
        }
        QCOMPARE(printed(wilsonInterval({})), QString("[0.000, 1.000]"));
    }

    // Long-context chapter: the ends against the middle.
    void endsAgainstMiddleIsThreeInAHundredMillion()
    {
        QCOMPARE(QString::number(fisherExact({117, 120}, {135, 180}), 'g', 1), QString("3e-08"));
    }

    void fisherEqualsSciPy()
    {
        for (const json& row : m_golden["fisher"]) {
            const Proportion a{row[0].get<int>(), row[1].get<int>()};
            const Proportion b{row[2].get<int>(), row[3].get<int>()};
            QVERIFY(isNear(fisherExact(a, b) / row[4].get<double>(), 1.0));
            QVERIFY(isNear(fisherExact(b, a) / row[4].get<double>(), 1.0));
        }
        QCOMPARE(fisherExact({}, {3, 4}), 1.0);
    }

    void binomialEqualsSciPy()
    {
        for (const json& row : m_golden["binomial"])
            QVERIFY(
                isNear(binomialExact({row[0].get<int>(), row[1].get<int>()}, row[2].get<double>()) /
                           row[3].get<double>(),
                       1.0));
        QCOMPARE(binomialExact({3, 3}, 1.0), 1.0);
        QCOMPARE(binomialExact({2, 3}, 1.0), 0.0);
        QCOMPARE(binomialExact({0, 3}, 0.0), 1.0);
        QCOMPARE(binomialExact({}, 0.3), 1.0);
    }

    void pooledCountsEveryTrial()
    {
        const std::vector<Proportion> cells = {{12, 12}, {9, 12}, {0, 0}};
        QCOMPARE(pooled(cells), (Proportion{21, 24}));
        QCOMPARE(pooled({}), Proportion{});
        QCOMPARE(Proportion{}.rate(), 0.0);
    }

    void aPerfectCellOfTwelveCannotPass()
    {
        QCOMPARE(fewestTrialsToPass(0.85), std::int64_t{22});
        for (const double threshold : {0.0, 0.5, 0.85, 0.856, 0.99}) {
            const std::int64_t trials = fewestTrialsToPass(threshold);
            QVERIFY(wilsonInterval({trials, trials}).low >= threshold);
            if (trials > 1)
                QVERIFY(wilsonInterval({trials - 1, trials - 1}).low < threshold);
        }
    }

    void samplesEqualSciPy()
    {
        for (const json& row : m_golden["samples"]) {
            const auto values = row["values"].get<std::vector<double>>();
            const SampleMean mean = sampleMean(values);
            QVERIFY(isNear(mean.mean, row["mean"].get<double>()));
            QVERIFY(isNear(mean.standardError * std::sqrt(double(values.size())),
                           row["deviation"].get<double>()));
            QVERIFY(isNear(mean.low, row["low"].get<double>()));
            QVERIFY(isNear(mean.high, row["high"].get<double>()));
            const MedianEstimate median = medianEstimate(values);
            QVERIFY(isNear(median.firstQuartile, row["quartiles"][0].get<double>()));
            QVERIFY(isNear(median.median, row["quartiles"][1].get<double>()));
            QVERIFY(isNear(median.thirdQuartile, row["quartiles"][2].get<double>()));
            QVERIFY(isNear(median.medianDeviation, row["mad"].get<double>()));
        }
    }

    void studentsPointsEqualSciPy()
    {
        for (const json& row : m_golden["student_t"])
            QVERIFY(isNear(studentT95(row[0].get<int>()), row[1].get<double>()));
    }

    void oneValueSaysNothingOfItsSpread()
    {
        const std::vector<double> one = {4.0};
        QCOMPARE(sampleMean({}).count, 0);
        QCOMPARE(sampleMean(one).mean, 4.0);
        QCOMPARE(sampleMean(one).standardError, 0.0);
        QCOMPARE(sampleMean(one).high, 4.0);
        QVERIFY(!sampleMean(one).hasInterval() && !sampleMean({}).hasInterval());
        const std::vector<double> two = {4.0, 5.0};
        QVERIFY(sampleMean(two).hasInterval());
        QCOMPARE(medianEstimate(one).median, 4.0);
        QCOMPARE(medianEstimate(one).quartileRange(), 0.0);
    }

    void aDisturbedRunDoesNotMoveTheMedian()
    {
        const std::vector<double> runs = {1.0, 1.1, 0.9, 1.0, 40.0};
        QCOMPARE(medianEstimate(runs).median, 1.0);
        QVERIFY(medianEstimate(runs).medianDeviation < 0.11);
    }

    void whatCannotBeIsRefused()
    {
        const double nan = std::numeric_limits<double>::quiet_NaN();
        QVERIFY_EXCEPTION_THROWN(wilsonInterval({3, 2}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(wilsonInterval({-1, 2}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(fisherExact({1, 1}, {2, 1}), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(binomialExact({1, 2}, 1.5), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(binomialExact({1, 2}, nan), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(fewestTrialsToPass(1.0), ArgumentError);
        QVERIFY_EXCEPTION_THROWN(medianEstimate({}), ArgumentError);
        const std::vector<double> bad = {1.0, nan};
        QVERIFY_EXCEPTION_THROWN(medianEstimate(bad), ArgumentError);
    }
};

QTEST_GUILESS_MAIN(TestStatistics)
#include "tst_statistics.moc"
