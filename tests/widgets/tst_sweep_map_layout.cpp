#include "widgets/sweep_map_layout.h"

#include <QtTest>

using namespace kvscope;

namespace {

SweepMapShape shapeOf(std::size_t columns, std::size_t depths)
{
    SweepMapShape shape;
    shape.columns = columns;
    shape.depths = depths;
    shape.summary = {{120, 0, 180, true},   {105, 40, 50, false}, {90, 40, 50, false},
                     {60, 10, 240, false},  {100, 0, 235, true},  {110, 120, 140, false},
                     {100, 245, 140, false}};
    return shape;
}

} // namespace

class TestSweepMapLayout : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void everyCellIsHitInItsMiddle_data() { sizesAndShapes(); }
    void everyCellIsHitInItsMiddle()
    {
        QFETCH(QSize, size);
        QFETCH(int, columns);
        QFETCH(int, depths);
        SweepMapLayout layout = layOut(size, columns, depths);
        for (std::size_t column = 0; column < layout.shape.columns; ++column) {
            for (std::size_t depth = 0; depth < layout.shape.depths; ++depth)
                checkHit({TrialRole::Asked, column, depth}, size);
            checkHit({TrialRole::Control, column, 0}, size);
        }
        checkHit({TrialRole::Oracle, 0, 0}, size);
    }

    void partsStandBelowEachOther_data() { sizesAndShapes(); }
    void partsStandBelowEachOther()
    {
        QFETCH(QSize, size);
        QFETCH(int, columns);
        QFETCH(int, depths);
        const SweepMapLayout layout = layOut(size, columns, depths);
        const QRectF rows = layout.columnCells(0);
        QVERIFY(rows.top() >= layout.header.bottom());
        QVERIFY(layout.controlTop >= rows.bottom());
        QVERIFY(layout.oracle.top() >= layout.controlTop + layout.controlHeight);
        QVERIFY(layout.byLengthTitle.top() >= layout.oracle.bottom());
        QVERIFY(layout.byLength.top() >= layout.byLengthTitle.bottom());
        QVERIFY(layout.byLengthScores.top() >= layout.byLength.bottom());
        QVERIFY(layout.ends.top() >= layout.byLengthScores.bottom());
        QVERIFY(!layout.ends.intersects(layout.wrong));
        QVERIFY(layout.contentHeight >= layout.wrong.bottom() - layout.header.bottom());
    }

    void nothingStandsBesideThePanel_data() { sizesAndShapes(); }
    void nothingStandsBesideThePanel()
    {
        QFETCH(QSize, size);
        QFETCH(int, columns);
        QFETCH(int, depths);
        const SweepMapLayout layout = layOut(size, columns, depths);
        for (const QRectF& part : {layout.side, layout.byDepth, layout.oracle, layout.ends,
                                   layout.wrong, layout.byLength, layout.byLengthTitle}) {
            QVERIFY(part.left() >= layout.area.left());
            QVERIFY(part.right() <= layout.area.right());
        }
        QVERIFY(layout.gridRight > layout.gridLeft);
        if (!layout.side.isNull())
            QVERIFY(layout.side.left() >= layout.gridRight);
    }

    void narrowPanelsDropTheMarginalThenScroll()
    {
        QVERIFY(!layOut({704, 600}, 6, 5).byDepth.isEmpty());
        QVERIFY(!layOut({704, 600}, 6, 5).scrollsSideways());
        QVERIFY(layOut({480, 360}, 6, 5).byDepth.isEmpty());
        QVERIFY(!layOut({480, 360}, 6, 5).scrollsSideways());
        QVERIFY(layOut({480, 360}, 8, 5).scrollsSideways());
        QVERIFY(layOut({1440, 900}, 20, 5).columnWidth >= 60);
    }

    void lowPanelsScrollDown()
    {
        QVERIFY(layOut({480, 360}, 6, 5).scrollsDown());
        QVERIFY(!layOut({1440, 900}, 6, 5).scrollsDown());
    }

    void manyDepthsHaveOneLineEach()
    {
        QVERIFY(layOut({1440, 900}, 6, 11).hasTwoLines);
        const SweepMapLayout many = layOut({1440, 900}, 6, 21);
        QVERIFY(!many.hasTwoLines);
        QVERIFY(many.rowHeight < layOut({1440, 900}, 6, 11).rowHeight);
    }

    void leakingTakesABandAboveTheRows()
    {
        SweepMapShape shape = shapeOf(4, 5);
        QVERIFY(layOutSweepMap(QRectF(0, 0, 700, 600), shape).leakBand.isEmpty());
        shape.isLeaking = true;
        const SweepMapLayout layout = layOutSweepMap(QRectF(0, 0, 700, 600), shape);
        QVERIFY(layout.leakBand.height() > 16);
        QVERIFY(layout.leakBand.bottom() <= layout.firstRow);
    }

    void scrollingMovesCellsButNotTheHeader()
    {
        const QRectF area(0, 0, 480, 360);
        const SweepMapLayout still = layOutSweepMap(area, shapeOf(12, 5));
        const SweepMapLayout moved = layOutSweepMap(area, shapeOf(12, 5), {100, 40});
        QCOMPARE(moved.cell(3, 2), still.cell(3, 2).translated(-100, -40));
        QCOMPARE(moved.header, still.header);
        QCOMPARE(moved.oracle.left(), still.oracle.left()); // over all that is seen
        QCOMPARE(moved.contentHeight, still.contentHeight);
    }

    void cellsThatAreScrolledAwayAreNotHit()
    {
        const QRectF area(0, 0, 480, 360);
        const SweepMapLayout moved = layOutSweepMap(area, shapeOf(12, 5), {200, 60});
        QVERIFY(!moved.keyAt(moved.cell(0, 2).center())); // behind the names
        QVERIFY(!moved.keyAt({moved.cell(5, 0).center().x(), moved.header.center().y()}));
        QVERIFY(!moved.keyAt({-5, 100}));
        QVERIFY(!moved.keyAt({1000, 100}));
    }

    void theWholeMapNeedsNoScrolling()
    {
        for (const std::size_t columns : {1, 6, 20})
            for (const std::size_t depths : {1, 5, 21}) {
                const SweepMapShape shape = shapeOf(columns, depths);
                const QSizeF size = wholeSweepMapSize(shape, {200, 200});
                const SweepMapLayout layout = layOutSweepMap(QRectF({0, 0}, size), shape);
                QVERIFY(!layout.scrollsSideways());
                QVERIFY(!layout.scrollsDown());
                QVERIFY(!layout.byDepth.isEmpty());
            }
    }

    void arrowsGoFromCellsToControlsToTheOracle()
    {
        const SweepMapShape shape = shapeOf(3, 2);
        SweepCellKey key{TrialRole::Asked, 1, 0};
        key = neighbourOf(key, 0, 1, shape);
        QCOMPARE(key, (SweepCellKey{TrialRole::Asked, 1, 1}));
        key = neighbourOf(key, 0, 1, shape);
        QCOMPARE(key, (SweepCellKey{TrialRole::Control, 1, 0}));
        key = neighbourOf(key, 0, 1, shape);
        QCOMPARE(key.role, TrialRole::Oracle);
        QCOMPARE(neighbourOf(key, 0, 1, shape), key); // the last row
        QCOMPARE(neighbourOf(key, 0, -1, shape), (SweepCellKey{TrialRole::Control, 1, 0}));
        QCOMPARE(neighbourOf({TrialRole::Asked, 0, 0}, -1, 0, shape),
                 (SweepCellKey{TrialRole::Asked, 0, 0}));
        QCOMPARE(neighbourOf({TrialRole::Asked, 0, 0}, 99, 0, shape),
                 (SweepCellKey{TrialRole::Asked, 2, 0}));
    }

    void wordsBelowTheMapAreNeverCut_data()
    {
        QTest::addColumn<double>("width");
        QTest::newRow("all beside each other") << 600.0;
        QTest::newRow("a large window's") << 374.0;
        QTest::newRow("the narrowest abreast") << 327.0;
    }
    void wordsBelowTheMapAreNeverCut()
    {
        QFETCH(double, width);
        constexpr double kLine = 17.0;
        const auto rows = shapeOf(4, 5).summary;
        const SummaryPlaces places = placeSummary(rows, width, kLine);
        QCOMPARE(places.rows.size(), rows.size());
        QList<QRectF> boxes;
        for (std::size_t i = 0; i < rows.size(); ++i) {
            const auto add = [&](const QPointF& at, double wide) {
                if (wide > 0)
                    boxes.append(QRectF(at, QSizeF(wide, kLine)));
            };
            add(places.rows[i].name, rows[i].name);
            add(places.rows[i].value, rows[i].value);
            add(places.rows[i].note, rows[i].note);
        }
        for (qsizetype i = 0; i < boxes.size(); ++i) {
            QVERIFY(boxes[i].right() <= width && boxes[i].bottom() <= places.height);
            for (qsizetype j = 0; j < i; ++j)
                QVERIFY(!boxes[i].intersects(boxes[j]));
        }
    }

    void onlyWhatDoesNotFitTakesAnotherLine()
    {
        const auto rows = shapeOf(4, 5).summary;
        QCOMPARE(placeSummary(rows, 600, 17).height, 7 * 17.0 + 6);
        QVERIFY(placeSummary(rows, 374, 17).height > 8 * 17.0);
        QCOMPARE(placeSummary({}, 600, 17).height, 0.0);
        placeSummary(rows, -5, 17);
    }

    void nothingToShowIsNoCell()
    {
        const SweepMapLayout layout = layOutSweepMap(QRectF(0, 0, 600, 400), shapeOf(0, 0));
        QVERIFY(!layout.keyAt({300, 200}));
        layOutSweepMap(QRectF(0, 0, 0, 0), shapeOf(20, 21));
    }

private:
    static void sizesAndShapes()
    {
        QTest::addColumn<QSize>("size");
        QTest::addColumn<int>("columns");
        QTest::addColumn<int>("depths");
        for (const QSize size : {QSize(480, 360), QSize(559, 400), QSize(560, 400), QSize(620, 480),
                                 QSize(704, 608), QSize(1440, 900)})
            for (const auto& [columns, depths] :
                 {std::pair(1, 1), std::pair(6, 5), std::pair(20, 21)})
                QTest::addRow("%d x %d, %d lengths, %d depths", size.width(), size.height(),
                              columns, depths)
                    << size << columns << depths;
    }

    static SweepMapLayout layOut(const QSize& size, std::size_t columns, std::size_t depths)
    {
        return layOutSweepMap(QRectF(QPointF(0, 0), size), shapeOf(columns, depths));
    }

    /// Scrolls until the cell is seen, then points at it.
    void checkHit(const SweepCellKey& key, const QSize& size)
    {
        QFETCH(int, columns);
        QFETCH(int, depths);
        const QRectF area(QPointF(0, 0), size);
        const SweepMapShape shape =
            shapeOf(static_cast<std::size_t>(columns), static_cast<std::size_t>(depths));
        const SweepMapLayout still = layOutSweepMap(area, shape);
        const QRectF cell = still.rectOf(key);
        SweepMapScroll scroll;
        scroll.x =
            key.role == TrialRole::Oracle ? 0.0 : std::max(0.0, cell.right() - still.gridRight);
        scroll.y = std::max(0.0, cell.bottom() - still.view.bottom());
        const SweepMapLayout layout = layOutSweepMap(area, shape, scroll);
        const auto hit = layout.keyAt(layout.rectOf(key).center());
        QVERIFY(hit.has_value());
        QCOMPARE(*hit, key);
    }
};

QTEST_GUILESS_MAIN(TestSweepMapLayout)
#include "tst_sweep_map_layout.moc"
