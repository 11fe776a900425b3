#include "tests/widgets/fake_cache.h"
#include "widgets/ring_geometry.h"
#include "widgets/rings_layout.h"
#include "widgets/rings_panel.h"
#include "widgets/theme.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"

#include <QAccessible>
#include <QApplication>
#include <QSignalSpy>
#include <QToolTip>
#include <QtTest>

using namespace kvscope;

class TestRingsPanel : public QObject
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
        m_panel = std::make_unique<RingsPanel>();
        m_panel->setSelection(m_selection.get());
        m_panel->setHistory(m_history.get());
        m_panel->resize(1200, 600); // slots so wide that their middle is not antialiased
        m_panel->setModel(fakeModel(12, 128));
        m_panel->setSnapshot(fakeSnapshot(12, 128, 1943));
        m_panel->show();
        QVERIFY(QTest::qWaitForWindowExposed(m_panel.get()));
    }

    void cleanup() { m_panel.reset(); }

    void colourIsAge()
    {
        const Theme& theme = Theme::light();
        QCOMPARE(colorOfSlot(22), theme.age.front()); // 1942, the newest
        QCOMPARE(colorOfSlot(24), theme.ageColor(126.0 / 127.0));
    }

    void coloursFollowTheTheme()
    {
        applyTheme(*qApp, ThemeChoice::Dark);
        QCoreApplication::processEvents();
        QCOMPARE(colorOfSlot(22), Theme::dark().age.front());
        QCOMPARE(m_panel->grab().toImage().pixelColor(3, 285), Theme::dark().panel);
    }

    void hoverPointsAtTheTokenAndSaysWhenItLeaves()
    {
        QTest::mouseMove(m_panel.get(), slotPoint(79));
        QCOMPARE(m_selection->selection().hovered.value_or(-1), 1871);
        const QString text = QToolTip::text();
        QVERIFY(text.contains(QStringLiteral("“ read”")));
        QVERIFY(text.contains(QStringLiteral("id 803")));
        QVERIFY(text.contains(QStringLiteral("nll 1.42")));
        QVERIFY(text.contains(QStringLiteral("position 1,871, slot 79, age 71")));
        QVERIFY(text.contains(QStringLiteral("leaves in 57 tokens")));
        QTest::mouseMove(m_panel.get(), layout().main.center.toPoint());
        QVERIFY(!m_selection->selection().hovered);
    }

    void hoverAndPinAreDrawn()
    {
        const QImage plain = m_panel->grab().toImage();
        m_selection->hover(1871);
        const QImage hovered = m_panel->grab().toImage();
        QVERIFY(hovered != plain);
        m_selection->clearHover();
        m_selection->pin(614); // left the ring: a box outside it
        const QImage pinned = m_panel->grab().toImage();
        QVERIFY(countOf(pinned, Theme::light().selection) >
                countOf(plain, Theme::light().selection) + 20); // the legend has some of it too
    }

    void clickPinsAndShiftClickExtends()
    {
        QTest::mouseClick(m_panel.get(), Qt::LeftButton, {}, slotPoint(79));
        QCOMPARE(m_selection->selection().pinned.value_or(-1), 1871);
        QTest::mouseClick(m_panel.get(), Qt::LeftButton, Qt::ShiftModifier, slotPoint(22));
        QCOMPARE(m_selection->selection().range()->first, 1871);
        QCOMPARE(m_selection->selection().range()->last, 1942);
    }

    void bracketsAndSmallRingsChooseTheLargeLayer()
    {
        QSignalSpy chosen(m_panel.get(), &RingsPanel::layerChosen);
        QCOMPARE(m_panel->chosenLayer().value_or(-1), 0);
        QTest::keyClick(m_panel.get(), Qt::Key_BracketRight);
        QCOMPARE(m_panel->chosenLayer().value_or(-1), 2);
        QTest::keyClick(m_panel.get(), Qt::Key_BracketLeft);
        QTest::keyClick(m_panel.get(), Qt::Key_BracketLeft); // stays at the first
        QCOMPARE(m_panel->chosenLayer().value_or(-1), 0);
        QTest::mouseClick(m_panel.get(), Qt::LeftButton, {},
                          layout().small[2].frame.center.toPoint());
        QCOMPARE(m_panel->chosenLayer().value_or(-1), 6);
        QCOMPARE(chosen.count(), 3);
        m_panel->chooseLayer(5); // global: no ring
        QCOMPARE(m_panel->chosenLayer().value_or(-1), 6);
    }

    void chosenLayerSurvivesSnapshots()
    {
        m_panel->chooseLayer(8);
        m_panel->setSnapshot(fakeSnapshot(12, 128, 1944));
        QCOMPARE(m_panel->chosenLayer().value_or(-1), 8);
    }

    void arrowsMoveThePinnedToken()
    {
        m_selection->pin(1900);
        QTest::keyClick(m_panel.get(), Qt::Key_Left);
        QCOMPARE(m_selection->selection().pinned.value_or(-1), 1899);
        QTest::keyClick(m_panel.get(), Qt::Key_Right, Qt::ShiftModifier);
        QCOMPARE(m_selection->selection().range()->last, 1900);
    }

    void emptySlotsSaySo()
    {
        m_panel->setSnapshot(fakeSnapshot(12, 128, 10));
        QTest::mouseMove(m_panel.get(), slotPoint(40));
        QVERIFY(!m_selection->selection().hovered);
        QCOMPARE(QToolTip::text(), QStringLiteral("slot 40, empty"));
    }

    void slackSlotsAreToldApart()
    {
        m_panel->setModel(fakeModel(12, 64));
        m_panel->setSnapshot(fakeSnapshot(12, 64, 1943, 8));
        const SnapshotTable table = m_panel->accessibleTable();
        QCOMPARE(table.rows.size(), 72);
        const auto outside =
            std::count_if(table.rows.begin(), table.rows.end(), [](const auto& row) {
                return row.last() == QStringLiteral("outside the window");
            });
        QCOMPARE(outside, 8);
    }

    void tablesHoldEverySlot()
    {
        QCOMPARE(m_panel->accessibleTable().rows.size(), 128);
        const SnapshotTable table = m_panel->exportTable();
        QCOMPARE(table.rows.size(), 6 * 128);
        QCOMPARE(table.rows[79],
                 QStringList({"0", "79", "1871", " read", "803", "71", "in the window"}));
        QVERIFY(m_panel->csv().startsWith(
            QStringLiteral("layer,slot,position,token,id,age,state\r\n")));
        QVERIFY(m_panel->csv().contains(QStringLiteral("0,79,1871,\" read\",803,71,")));
    }

    void screenReadersWalkThroughTheSlots()
    {
        QAccessibleInterface* view = QAccessible::queryAccessibleInterface(m_panel.get());
        QVERIFY(view);
        QCOMPARE(view->text(QAccessible::Name), QStringLiteral("Rings"));
        QCOMPARE(view->text(QAccessible::Description), m_panel->description());
        QAccessibleTableInterface* table = view->tableInterface();
        QVERIFY(table);
        QCOMPARE(table->rowCount(), 128);
        QCOMPARE(table->columnDescription(2), QStringLiteral("position"));
        QAccessibleInterface* cell = table->cellAt(79, 2);
        QCOMPARE(cell->text(QAccessible::Name), QStringLiteral("1871"));
        QCOMPARE(cell->parent(), view);
        QCOMPARE(view->child(view->indexOfChild(cell)), cell);
        QVERIFY(!table->cellAt(128, 0));
        m_panel->clear();
        QTRY_VERIFY(!cell->isValid()); // read anew a moment later
        QCOMPARE(cell->text(QAccessible::Name), QString());
    }

    void descriptionSaysWhatIsShown()
    {
        QCOMPARE(m_panel->description(),
                 QStringLiteral("6 windowed layers, slots in physical order"));
        QCOMPARE(m_panel->accessibleDescription(), m_panel->description());
        m_panel->setModel(fakeModel(30, 0));
        QCOMPARE(m_panel->description(), QStringLiteral("no windowed layers"));
        QVERIFY(!m_panel->chosenLayer());
        m_panel->clear();
        QCOMPARE(m_panel->description(), QStringLiteral("no model open"));
        m_panel->grab();
    }

    // Property: it paints and answers at any size, number of rings and fill.
    void survivesAnySizeAndFill()
    {
        for (const QSize size : {QSize(1, 1), QSize(60, 40), QSize(420, 240), QSize(1900, 500)})
            for (const std::int64_t window : {1, 3, 128, 600, 4096})
                for (const std::int64_t length : {0, 1, 127, 128, 129, 5000}) {
                    m_panel->resize(size);
                    m_panel->setModel(fakeModel(26, window));
                    m_panel->setSnapshot(fakeSnapshot(26, window, length, window % 5));
                    m_selection->pin(5);
                    m_panel->grab();
                }
    }

    void manySnapshotsAreOneRepaint()
    {
        struct Counter : QObject
        {
            int paints = 0;
            bool eventFilter(QObject*, QEvent* event) override
            {
                paints += event->type() == QEvent::Paint ? 1 : 0;
                return false;
            }
        } counter;
        QCoreApplication::processEvents();
        m_panel->installEventFilter(&counter);
        for (int i = 0; i < 100; ++i)
            m_panel->setSnapshot(fakeSnapshot(12, 128, 1943 + i));
        QTRY_VERIFY(counter.paints > 0);
        QVERIFY(counter.paints <= 2);
    }

    void newTokenPaintsWithinAFrame()
    {
        QPixmap target(m_panel->size());
        qint64 best = std::numeric_limits<qint64>::max();
        for (int i = 0; i < 40; ++i) {
            m_panel->setSnapshot(fakeSnapshot(12, 128, 1943 + i));
            QElapsedTimer timer;
            timer.start();
            m_panel->render(&target);
            best = std::min(best, timer.nsecsElapsed());
        }
        qInfo("a new token repaints in %.2f ms", static_cast<double>(best) / 1e6);
        QVERIFY(best < 16'000'000);
    }

private:
    RingsLayout layout() const { return layOutRings(m_panel->rect(), 5); }

    QPoint slotPoint(std::int64_t slot) const
    {
        const RingFrame frame = layout().main;
        const double angle = (slotAngle(slot, 128) + slotAngle(slot + 1, 128)) / 2;
        return pointOnRing(frame.center, (frame.inner + frame.outer) / 2, angle).toPoint();
    }

    QColor colorOfSlot(std::int64_t slot) const
    {
        return m_panel->grab().toImage().pixelColor(slotPoint(slot));
    }

    static int countOf(const QImage& image, const QColor& color)
    {
        int count = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                count += image.pixelColor(x, y) == color ? 1 : 0;
        return count;
    }

    std::unique_ptr<TokenSelectionModel> m_selection;
    std::unique_ptr<TokenHistory> m_history;
    std::unique_ptr<RingsPanel> m_panel;
};

QTEST_MAIN(TestRingsPanel)
#include "tst_rings_panel.moc"
