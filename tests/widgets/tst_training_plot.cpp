#include "widgets/theme.h"
#include "widgets/training_plot.h"

#include <QImage>
#include <QPainter>
#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;

namespace {

/// Two phases; the first's texts become longer half way.
TrainingReport reportOf(int steps, double answerLoss)
{
    TrainingReport report;
    report.phases = {"base", "extended"};
    for (int i = 0; i < steps; ++i) {
        TrainingReportStep step;
        step.step = i;
        step.phase = 3 * i < 2 * steps ? 0 : 1;
        step.length = 3 * i < steps ? 128 : 1024;
        step.answerLoss = answerLoss;
        step.textLoss = 6.0;
        step.balance = 1.0;
        report.steps.push_back(step);
    }
    return report;
}

} // namespace

class TestTrainingPlot : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void lossesStandWhereTheirNumbersSay_data()
    {
        QTest::addColumn<double>("loss");
        QTest::newRow("nothing left") << 0.5;
        QTest::newRow("half") << 2.0;
        QTest::newRow("near the text's") << 5.0;
    }
    void lossesStandWhereTheirNumbersSay()
    {
        QFETCH(double, loss);
        const TrainingReport report = reportOf(300, loss);
        const TrainingPlotLayout layout = trainingPlotLayout(report);
        QCOMPARE(layout.mostLoss, 6.0);
        QImage image(layout.size.toSize(), QImage::Format_RGB32);
        QPainter painter(&image);
        paintTrainingPlot(painter, QRectF(QPointF(0, 0), layout.size), report, Theme::light());
        painter.end();
        const double y = layout.losses.bottom() - layout.losses.height() * loss / 6.0;
        const int x = static_cast<int>(layout.xOf(150)) + 20; // away from the marks
        // A line two pixels wide covers at least the one that its middle lies in or beside.
        const QColor color = Theme::light().global;
        const auto isLine = [&](int row) { return image.pixelColor(x, row) == color; };
        QVERIFY(isLine(static_cast<int>(y)) || isLine(static_cast<int>(y) - 1));
        for (int row = static_cast<int>(layout.losses.top()); row < layout.losses.bottom(); ++row)
            QVERIFY(!isLine(row) || std::abs(row - y) < 3.0);
    }

    void everythingHasItsPlace_data()
    {
        QTest::addColumn<int>("steps");
        QTest::addColumn<double>("loss");
        QTest::newRow("one step") << 1 << 4.0;
        QTest::newRow("no loss at all") << 10 << 0.0;
        QTest::newRow("a loss out of bounds") << 10 << 1e9;
        QTest::newRow("many steps") << 20000 << 3.0;
    }
    void everythingHasItsPlace()
    {
        QFETCH(int, steps);
        QFETCH(double, loss);
        const TrainingReport report = reportOf(steps, loss);
        const TrainingPlotLayout layout = trainingPlotLayout(report);
        const QRectF whole(QPointF(0, 0), layout.size);
        QVERIFY(whole.contains(layout.losses) && whole.contains(layout.balance));
        QVERIFY(layout.losses.bottom() < layout.balance.top());
        QVERIFY(layout.mostLoss >= loss && layout.mostBalance >= 1.0);
        QVERIFY(layout.xOf(static_cast<double>(steps - 1)) <= layout.losses.right() + 1e-6);
        QImage image(layout.size.toSize(), QImage::Format_RGB32);
        QPainter painter(&image);
        paintTrainingPlot(painter, whole, report, Theme::dark());
    }

    void thePictureNamesWhatItShows()
    {
        const QTemporaryDir folder;
        const auto report = std::make_shared<const TrainingReport>(reportOf(1200, 2.0));
        const QString path = folder.filePath("loss.svg");
        const auto error = saveSvg(path, trainingExportSource(report, "1,200 steps"));
        QVERIFY2(!error, error ? qPrintable(*error) : "");
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QString svg = QString::fromUtf8(file.readAll());
        for (const char* text : {"answers and echoes, nats", "all text, nats", "balance", "step",
                                 "base: length 128", "extended: length 1,024", "1,200 steps"})
            QVERIFY2(svg.contains(text), text);
        QVERIFY(svg.size() < 400'000); // thinned to the pixels there are
    }
};

QTEST_MAIN(TestTrainingPlot)
#include "tst_training_plot.moc"
