#include "widgets/series_thinning.h"

#include <QtTest>

#include <algorithm>
#include <cmath>
#include <limits>
#include <random>

using namespace kvscope;

namespace {

constexpr double kGap = std::numeric_limits<double>::quiet_NaN();

std::vector<double> counting(std::size_t count)
{
    std::vector<double> xs(count);
    for (std::size_t i = 0; i < count; ++i)
        xs[i] = static_cast<double>(i);
    return xs;
}

bool contains(const std::vector<std::size_t>& indices, std::size_t index)
{
    return std::find(indices.begin(), indices.end(), index) != indices.end();
}

} // namespace

class TestSeriesThinning : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void shortSeriesIsKeptWhole()
    {
        const auto xs = counting(5);
        const std::vector<double> ys{3, 1, 4, 1, 5};
        QCOMPARE(thinToColumns(xs, {ys}, {0, 5, 100, AxisScale::Linear}),
                 (std::vector<std::size_t>{0, 1, 2, 3, 4}));
    }

    void columnKeepsFirstLastSmallestAndLargest()
    {
        const auto xs = counting(8);
        const std::vector<double> ys{5, 5, 9, 5, 1, 5, 5, 5};
        QCOMPARE(thinToColumns(xs, {ys}, {0, 8, 1, AxisScale::Linear}),
                 (std::vector<std::size_t>{0, 2, 4, 7}));
    }

    void seriesShareTheirPoints()
    {
        const auto xs = counting(8);
        const std::vector<double> flat(8, 5.0);
        const std::vector<double> spike{0, 0, 0, 0, 0, 7, 0, 0};
        QVERIFY(contains(thinToColumns(xs, {flat, spike}, {0, 8, 1, AxisScale::Linear}), 5));
    }

    void gapsStayGaps()
    {
        const auto xs = counting(9);
        const std::vector<double> ys{1, 1, 1, kGap, kGap, 2, 2, 2, 2};
        const auto kept = thinToColumns(xs, {ys}, {0, 9, 1, AxisScale::Linear});
        QVERIFY(contains(kept, 3));
        QVERIFY(!contains(kept, 4));
    }

    void oneNeighbourOutsideTheRangeIsKept()
    {
        const auto xs = counting(100);
        const auto kept = thinToColumns(xs, {xs}, {40.5, 50.5, 100, AxisScale::Linear});
        QCOMPARE(kept.front(), std::size_t(40));
        QCOMPARE(kept.back(), std::size_t(51));
    }

    void emptyOrBackwardRangesGiveNothing()
    {
        const auto xs = counting(4);
        QVERIFY(thinToColumns({}, {}, {0, 1, 10, AxisScale::Linear}).empty());
        QVERIFY(thinToColumns(xs, {xs}, {3, 3, 10, AxisScale::Linear}).empty());
        QVERIFY(thinToColumns(xs, {xs}, {0, 3, 0, AxisScale::Linear}).empty());
        QVERIFY(thinToPixels(xs, xs, {0, 3, 10, AxisScale::Linear}, {1, 0, 10}).empty());
    }

    // Property: whatever the data, each column's extremes survive and the count is bounded.
    void extremesSurviveOnRandomSeries()
    {
        std::mt19937 random(7);
        for (int round = 0; round < 200; ++round) {
            const std::size_t count = 1 + random() % 5000;
            const int columns = 1 + static_cast<int>(random() % 300);
            const auto scale = random() % 2 ? AxisScale::Log : AxisScale::Linear;
            auto xs = counting(count);
            std::vector<double> ys(count);
            for (auto& y : ys)
                y = random() % 10 ? std::ldexp(static_cast<double>(random()), -20) : kGap;
            const ColumnRange range{1.0, static_cast<double>(count) + 1.0, columns, scale};
            const auto kept = thinToColumns(xs, {ys}, range);
            QVERIFY(std::is_sorted(kept.begin(), kept.end()));
            QVERIFY(std::adjacent_find(kept.begin(), kept.end()) == kept.end());
            double smallest = 1e300;
            double largest = -1e300;
            for (const double y : ys) {
                smallest = std::isnan(y) ? smallest : std::min(smallest, y);
                largest = std::isnan(y) ? largest : std::max(largest, y);
            }
            double keptSmallest = 1e300;
            double keptLargest = -1e300;
            for (const auto i : kept) {
                keptSmallest = std::isnan(ys[i]) ? keptSmallest : std::min(keptSmallest, ys[i]);
                keptLargest = std::isnan(ys[i]) ? keptLargest : std::max(keptLargest, ys[i]);
            }
            QCOMPARE(keptSmallest, smallest);
            QCOMPARE(keptLargest, largest);
        }
    }

    void countDoesNotGrowWithTheSeries()
    {
        const auto xs = counting(131'072);
        std::vector<double> ys(xs.size());
        for (std::size_t i = 0; i < ys.size(); ++i)
            ys[i] = std::sin(static_cast<double>(i));
        const ColumnRange range{0, 131'072, 600, AxisScale::Linear};
        QVERIFY(thinToColumns(xs, {ys}, range).size() <= 600 * 6 + 2);
        QVERIFY(thinToPixels(xs, ys, range, {-1, 1, 100}).size() <= 600 * 100);
    }

    void onePixelHoldsOneDot()
    {
        const auto xs = counting(6);
        const std::vector<double> ys{0.1, 0.2, 0.9, 0.15, kGap, 0.95};
        QCOMPARE(thinToPixels(xs, ys, {0, 6, 1, AxisScale::Linear}, {0, 1, 2}),
                 (std::vector<std::size_t>{0, 2}));
    }

    void dotsAboveTheAxisAreDrawnOnItsEdge()
    {
        const auto xs = counting(3);
        const std::vector<double> ys{0.5, 99.0, -3.0};
        QCOMPARE(thinToPixels(xs, ys, {0, 3, 3, AxisScale::Linear}, {0, 1, 10}).size(),
                 std::size_t(3));
    }

    void meanRunsOverTheWindow()
    {
        const auto means = runningMean(std::vector<double>{2, 4, 6, 8}, 2);
        QCOMPARE(means, (std::vector<double>{2, 3, 5, 7}));
    }

    void meanStartsAgainAfterAGap()
    {
        const auto means = runningMean(std::vector<double>{2, 4, kGap, 10, 20}, 8);
        QVERIFY(std::isnan(means[2]));
        QCOMPARE(means[1], 3.0);
        QCOMPARE(means[3], 10.0);
        QCOMPARE(means[4], 15.0);
    }

    void axesGrowInSteps()
    {
        QCOMPARE(steppedMaximum(100, 99), 100.0);
        QCOMPARE(steppedMaximum(100, 101), 125.0);
        QCOMPARE(steppedMaximum(100, 126), 156.25);
        QCOMPARE(steppedMaximum(0, 5), 0.0);
        QCOMPARE(steppedMaximum(4, std::numeric_limits<double>::infinity()), 4.0);
    }
};

QTEST_GUILESS_MAIN(TestSeriesThinning)
#include "tst_series_thinning.moc"
