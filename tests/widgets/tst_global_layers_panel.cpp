#include "tests/widgets/fake_cache.h"
#include "widgets/global_layers_layout.h"
#include "widgets/global_layers_panel.h"
#include "widgets/theme.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"

#include <QApplication>
#include <QScrollBar>
#include <QToolTip>
#include <QtTest>

using namespace kvscope;

namespace {

double sevenPixelsALetter(const QString& text)
{
    return 7.0 * static_cast<double>(text.size());
}

} // namespace

class TestGlobalLayersPanel : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        applyTheme(*qApp, ThemeChoice::Light);
        m_selection = std::make_unique<TokenSelectionModel>();
        m_history = std::make_unique<TokenHistory>();
        m_history->append(fakeTokens(1943));
        m_selection->setTokenCount(1943);
        m_panel = std::make_unique<GlobalLayersPanel>();
        m_panel->setSelection(m_selection.get());
        m_panel->setHistory(m_history.get());
        m_panel->resize(826, 190);
        m_panel->setModel(fakeModel(12, 128));
        m_panel->setSnapshot(fakeSnapshot(12, 128, 1943));
        m_panel->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    }

    void cleanup() { m_panel.reset(); }

    void descriptionCountsGrowthAndCopies()
    {
        QCOMPARE(
            m_panel->description(),
            QStringLiteral("6 growing arrays, grown 5 times at the marked lengths; 4,096 tokens "
                           "copied for 1,943 kept; cap 4,000,000"));
        m_panel->setSnapshot(fakeSnapshot(12, 128, 100));
        QCOMPARE(m_panel->description(), QStringLiteral("6 growing arrays; cap 4,000,000"));
        m_panel->clear();
        QCOMPARE(m_panel->description(), QStringLiteral("no model open"));
        m_panel->grab();
    }

    void namesFoldIntoRuns_data()
    {
        QTest::addColumn<QList<int>>("layers");
        QTest::addColumn<QString>("names");
        QTest::newRow("one") << QList<int>{5} << "L5";
        QTest::newRow("two") << QList<int>{1, 3} << "L1, L3";
        QTest::newRow("all in a row") << QList<int>{0, 1, 2, 3} << "L0–L3";
        QTest::newRow("every other") << QList<int>{1, 3, 5, 7} << "L1, L3 … L7";
        QTest::newRow("irregular") << QList<int>{0, 1, 5, 9} << "L0, L1 … L9";
    }
    void namesFoldIntoRuns()
    {
        QFETCH(QList<int>, layers);
        QTEST(layerNames({layers.begin(), layers.end()}), "names");
    }

    void manyLayersAlikeAreOneBarUntilUnfolded()
    {
        QCOMPARE(m_panel->rows().size(), 6U); // up to eight are drawn one by one
        QVERIFY(m_panel->isExpanded());
        m_panel->setModel(fakeModel(30, 0));
        m_panel->setSnapshot(fakeSnapshot(30, 0, 1943));
        QCOMPARE(m_panel->rows().size(), 1U);
        QCOMPARE(m_panel->rows()[0].count(), 30);
        QCOMPARE(m_panel->rows()[0].liveBytes, 30U * 1943U * 1024U);
        QTest::keyClick(m_panel.get(), Qt::Key_Return);
        QCOMPARE(m_panel->rows().size(), 30U);
        QVERIFY(m_panel->findChild<QScrollBar*>()->isVisible());
        QTest::mouseClick(m_panel.get(), Qt::LeftButton, {}, {20, 40}); // on the names
        QCOMPARE(m_panel->rows().size(), 1U);
        QVERIFY(!m_panel->findChild<QScrollBar*>()->isVisible());
    }

    void layersThatDifferStayApart()
    {
        CacheSnapshot snapshot = fakeSnapshot(30, 0, 1943);
        snapshot.layers[7].growth.back().copySeconds = 1.0; // time alone does not tell them apart
        snapshot.layers[9].capacity += 1;
        const auto rows = globalRows(snapshot, GlobalGrouping::AlikeLayers);
        QCOMPARE(rows.size(), 2U);
        QCOMPARE(rows[0].count(), 29);
        QCOMPARE(rows[0].lastCopySeconds, 1.0);
        QCOMPARE(rows[1].layers, std::vector<int>{9});
    }

    void hoverPointsAtAPosition()
    {
        QTest::mouseMove(m_panel.get(), barPoint(614, 2));
        const auto hovered = m_selection->selection().hovered;
        QVERIFY(isNear(hovered, 614));
        QVERIFY(QToolTip::text().contains(
            QStringLiteral("position %1, index %1 in 6 global layers").arg(*hovered)));
        QVERIFY(QToolTip::text().contains(QStringLiteral("“ read”")));
        QTest::mouseMove(m_panel.get(), barPoint(2200, 2));
        QVERIFY(!m_selection->selection().hovered);
        QCOMPARE(QToolTip::text(), QStringLiteral("656 slots allocated and unused in each of L5"));
    }

    void clickAndDragSelect()
    {
        QTest::mouseClick(m_panel.get(), Qt::LeftButton, {}, barPoint(614, 0));
        const auto pinned = m_selection->selection().pinned;
        QVERIFY(isNear(pinned, 614));
        QTest::mouseClick(m_panel.get(), Qt::LeftButton, Qt::ShiftModifier, barPoint(900, 3));
        QVERIFY(isNear(m_selection->selection().rangeEnd, 900));
        QTest::mouseClick(m_panel.get(), Qt::LeftButton, {}, barPoint(2200, 0)); // slack: no token
        QCOMPARE(m_selection->selection().pinned, pinned);
        QTest::keyClick(m_panel.get(), Qt::Key_Right);
        QCOMPARE(m_selection->selection().pinned.value_or(-1), *pinned + 1);
    }

    void liveIsFilledAndSlackIsHatched()
    {
        const QImage image = m_panel->grab().toImage();
        QCOMPARE(image.pixelColor(barPoint(600, 1)), Theme::light().global);
        int global = 0;
        int panel = 0;
        const QPoint from = barPoint(2000, 1);
        for (int x = from.x(); x < from.x() + 60; ++x) {
            global += image.pixelColor(x, from.y()) == Theme::light().global ? 1 : 0;
            panel += image.pixelColor(x, from.y()) == Theme::light().panel ? 1 : 0;
        }
        QVERIFY(panel > 10);          // paper between the lines
        QVERIFY(panel + global < 60); // and antialiased strokes
    }

    void columnsDropInTheWrittenOrder()
    {
        const auto columnsAt = [](double width) {
            std::vector<GlobalColumn> columns;
            for (const auto& span : layOutGlobalLayers({0, 0, width, 190}, 6, 70, false).columns)
                columns.push_back(span.column);
            return columns;
        };
        using enum GlobalColumn;
        QCOMPARE(columnsAt(900), (std::vector{Length, Capacity, Slack, Live, LastCopy}));
        QCOMPARE(columnsAt(620), (std::vector{Length, Capacity, Slack, Live}));
        QCOMPARE(columnsAt(420), (std::vector{Length, Live}));
        QVERIFY(columnsAt(200).empty());
    }

    // Property: labels never touch and stay under the bars; the length is always among them.
    void axisLabelsNeverTouch()
    {
        for (double width = 200; width < 1600; width += 31)
            for (const std::int64_t length : {1, 100, 1943, 50'000, 131'072}) {
                const auto layout = layOutGlobalLayers({0, 0, width, 190}, 6, 70, false);
                const auto state = fakeSnapshot(1, 0, length).layers[0];
                auto labels = axisLabels(layout, state, sevenPixelsALetter);
                QVERIFY(labels[0].kind == AxisLabel::Kind::Length);
                std::sort(labels.begin(), labels.end(),
                          [](const auto& a, const auto& b) { return a.left < b.left; });
                for (std::size_t i = 1; i < labels.size(); ++i)
                    QVERIFY(labels[i].left >= labels[i - 1].left + labels[i - 1].width);
                QVERIFY(labels.front().left >= layout.barsLeft);
            }
    }

    // Property: a position's pixel is that position again while a token is at least a pixel wide.
    void positionsAndPixelsAgree()
    {
        const auto layout = layOutGlobalLayers({0, 0, 900, 190}, 1, 70, false);
        for (const std::int64_t capacity : {1, 2, 17, 100, 300})
            for (std::int64_t position = 0; position < capacity; ++position) {
                const double middle =
                    (barX(layout, position, capacity) + barX(layout, position + 1, capacity)) / 2;
                QCOMPARE(barPosition(layout, middle, capacity).value_or(-1), position);
            }
        QVERIFY(!barPosition(layout, layout.barsLeft - 1, 100));
        QVERIFY(!barPosition(layout, layout.barsRight, 100));
        QVERIFY(!barPosition(layout, layout.barsLeft + 1, 0));
    }

    void tableHoldsEveryLayerWithPlainNumbers()
    {
        m_panel->setModel(fakeModel(30, 0));
        m_panel->setSnapshot(fakeSnapshot(30, 0, 1943));
        const SnapshotTable table = m_panel->exportTable();
        QCOMPARE(table.rows.size(), 30); // folded on screen, whole in the file
        QCOMPARE(table.rows[2], QStringList({"2", "1943", "2599", "656", "1989632", "2661376",
                                             "256 512 768 1024 1536", "4096", "0.00052"}));
    }

    void survivesAnySizeAndLength()
    {
        for (const QSize size : {QSize(1, 1), QSize(90, 30), QSize(420, 150), QSize(1900, 700)})
            for (const int layers : {1, 12, 30, 80})
                for (const std::int64_t length : {0, 1, 300, 4'000'000}) {
                    m_panel->resize(size);
                    m_panel->setModel(fakeModel(layers, 0));
                    m_panel->setSnapshot(fakeSnapshot(layers, 0, length, 0, 100'000));
                    m_selection->pin(5);
                    m_selection->extendTo(20);
                    m_panel->setExpanded(layers % 2 == 0);
                    m_panel->grab();
                }
    }

private:
    /// A pixel stands for seven tokens here.
    static bool isNear(std::optional<std::int64_t> position, std::int64_t expected)
    {
        return position && std::abs(*position - expected) <= 8;
    }

    QPoint barPoint(std::int64_t position, int row) const
    {
        // As the panel lays out; found by the bars' colour so that the test does not repeat font
        // metrics.
        const QImage image = m_panel->grab().toImage();
        const int y = 18 + 2 + static_cast<int>((row + 0.5) * rowHeight());
        int left = 0;
        while (left < image.width() && image.pixelColor(left, y) != Theme::light().global)
            ++left;
        // Names are in the same colour: the bar is where the colour goes on.
        while (left + 30 < image.width() && !isRun(image, left, y))
            ++left;
        int right = left;
        for (int x = left; x < image.width(); ++x)
            if (image.pixelColor(x, barTop(image, left, y)) == Theme::light().global)
                right = x;
        const double share = (static_cast<double>(position) + 0.5) / 2599.0;
        return {static_cast<int>(left + share * (right + 1 - left)), y};
    }

    static bool isRun(const QImage& image, int left, int y)
    {
        for (int x = left; x < left + 25; ++x)
            if (image.pixelColor(x, y) != Theme::light().global)
                return false;
        return true;
    }

    static int barTop(const QImage& image, int x, int y)
    {
        while (image.pixelColor(x, y - 1) == Theme::light().global)
            --y;
        return y;
    }

    double rowHeight() const { return layOutGlobalLayers(m_panel->rect(), 6, 70, false).rowHeight; }

    std::unique_ptr<TokenSelectionModel> m_selection;
    std::unique_ptr<TokenHistory> m_history;
    std::unique_ptr<GlobalLayersPanel> m_panel;
};

QTEST_MAIN(TestGlobalLayersPanel)
#include "tst_global_layers_panel.moc"
