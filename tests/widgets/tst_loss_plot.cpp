#include "widgets/loss_plot.h"
#include "widgets/memory_plot.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_view.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"

#include <QElapsedTimer>
#include <QtTest>

#include <cmath>

using namespace kvscope;

namespace {

TokenRecord tokenAt(std::int64_t position, double nll)
{
    TokenRecord token;
    token.id = 100 + position;
    token.position = position;
    token.piece = "p" + std::to_string(position);
    token.text = token.piece;
    token.nll = nll;
    token.isPrompt = nll < 0.0;
    return token;
}

void fill(TokenHistory& tokens, std::int64_t prompt, std::int64_t generated)
{
    std::vector<TokenRecord> records;
    for (std::int64_t position = 0; position < prompt + generated; ++position)
        records.push_back(tokenAt(
            position, position < prompt ? -1.0 : 2.0 + std::sin(static_cast<double>(position))));
    QVERIFY(tokens.append(records));
}

void move(QWidget* widget, const QPointF& at)
{
    QMouseEvent event(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(widget, &event);
}

void show(LossPlot& plot)
{
    plot.resize(700, 220);
    plot.show();
    QVERIFY(QTest::qWaitForWindowExposed(&plot));
    QCoreApplication::processEvents();
    plot.canvas()->replot();
}

int finiteCount(const QCPGraph* graph)
{
    int count = 0;
    for (const QCPGraphData& point : *graph->data())
        count += std::isnan(point.value) ? 0 : 1;
    return count;
}

} // namespace

class TestLossPlot : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void tokensThatWereNotScoredAreAGap()
    {
        TokenHistory tokens;
        LossPlot plot;
        plot.setTokens(&tokens);
        fill(tokens, 50, 30);
        show(plot);
        QCOMPARE(finiteCount(plot.canvas()->graph(0)), 30);
        tokens.setNll(0, std::vector<double>(50, 1.0));
        plot.canvas()->replot();
        QCOMPARE(finiteCount(plot.canvas()->graph(0)), 80);
    }

    void smoothedLineIsTheMeanOfTheLast64()
    {
        TokenHistory tokens;
        LossPlot plot;
        plot.setTokens(&tokens);
        std::vector<TokenRecord> records;
        for (int i = 0; i < 130; ++i)
            records.push_back(tokenAt(i, i));
        tokens.append(records);
        show(plot);
        const auto last = plot.canvas()->graph(0)->data()->constEnd() - 1;
        QCOMPARE(last->key, 129.0);
        QCOMPARE(last->value, (66.0 + 129.0) / 2.0);
    }

    void newChatDropsTheOldLosses()
    {
        TokenHistory tokens;
        LossPlot plot;
        plot.setTokens(&tokens);
        fill(tokens, 0, 500);
        show(plot);
        QCOMPARE(plot.positionView()->head(), 500.0);
        tokens.truncate(10);
        tokens.append(tokenAt(10, 7.5));
        plot.canvas()->replot();
        QCOMPARE(finiteCount(plot.canvas()->graph(0)), 11);
        QCOMPARE(plot.positionView()->head(), 11.0);
    }

    void windowsBeginWhereTheCacheSays()
    {
        LossPlot plot;
        CacheSnapshot cache;
        cache.contextLength = 1943;
        LayerCacheState ring;
        ring.isWindowed = true;
        ring.window = ring.capacity = ring.retained = 128;
        ring.firstPosition = 1815;
        LayerCacheState growing;
        growing.retained = 1943;
        cache.layers = {ring, growing};
        plot.setCache(cache);
        QCOMPARE(plot.firstInWindows().value_or(-1), 1815);
        cache.layers = {growing};
        plot.setCache(cache);
        QVERIFY(!plot.firstInWindows());
    }

    void windowExtentIsTintedUpToTheHead()
    {
        TokenHistory tokens;
        LossPlot plot;
        plot.setTokens(&tokens);
        fill(tokens, 200, 0);
        CacheSnapshot cache;
        cache.contextLength = 200;
        LayerCacheState ring;
        ring.isWindowed = true;
        ring.window = ring.capacity = ring.retained = 64;
        ring.firstPosition = 136;
        cache.layers = {ring};
        plot.setCache(cache);
        show(plot);
        const QImage image = plot.canvas()->grab().toImage();
        const auto colorAt = [&](double position) {
            return image.pixelColor(QPoint(static_cast<int>(plot.canvas()->xPixel(position)),
                                           static_cast<int>(plot.canvas()->plotArea().top()) + 3));
        };
        QVERIFY(colorAt(170) != colorAt(100));
        QCOMPARE(colorAt(230), colorAt(100));
    }

    void clickOnADotPinsItsToken()
    {
        TokenHistory tokens;
        TokenSelectionModel selection;
        LossPlot plot;
        plot.setTokens(&tokens);
        plot.setSelection(&selection);
        std::vector<TokenRecord> records;
        for (int i = 0; i < 200; ++i)
            records.push_back(tokenAt(i, i == 120 ? 3.5 : 0.5));
        tokens.append(records);
        selection.setTokenCount(tokens.size());
        show(plot);
        // Beside the dot: the nearest dot wins over the column under the pointer.
        const QPointF dot(plot.canvas()->xPixel(120) + 2.5, plot.canvas()->yPixel(3.5) + 2);
        move(plot.canvas(), dot);
        QCOMPARE(selection.selection().hovered.value_or(-1), 120);
        QTest::mouseClick(plot.canvas(), Qt::LeftButton, {}, dot.toPoint());
        QCOMPARE(selection.selection().pinned.value_or(-1), 120);
        QCOMPARE(plot.readout().headings[0], QStringLiteral("120"));
        QCOMPARE(plot.readout().rows[0].values[0], QStringLiteral("3.50"));
        QCOMPARE(plot.readout().rows[2].values[0], QStringLiteral("0.030"));
    }

    void arrowKeysMoveThePinAndShiftMakesARange()
    {
        TokenHistory tokens;
        TokenSelectionModel selection;
        LossPlot plot;
        plot.setTokens(&tokens);
        plot.setSelection(&selection);
        std::vector<TokenRecord> records;
        for (int i = 0; i < 20; ++i)
            records.push_back(tokenAt(i, i));
        tokens.append(records);
        selection.setTokenCount(20);
        show(plot);
        selection.pin(10);
        QTest::keyClick(plot.canvas(), Qt::Key_Left);
        QCOMPARE(selection.selection().pinned.value_or(-1), 9);
        QTest::keyClick(plot.canvas(), Qt::Key_Right, Qt::ShiftModifier);
        QVERIFY(selection.selection().range());
        QCOMPARE(plot.readout().headings[0], QStringLiteral("mean"));
        QCOMPARE(plot.readout().rows[0].values[0], QStringLiteral("9.50"));
    }

    void selectedTokenIsMarkedInMagenta()
    {
        TokenHistory tokens;
        TokenSelectionModel selection;
        LossPlot plot;
        plot.setTokens(&tokens);
        plot.setSelection(&selection);
        fill(tokens, 0, 200);
        selection.setTokenCount(200);
        show(plot);
        const auto hasMagenta = [&] {
            const QImage image = plot.canvas()->grab().toImage();
            const auto y = static_cast<int>(plot.canvas()->plotArea().top()) + 2;
            for (int x = 0; x < image.width(); ++x)
                if (const QColor color = image.pixelColor(x, y);
                    color.red() > color.green() + 60 && color.blue() > color.green() + 40)
                    return true;
            return false;
        };
        QVERIFY(!hasMagenta());
        selection.pin(77);
        QVERIFY(hasMagenta());
    }

    void positionsAreSharedWithTheMemoryPlot()
    {
        TokenHistory tokens;
        LossPlot loss;
        MemoryPlot memory;
        PlotView view(256);
        loss.setTokens(&tokens);
        loss.setPositionView(&view);
        memory.setPositionView(&view);
        fill(tokens, 100, 900);
        loss.resize(700, 220);
        memory.resize(700, 262);
        view.zoomAt(500, 0.5);
        QCOMPARE(loss.canvas()->xAxis->range().lower, memory.canvas()->xAxis->range().lower);
        QCOMPARE(loss.canvas()->xAxis->range().upper, memory.canvas()->xAxis->range().upper);
        memory.setScale(AxisScale::Log);
        QCOMPARE(loss.canvas()->xAxis->scaleType(), QCPAxis::stLogarithmic);
    }

    void followingIsSharedWithTheSelection()
    {
        TokenSelectionModel selection;
        LossPlot plot;
        plot.setSelection(&selection);
        plot.positionView()->panBy(0.2);
        QVERIFY(!selection.selection().followsHead);
        selection.setFollowsHead(true);
        QVERIFY(plot.positionView()->isFollowing());
    }

    void longContextIsThinnedToPixels()
    {
        TokenHistory tokens;
        LossPlot plot;
        plot.setTokens(&tokens);
        show(plot);
        fill(tokens, 0, 131'072);
        QElapsedTimer timer;
        timer.start();
        plot.canvas()->replot();
        qInfo("first drawing of 131,072 losses: %lld ms", static_cast<long long>(timer.elapsed()));
        tokens.append(tokenAt(131'072, 2.0));
        timer.restart();
        plot.canvas()->replot();
        qInfo("one token more: %lld ms", static_cast<long long>(timer.elapsed()));
        QVERIFY(plot.canvas()->graph(0)->dataCount() <= 6 * 700);
        QVERIFY(plot.canvas()->xAxis->range().upper > 131'072);
    }

    void csvHoldsTokensAndLosses()
    {
        TokenHistory tokens;
        LossPlot plot;
        plot.setTokens(&tokens);
        tokens.append({tokenAt(0, -1.0), tokenAt(1, 1.5), tokenAt(2, 2.5)});
        ModelDescription model;
        model.name = "Tiny";
        plot.setModel(model);
        const QString csv = plot.csv();
        QVERIFY(csv.startsWith("# Loss (measured)\r\n# model: Tiny\r\n"));
        QVERIFY(csv.contains("position,id,piece,source,nll_nats,mean_64_nats\r\n"
                             "0,100,p0,prompt,,\r\n"
                             "1,101,p1,generated,1.5,1.5\r\n"
                             "2,102,p2,generated,2.5,2\r\n"));
    }
};

QTEST_MAIN(TestLossPlot)
#include "tst_loss_plot.moc"
