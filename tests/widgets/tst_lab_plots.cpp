#include "widgets/lab_latency_plots.h"
#include "widgets/lab_limits_panel.h"
#include "widgets/lab_positions_plot.h"
#include "widgets/lab_use_plot.h"
#include "widgets/plot_canvas.h"
#include "widgets/theme.h"

#include <QImage>
#include <QPainter>
#include <QTemporaryDir>
#include <QtTest>

#include <cmath>

using namespace kvscope;

namespace {

SampleMean meanOf(double mean, std::int64_t count = 64)
{
    return {count, mean, 0.02, mean - 0.04, mean + 0.04};
}

PositionsBegun begun(std::size_t series, std::int64_t tokens = 512)
{
    return {series, tokens, series == 0 ? "plain" : "dynamic x2", 256, 512, 128};
}

ScoredPositions losses(std::int64_t first, std::int64_t count, double level)
{
    ScoredPositions part{first, {}};
    for (std::int64_t i = 0; i < count; ++i)
        part.nll.push_back(level + 0.5 * std::sin(static_cast<double>(first + i)));
    return part;
}

std::shared_ptr<const PositionsReport> positionsReport(std::size_t schemes)
{
    auto report = std::make_shared<PositionsReport>();
    report->tokens = 512;
    for (std::size_t i = 0; i < schemes; ++i) {
        PositionsSeries series;
        series.rotary = i == 0 ? "plain" : "dynamic x2";
        series.bins = {{0, 256, meanOf(3.0 + static_cast<double>(i)), false},
                       {256, 511, meanOf(3.5), true}};
        series.firstHalf = meanOf(3.0);
        series.lastBin = meanOf(3.5);
        report->series.push_back(series);
    }
    if (schemes == 2)
        report->differences = {{0, 256, meanOf(1.0)}, {256, 511, meanOf(0.0)}};
    return report;
}

FirstTokenRow row(std::int64_t tokens, std::int64_t chunk, double seconds, bool isDisturbed = false)
{
    FirstTokenRow made;
    made.tokens = tokens;
    made.chunkTokens = chunk;
    made.runs = {{seconds, isDisturbed ? 0.4 : 0.0}};
    made.bestSeconds = seconds;
    made.isDisturbed = isDisturbed;
    made.attentionShare = 0.1;
    return made;
}

/// The plot drawn for export: what it paints must not depend on the screen.
QImage drawn(PlotPanel& plot)
{
    QImage image(700, 320, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    plot.paintTo(painter, QRectF(0, 0, 700, 320), Theme::light());
    return image;
}

/// Thin letters need not have a pixel that is theirs alone.
bool isNear(const QColor& a, const QColor& b)
{
    constexpr int kTolerance = 40;
    return std::abs(a.red() - b.red()) < kTolerance &&
           std::abs(a.green() - b.green()) < kTolerance &&
           std::abs(a.blue() - b.blue()) < kTolerance;
}

bool hasColor(const QImage& image, const QColor& color)
{
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (isNear(image.pixelColor(x, y), color))
                return true;
    return false;
}

} // namespace

// The results of experiments: what is drawn, read out and exported.
class TestLabPlots : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void positionsGrowAsTheyAreScored()
    {
        PositionsPlot plot(PositionsPlot::Shows::Loss);
        plot.resize(700, 320);
        plot.begin(begun(0));
        plot.add({0, losses(0, 64, 3.0)});
        plot.add({0, losses(64, 64, 3.0)});
        plot.add({3, losses(0, 8, 9.0)}); // of no scheme that began
        const QString csv = plot.csv();
        QCOMPARE(csv.count(",position,"), 128);
        QVERIFY(hasColor(drawn(plot), Theme::light().global));
        plot.setReport(positionsReport(1));
        QCOMPARE(plot.csv().count(",bin,"), 2);
        plot.begin(begun(0)); // another run begins anew
        QCOMPARE(plot.csv().count(",position,"), 0);
    }

    void aGapInTheLossesStaysAGap()
    {
        PositionsPlot plot(PositionsPlot::Shows::Loss);
        plot.begin(begun(0));
        plot.add({0, losses(32, 4, 3.0)});
        QVERIFY(plot.csv().contains("plain,position,0,1,,,")); // not computed, so empty
        plot.add({0, losses(-5, 4, 3.0)});
        plot.add({0, losses(100000, 4, 3.0)}); // beyond the text
        QCOMPARE(plot.csv().count(",position,"), 36);
    }

    void positionsReadOutTheirBins()
    {
        PositionsPlot plot(PositionsPlot::Shows::Loss);
        plot.begin(begun(0));
        plot.setReport(positionsReport(1));
        QTRY_VERIFY(!plot.readout().rows.empty());
        QCOMPARE(plot.readout().rows[0].name, QString("0–255"));
        QCOMPARE(plot.readout().rows[0].values[2], QString("3.000"));
        QCOMPARE(plot.readout().rows.back().values[2], QString("\u2715 no")); // rises by 0.5
        plot.begin(begun(1));
        plot.setReport(positionsReport(2));
        QTRY_COMPARE(plot.readout().headings[1], QString("first"));
        QCOMPARE(plot.readout().rows[0].values[1], QString("3.000"));
        QCOMPARE(plot.readout().rows[0].values[2], QString("4.000"));
    }

    void aSchemeThatIsUndecidedIsCalledSo()
    {
        PositionsPlot plot(PositionsPlot::Shows::Loss);
        plot.begin(begun(0));
        QCOMPARE(plot.keyOf(0), QString("plain"));
        auto report = std::make_shared<PositionsReport>(*positionsReport(1));
        report->series[0].lastBin = meanOf(3.19); // its interval reaches over the line of 3.2
        report->series[0].bins[1].nll = {1, 3.19, 0.0, 3.19, 3.19};
        plot.setReport(report);
        QCOMPARE(plot.keyOf(0), QString("plain: ? undecided"));
        QTRY_VERIFY(!plot.readout().rows.empty());
        QCOMPARE(plot.readout().rows.back().values[2], QString("? open"));
        QVERIFY(plot.readout().rows[1].hint.contains("no interval"));
        QVERIFY(plot.readout().rows[1].hint.contains("beyond the trained length"));
        QVERIFY(plot.csv().contains("plain,bin,256,511,3.19,,,1"));
        QCOMPARE(plot.keyOf(1), QString());
        drawn(plot);
    }

    void theDifferenceIsOfTheSecondSchemeLessTheFirst()
    {
        PositionsPlot plot(PositionsPlot::Shows::Difference);
        plot.begin(begun(0));
        plot.add({0, losses(0, 32, 3.0)});
        QCOMPARE(plot.csv().count(",position,"), 0);
        plot.begin(begun(1));
        plot.add({1, losses(0, 16, 4.0)});
        QCOMPARE(plot.csv().count(",position,"), 16); // where both are known
        QVERIFY(plot.csv().contains("second less first,position,0,1,1,"));
        plot.setReport(positionsReport(2));
        QTRY_COMPARE(plot.readout().rows.size(), std::size_t{2});
        QCOMPARE(plot.readout().rows[0].values[2], QString("+1.000"));
    }

    void firstTokensTellTheirFitAndWhatWasSkipped()
    {
        FirstTokenPlot plot;
        plot.resize(700, 320);
        plot.add(row(256, 0, 0.5));
        plot.add(row(512, 0, 1.1, true));
        plot.add(row(512, 256, 1.2));
        FirstTokenRow skipped;
        skipped.tokens = 65536;
        skipped.skipReason = "needs 9.0 GiB, 3.1 GiB are free";
        plot.add(skipped);
        auto report = std::make_shared<LatencyReport>();
        HeldOutFit fit;
        fit.heldOutTokens = 512;
        fit.measuredSeconds = 1.1;
        fit.predictedSeconds = 1.0;
        fit.curve = {{0, 0}, {256, 0.5}, {512, 1.0}};
        report->fits.push_back(fit);
        plot.setReport(report);
        const QImage image = drawn(plot);
        QVERIFY(hasColor(image, Theme::light().global));
        QVERIFY(hasColor(image, Theme::light().caution)); // the disturbed one
        QTRY_COMPARE(plot.readout().rows.size(), std::size_t{3});
        QCOMPARE(plot.readout().rows[1].values[2], QString("1.1 !"));
        QCOMPARE(plot.readout().rows[1].values[1], QString("1.2"));
        QCOMPARE(plot.readout().rows[2].values[2], QString("–"));
        QVERIFY(plot.readout().rows[2].hint.contains("needs 9.0 GiB"));
        QVERIFY(plot.csv().contains("65536,0,,,,,0,\"needs 9.0 GiB, 3.1 GiB are free\""));
        QCOMPARE(plot.keyOf(0), QString("one shot: 1.00 s foretold \u22129.1 % off at 512"));
        report = std::make_shared<LatencyReport>(*report);
        report->fits[0].isDisturbed = true;
        plot.setReport(report);
        QVERIFY(plot.keyOf(0).startsWith("! one shot") && plot.keyOf(0).endsWith("disturbed"));
        QVERIFY(plot.readout().rows[1].hint.contains("disturbed by other load"));
    }

    void stepsStandBesideTheirBytes()
    {
        DecodeStepPlot plot;
        plot.resize(700, 320);
        DecodeStepRow step;
        step.cachedTokens = 1024;
        step.numSteps = 16;
        step.medianSeconds = 0.0163;
        step.floorSeconds = 0.0082;
        plot.add(step);
        step.cachedTokens = 2048;
        step.floorSeconds = 0.0; // not measured
        plot.add(step);
        QTRY_COMPARE(plot.readout().rows.size(), std::size_t{2});
        QCOMPARE(plot.readout().rows[0].values, (std::array<QString, 3>{"", "8.2", "16.3"}));
        QCOMPARE(plot.readout().rows[1].values[1], QString("–"));
        QVERIFY(hasColor(drawn(plot), Theme::light().global));
    }

    void aFloorByADisturbedBandwidthIsUncertain()
    {
        DecodeStepPlot plot;
        plot.resize(700, 320);
        DecodeStepRow step;
        step.numSteps = 16;
        step.medianSeconds = 0.0163;
        step.floorSeconds = 0.0082;
        for (const std::int64_t cached : {1024, 2048}) {
            step.cachedTokens = cached;
            plot.add(step);
        }
        auto report = std::make_shared<LatencyReport>();
        report->bandwidthBytesPerSecond = 17.4e9;
        plot.setReport(report);
        QCOMPARE(plot.floorKey(), QString("its bytes at 17.4 GB/s"));
        QVERIFY(!hasColor(drawn(plot), Theme::light().caution));
        QVERIFY(plot.csv().contains(",0\r\n"));
        report = std::make_shared<LatencyReport>(*report);
        report->isBandwidthDisturbed = true;
        report->stepSecondsPer1000 = 1.2e-5;
        plot.setReport(report);
        QCOMPARE(plot.floorKey(), QString("! its bytes at 17.4 GB/s, measured under other load"));
        QVERIFY(plot.stepKey().contains("0.012 ms per 1,000 cached"));
        QVERIFY(hasColor(drawn(plot), Theme::light().caution));
        QTRY_COMPARE(plot.readout().rows.size(), std::size_t{2});
        QTRY_COMPARE(plot.readout().rows[0].values[1], QString("8.2 !"));
        QVERIFY(plot.readout().rows[0].hint.contains("measured under other load"));
        QVERIFY(plot.csv().contains(",1\r\n"));
    }

    void useMarksItsCheck_data()
    {
        QTest::addColumn<double>("difference");
        QTest::newRow("exactly zero") << 0.0;
        QTest::newRow("not zero, as it must not be") << 1e-6;
    }
    void useMarksItsCheck()
    {
        QFETCH(double, difference);
        UsePlot plot;
        plot.resize(700, 320);
        auto report = std::make_shared<UseReport>();
        for (int i = 0; i < 4; ++i) {
            UseSegment segment;
            segment.segment = i;
            segment.firstTarget = 128 * i + 64;
            segment.numTargets = 64;
            segment.gain = i == 0 ? SampleMean{} : meanOf(0.3);
            segment.largestDifference = i == 0 ? difference : 1.0;
            plot.add(segment);
            report->segments.push_back(segment);
        }
        report->gain = meanOf(0.3);
        plot.setReport(report);
        const QImage image = drawn(plot);
        QCOMPARE(hasColor(image, Theme::light().good), difference == 0.0);
        QCOMPARE(hasColor(image, Theme::light().bad), difference != 0.0);
        QTRY_COMPARE(plot.readout().rows.size(), std::size_t{4});
        QCOMPARE(plot.readout().rows[1].values[2], QString("+0.300"));
        QCOMPARE(plot.csv().count("\r\n"), plot.csv().split("\r\n").size() - 1);
        QCOMPARE(plot.finding().endsWith("✓ uses its context"), difference == 0.0);
        QCOMPARE(plot.finding().endsWith("✕ the check failed"), difference != 0.0);
    }

    void aGainThatIsUndecidedIsCalledSo()
    {
        UsePlot plot;
        QCOMPARE(plot.finding(), QString());
        auto report = std::make_shared<UseReport>();
        report->segments.resize(4);
        report->gain = meanOf(0.02); // from -0.02 to 0.06
        plot.setReport(report);
        QCOMPARE(plot.finding(), QString("+0.020 nats, 95 % \u22120.020 to +0.060, over segments 1 "
                                         "to 3: ? undecided"));
        report = std::make_shared<UseReport>(*report);
        report->gain = {1, 0.3, 0.0, 0.3, 0.3};
        plot.setReport(report);
        QVERIFY(plot.finding().contains("no interval") && plot.finding().endsWith("? undecided"));
    }

    void limitsDropColumnsInAWrittenOrder()
    {
        LimitsPanel panel;
        auto report = std::make_shared<LimitsReport>();
        for (const std::int64_t tokens : {1024, 131072}) {
            LimitsRow one;
            one.tokens = tokens;
            one.cacheBytes = static_cast<std::uint64_t>(tokens) * 18432;
            one.fitsBudget = tokens == 1024;
            report->rows.push_back(one);
        }
        panel.setReport(report);
        const QStringList all = panel.shownColumns(4000);
        QCOMPARE(all.size(), 10);
        const QStringList few = panel.shownColumns(400);
        QVERIFY(few.size() < all.size());
        QVERIFY(few.contains("Length") && few.contains("Cache") && few.contains("Fits"));
        QCOMPARE(panel.exportTable().rows.size(), 2);
        QCOMPARE(panel.exportTable().rows[1].last(), QString("0"));
        QImage image(600, 300, QImage::Format_RGB32);
        QPainter painter(&image);
        panel.paintTo(painter, QRectF(0, 0, 600, 300), Theme::dark());
        painter.end();
        QVERIFY(hasColor(image, Theme::dark().dockTitle));
    }

    void everyPlotIsExported()
    {
        QTemporaryDir folder;
        PositionsPlot positions(PositionsPlot::Shows::Loss);
        positions.begin(begun(0));
        positions.add({0, losses(0, 256, 3.0)});
        UsePlot use; // empty: an empty plot keeps its axes
        const std::initializer_list<PlotPanel*> plots{&positions, &use};
        for (PlotPanel* plot : plots) {
            const ExportSource source = plot->exportSource();
            for (const char* ending : {"png", "pdf", "csv"}) {
                const QString path = folder.filePath(source.name + '.' + ending);
                const auto error = ending == std::string("png")   ? savePng(path, source)
                                   : ending == std::string("pdf") ? savePdf(path, source)
                                                                  : saveCsv(path, source);
                QVERIFY2(!error, qPrintable(error.value_or(QString())));
                QVERIFY(QFileInfo(path).size() > 100);
            }
        }
    }
};

QTEST_MAIN(TestLabPlots)
#include "tst_lab_plots.moc"
