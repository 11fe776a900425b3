#include "widgets/routing_plots.h"
#include "widgets/theme.h"

#include <QImage>
#include <QPainter>
#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;

namespace {

RoutingReport reportOf(std::size_t layers, std::size_t experts, std::size_t heads)
{
    RoutingReport report;
    report.tokens = 2048;
    report.numExperts = static_cast<std::int64_t>(experts);
    report.activeExperts = 2;
    for (std::size_t i = 0; i < layers; ++i) {
        RoutingLayer layer;
        layer.layer = static_cast<std::int64_t>(i);
        layer.window = i % 2 == 0 ? 64 : 0;
        for (std::size_t e = 0; e < experts; ++e)
            layer.expertShares.push_back(static_cast<double>(e) / static_cast<double>(experts));
        for (std::size_t h = 0; h < heads; ++h)
            layer.sinkShares.push_back(static_cast<double>(h) / static_cast<double>(heads));
        report.layers.push_back(layer);
    }
    return report;
}

} // namespace

class TestRoutingPlots : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void mapsStandBelowEachOtherInsideThePicture_data()
    {
        QTest::addColumn<int>("experts");
        QTest::addColumn<int>("heads");
        QTest::newRow("a small model") << 4 << 4;
        QTest::newRow("many experts") << 128 << 64;
        QTest::newRow("no experts") << 0 << 8;
        QTest::newRow("no sinks") << 8 << 0;
    }
    void mapsStandBelowEachOtherInsideThePicture()
    {
        QFETCH(int, experts);
        QFETCH(int, heads);
        const RoutingLayout layout = routingLayout(
            reportOf(6, static_cast<std::size_t>(experts), static_cast<std::size_t>(heads)));
        QCOMPARE(layout.experts.isEmpty(), experts == 0);
        QCOMPARE(layout.sinks.isEmpty(), heads == 0);
        const QRectF whole(QPointF(0, 0), layout.size);
        for (const QRectF& map : {layout.experts, layout.sinks})
            QVERIFY(map.isEmpty() || whole.contains(map));
        if (experts > 0 && heads > 0)
            QVERIFY(layout.experts.bottom() < layout.sinks.top());
    }

    void aCellHasTheColourOfItsShare()
    {
        const RoutingReport report = reportOf(3, 4, 4);
        const RoutingLayout layout = routingLayout(report);
        QImage image(layout.size.toSize(), QImage::Format_RGB32);
        QPainter painter(&image);
        paintRoutingPlots(painter, QRectF(QPointF(0, 0), layout.size), report, Theme::light());
        painter.end();
        for (std::size_t column = 0; column < 4; ++column) {
            const QRectF cell = layout.cell(layout.sinks, 2, column);
            const QColor expected = shareColor(static_cast<double>(column) / 4.0, Theme::light());
            QCOMPARE(image.pixelColor(cell.topLeft().toPoint() + QPoint(3, 3)), expected);
        }
    }

    void coloursAreNotStretched()
    {
        const Theme& theme = Theme::light();
        QCOMPARE(shareColor(0.0, theme), theme.alternateRow);
        QCOMPARE(shareColor(1.0, theme), theme.highlight);
        QCOMPARE(shareColor(7.0, theme), theme.highlight);
    }

    void thePictureNamesWhatItShows()
    {
        const QTemporaryDir folder;
        const ExportSource source = routingExportSource(
            std::make_shared<const RoutingReport>(reportOf(2, 4, 4)), "demo, float32, prose");
        const QString path = folder.filePath("routing.svg");
        const auto error = saveSvg(path, source);
        QVERIFY2(!error, error ? qPrintable(*error) : "");
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString svg = QString::fromUtf8(file.readAll());
        for (const char* text : {"Experts visited", "Attention on the sink", "window 64", "global",
                                 "▼ 0.0", "demo, float32, prose"})
            QVERIFY2(svg.contains(QString::fromUtf8(text)), text);
        QCOMPARE(source.csv().count('\n'), 1 + 2 * 8);
        QVERIFY(source.csv().contains("1,0,expert,3,0.75\n"));
    }
};

QTEST_MAIN(TestRoutingPlots)
#include "tst_routing_plots.moc"
