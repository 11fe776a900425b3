#include "widgets/memory_plot.h"
#include "widgets/memory_plot_drawing.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_ticker.h"
#include "widgets/plot_view.h"
#include "widgets/token_selection.h"

#include <QAbstractButton>
#include <QWheelEvent>
#include <QtTest>

#include <algorithm>
#include <cmath>

using namespace kvscope;

namespace {

constexpr std::uint64_t kMiB = 1024 * 1024;

MemorySample sampleAt(std::int64_t position, double seconds)
{
    MemorySample sample;
    sample.seconds = seconds;
    sample.contextLength = position;
    sample.weights = 29 * kMiB;
    sample.cacheLive = static_cast<std::uint64_t>(position) * 6144;
    sample.cacheSlack = 2 * kMiB;
    sample.processBaseline = 300 * kMiB;
    sample.processResident = 300 * kMiB + sample.weights + sample.cacheLive + 4 * kMiB;
    return sample;
}

void fill(MemoryPlot& plot, std::int64_t tokens)
{
    for (std::int64_t position = 0; position <= tokens; ++position)
        plot.addSample(sampleAt(position, 0.01 * static_cast<double>(position)),
                       position <= tokens / 2 ? Phase::Prefill : Phase::Decode);
}

void move(QWidget* widget, const QPointF& at)
{
    QMouseEvent event(QEvent::MouseMove, at, widget->mapToGlobal(at), Qt::NoButton, Qt::NoButton,
                      Qt::NoModifier);
    QCoreApplication::sendEvent(widget, &event);
}

void turnWheel(QWidget* widget, const QPointF& at, int notches, Qt::KeyboardModifiers modifiers)
{
    QWheelEvent event(at, widget->mapToGlobal(at), QPoint(), QPoint(0, 120 * notches), Qt::NoButton,
                      modifiers, Qt::NoScrollPhase, false);
    QCoreApplication::sendEvent(widget, &event);
}

QString valueOf(const ReadoutTable& table, const QString& name, std::size_t column)
{
    for (const ReadoutRow& row : table.rows)
        if (row.name == name)
            return row.values[column];
    return QStringLiteral("no such row");
}

QAbstractButton* buttonNamed(const QWidget& widget, const QString& text)
{
    for (QAbstractButton* button : widget.findChildren<QAbstractButton*>())
        if (button->text() == text)
            return button;
    return nullptr;
}

void show(MemoryPlot& plot)
{
    plot.resize(700, 262);
    plot.show();
    QVERIFY(QTest::qWaitForWindowExposed(&plot));
    QCoreApplication::processEvents();
    plot.canvas()->replot();
}

} // namespace

class TestMemoryPlot : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void figuresAddUp()
    {
        const MemoryFigures figures = memoryFigures(sampleAt(1024, 1.0));
        QCOMPARE(figures.weights, 29.0);
        QCOMPARE(figures.cacheLive, 6.0);
        QCOMPARE(figures.stacked, 37.0);
        QCOMPARE(figures.measured, 39.0);
        QCOMPARE(figures.unaccounted, 2.0);
    }

    void unreadMemoryIsMissingAndNotZero()
    {
        MemorySample sample = sampleAt(10, 1.0);
        sample.processResident = 0;
        QVERIFY(std::isnan(memoryFigures(sample).measured));
        QVERIFY(std::isnan(memoryFigures(sample).unaccounted));
    }

    void positionsGoBackWithTheContext()
    {
        MemoryHistory history;
        for (int position = 0; position <= 100; ++position)
            history.add({sampleAt(position, position), Phase::Decode});
        history.add({sampleAt(40, 101), Phase::Prefill});
        QCOMPARE(history.byTime().size(), std::size_t(102));
        QCOMPARE(history.byPosition().xs.back(), 40.0);
        QCOMPARE(history.byPosition().size(), std::size_t(41));
        QVERIFY(history.whenCached(39) != nullptr);
        QVERIFY(history.whenCached(40) == nullptr);
    }

    void idleSamplesKeepTheGrowthCopyOfTheirPosition()
    {
        MemoryHistory history;
        MemorySample grown = sampleAt(512, 1.0);
        grown.growthCopy = 3 * kMiB;
        history.add({grown, Phase::Decode});
        for (int i = 0; i < 5; ++i)
            history.add({sampleAt(512, 2.0 + i), Phase::Idle});
        QCOMPARE(history.byPosition().size(), std::size_t(2));
        QCOMPARE(history.byPosition().growthCopy.front(), 3.0);
        QCOMPARE(history.byPosition().points.back().sample.seconds, 6.0);
    }

    void olderSampleIsLeftOut()
    {
        MemoryHistory history;
        history.add({sampleAt(5, 2.0), Phase::Decode});
        history.add({sampleAt(6, 1.0), Phase::Decode});
        QCOMPARE(history.byTime().size(), std::size_t(1));
    }

    void hoursOfSamplesStaySmallAndKeepTheirExtremes()
    {
        MemoryHistory history(1000);
        for (int i = 0; i < 50'000; ++i) {
            MemorySample sample = sampleAt(i, 0.25 * i);
            if (i == 777)
                sample.growthCopy = 50 * kMiB;
            if (i == 31'000)
                sample.processResident += 900 * kMiB;
            history.add({sample, Phase::Decode});
        }
        for (const MemorySeries* series : {&history.byTime(), &history.byPosition()}) {
            QVERIFY(series->size() <= 1000);
            QVERIFY(std::is_sorted(series->xs.begin(), series->xs.end()));
            QCOMPARE(*std::max_element(series->growthCopy.begin(), series->growthCopy.end()), 50.0);
            QVERIFY(*std::max_element(series->measured.begin(), series->measured.end()) > 900.0);
        }
        QVERIFY(history.isThinned());
    }

    void phasesAreStretchesOfTheAxis()
    {
        MemorySeries series;
        series.add({sampleAt(0, 0), Phase::Idle}, 0);
        series.add({sampleAt(64, 1), Phase::Prefill}, 64);
        series.add({sampleAt(128, 2), Phase::Prefill}, 128);
        series.add({sampleAt(129, 3), Phase::Decode}, 129);
        series.add({sampleAt(129, 4), Phase::Idle}, 129);
        const std::vector<PhaseSpan> spans = phaseSpans(series);
        QCOMPARE(spans.size(), std::size_t(2));
        QVERIFY(spans[0] == (PhaseSpan{Phase::Prefill, 0, 128}));
        QVERIFY(spans[1] == (PhaseSpan{Phase::Decode, 128, 129}));
    }

    void idleTimeBeforeAPrefillIsNotCounted()
    {
        MemorySeries series;
        series.axis = MemoryAxis::Time;
        series.add({sampleAt(100, 1), Phase::Decode}, 1);
        series.add({sampleAt(200, 61), Phase::Prefill}, 61);
        series.add({sampleAt(300, 62), Phase::Prefill}, 62);
        const std::vector<PhaseSpan> spans = phaseSpans(series);
        QCOMPARE(spans.size(), std::size_t(2));
        QVERIFY(spans[1] == (PhaseSpan{Phase::Prefill, 61, 62}));
    }

    void viewFollowsInStepsAndStopsWhenTheUserMoves()
    {
        PlotView view(256);
        QSignalSpy changes(&view, &PlotView::changed);
        view.setHead(this, 256);
        QCOMPARE(view.upper(), 256.0);
        view.setHead(this, 257);
        QCOMPARE(view.upper(), 320.0);
        view.setHead(this, 300);
        QCOMPARE(changes.count(), 1);
        view.zoomAt(100, 0.5);
        QVERIFY(!view.isFollowing());
        const double upper = view.upper();
        view.setHead(this, 5000);
        QCOMPARE(view.upper(), upper);
        view.setFollowing(true);
        QVERIFY(view.lower() < 5000 && view.upper() > 5000);
        view.fit();
        QCOMPARE(view.lower(), 0.0);
        QVERIFY(view.upper() >= 5000);
    }

    void zoomAndPanStayOnTheAxis()
    {
        for (const AxisScale scale : {AxisScale::Linear, AxisScale::Log}) {
            PlotView view(256);
            view.setScale(scale);
            view.setHead(this, 4000);
            for (int i = 0; i < 100; ++i)
                view.zoomAt(i % 2 ? 0.0 : 3000.0, i < 50 ? 0.7 : 1.5);
            for (int i = 0; i < 50; ++i)
                view.panBy(i < 25 ? -0.4 : 0.9);
            QVERIFY(view.lower() >= (scale == AxisScale::Log ? 1.0 - 1e-9 : 0.0));
            QVERIFY(view.upper() > view.lower());
            QVERIFY(std::isfinite(view.upper()));
        }
    }

    void viewsHeadIsTheFurthestOfItsPlots()
    {
        PlotView view(256);
        QObject first;
        {
            QObject second;
            view.setHead(&first, 100);
            view.setHead(&second, 400);
            QCOMPARE(view.head(), 400.0);
        }
        view.setHead(&first, 101);
        QCOMPARE(view.head(), 101.0);
    }

    void axisLabelsAreShortAndExact()
    {
        QCOMPARE(axisPosition(1024), QStringLiteral("1,024"));
        QCOMPARE(axisPosition(16'384), QStringLiteral("16K"));
        QCOMPARE(axisPosition(20'000), QStringLiteral("20,000"));
        QCOMPARE(axisSeconds(0.25, 0.05), QStringLiteral("0.25"));
        QCOMPARE(axisSeconds(90, 30), QStringLiteral("1:30"));
        QCOMPARE(axisSeconds(7205, 5), QStringLiteral("2:00:05"));
        QCOMPARE(axisAmount(12'288, 1024), QStringLiteral("12,288"));
        QCOMPARE(axisAmount(0.5, 0.5), QStringLiteral("0.5"));
    }

    void readoutSaysPinnedHoveredAndNow()
    {
        TokenSelectionModel selection;
        selection.setTokenCount(1024);
        MemoryPlot plot;
        plot.setSelection(&selection);
        fill(plot, 1024);
        selection.pin(511);
        selection.hover(255);
        const ReadoutTable& table = plot.readout();
        QCOMPARE(table.headings[0], QStringLiteral("511"));
        QCOMPARE(table.headings[1], QStringLiteral("255"));
        QCOMPARE(valueOf(table, "Cache, live", 0), QStringLiteral("3.00"));
        QCOMPARE(valueOf(table, "Cache, live", 1), QStringLiteral("1.50"));
        QCOMPARE(valueOf(table, "Cache, live", 2), QStringLiteral("6.00"));
        QCOMPARE(valueOf(table, "Unaccounted", 2), QStringLiteral("2.00"));
        QCOMPARE(valueOf(table, "Growth copy", 2), QStringLiteral("0"));
    }

    void pointerAndClickPickTheToken()
    {
        TokenSelectionModel selection;
        selection.setTokenCount(1000);
        MemoryPlot plot;
        plot.setSelection(&selection);
        fill(plot, 1000);
        show(plot);
        const QPointF at(plot.canvas()->xPixel(600), plot.canvas()->plotArea().center().y());
        move(plot.canvas(), at);
        QVERIFY(selection.selection().hovered);
        QVERIFY(std::abs(*selection.selection().hovered - 600) <= 2);
        QTest::mouseClick(plot.canvas(), Qt::LeftButton, {}, at.toPoint());
        QVERIFY(std::abs(selection.selection().pinned.value_or(-1) - 600) <= 2);
        QVERIFY(!selection.selection().followsHead);
        QVERIFY(!plot.positionView()->isFollowing());
        move(plot.canvas(), QPointF(2, 2));
        QVERIFY(!selection.selection().hovered);
    }

    void wheelZoomsAtThePointerAndPansWithShift()
    {
        MemoryPlot plot;
        fill(plot, 1000);
        show(plot);
        const QPointF at(plot.canvas()->xPixel(300), plot.canvas()->plotArea().center().y());
        const double before = plot.positionView()->upper() - plot.positionView()->lower();
        turnWheel(plot.canvas(), at, 2, {});
        QVERIFY(plot.positionView()->upper() - plot.positionView()->lower() < before * 0.7);
        QVERIFY(std::abs(plot.canvas()->xPixel(300) - at.x()) < 1.0);
        const double lower = plot.positionView()->lower();
        turnWheel(plot.canvas(), at, -1, Qt::ShiftModifier);
        QVERIFY(plot.positionView()->lower() > lower);
        QTest::mouseDClick(plot.canvas(), Qt::LeftButton, {}, at.toPoint());
        QCOMPARE(plot.positionView()->lower(), 0.0);
        QVERIFY(plot.positionView()->isFollowing());
    }

    void timeAxisIsSwitchedByItsButton()
    {
        TokenSelectionModel selection;
        selection.setTokenCount(1000);
        MemoryPlot plot;
        plot.setSelection(&selection);
        fill(plot, 1000);
        show(plot);
        buttonNamed(plot, "Time")->click();
        QCOMPARE(plot.axis(), MemoryPlot::Axis::Time);
        QVERIFY(!buttonNamed(plot, "Log")->isEnabled());
        plot.canvas()->replot();
        move(plot.canvas(),
             QPointF(plot.canvas()->xPixel(5.0), plot.canvas()->plotArea().center().y()));
        QVERIFY(std::abs(selection.selection().hovered.value_or(-1) - 499) <= 3);
    }

    void logAxisIsSwitchedByItsButton()
    {
        MemoryPlot plot;
        fill(plot, 1000);
        show(plot);
        buttonNamed(plot, "Log")->click();
        QCOMPARE(plot.canvas()->xAxis->scaleType(), QCPAxis::stLogarithmic);
        QCOMPARE(plot.positionView()->lower(), 1.0);
        plot.canvas()->replot();
        QVERIFY(plot.canvas()->xPixel(100) > plot.canvas()->plotArea().center().x());
    }

    void amountAxisStartsAtZeroAndGrowsInSteps()
    {
        MemoryPlot plot;
        plot.addSample(sampleAt(0, 0.0));
        show(plot);
        const double first = plot.canvas()->yAxis->range().upper;
        QCOMPARE(plot.canvas()->yAxis->range().lower, 0.0);
        plot.addSample(sampleAt(1, 1.0));
        plot.canvas()->replot();
        QCOMPARE(plot.canvas()->yAxis->range().upper, first);
        plot.addSample(sampleAt(40'000, 2.0));
        plot.canvas()->replot();
        const double steps = std::log(plot.canvas()->yAxis->range().upper / first) / std::log(1.25);
        QVERIFY(steps > 0.5);
        QVERIFY(std::abs(steps - std::round(steps)) < 1e-9);
    }

    void drawnPointsDoNotGrowWithTheHistory()
    {
        MemoryPlot plot;
        fill(plot, 20'000);
        show(plot);
        const auto width = plot.canvas()->plotArea().width();
        QVERIFY(plot.canvas()->graph(0)->dataCount() > 0);
        QVERIFY(plot.canvas()->graph(0)->dataCount() <= 10 * (width + 3));
    }

    void csvHoldsEveryPurposeInBytes()
    {
        MemoryPlot plot;
        fill(plot, 100);
        const QStringList lines = plot.csv().split("\r\n");
        const auto header = std::find_if(lines.begin(), lines.end(),
                                         [](const QString& line) { return !line.startsWith("#"); });
        QVERIFY(header != lines.end());
        QVERIFY(header - lines.begin() >= 3);
        QVERIFY(header->startsWith("seconds,position,phase,weights_bytes,cache_live_bytes"));
        const QStringList fields = (header + 1 + 60)->split(',');
        QCOMPARE(fields[0], QStringLiteral("0.6"));
        QCOMPARE(fields[1], QStringLiteral("60"));
        QCOMPARE(fields[2], QStringLiteral("decode"));
        QCOMPARE(fields[4], QString::number(60 * 6144));
        QCOMPARE(fields[7], QString::number(33 * kMiB + 60 * 6144));
        QCOMPARE(fields[8], QString::number(2 * kMiB));
    }

    void emptyPlotKeepsItsAxes()
    {
        MemoryPlot plot;
        show(plot);
        QVERIFY(plot.canvas()->xAxis->visible());
        QVERIFY(plot.canvas()->plotArea().width() > 300);
        QCOMPARE(valueOf(plot.readout(), "Weights", 2), QStringLiteral("–"));
        fill(plot, 10);
        plot.clear();
        QCOMPARE(plot.history().byTime().size(), std::size_t(0));
    }
};

QTEST_MAIN(TestMemoryPlot)
#include "tst_memory_plot.moc"
