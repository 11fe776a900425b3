#include "widgets/loss_plot.h"
#include "widgets/memory_plot.h"
#include "widgets/plot_canvas.h"
#include "widgets/plot_export.h"
#include "widgets/theme.h"

#include <QMenu>
#include <QSet>
#include <QTemporaryDir>
#include <QXmlStreamReader>
#include <QtTest>

#include <limits>
#include <memory>

using namespace kvscope;

namespace {

ModelDescription tinyModel()
{
    ModelDescription model;
    model.name = "SmolLM2 135M Instruct";
    model.format = "GGUF v3";
    model.compute = "Q4_1 weights, bfloat16 cache";
    model.device = "CPU, 2 threads";
    return model;
}

std::unique_ptr<MemoryPlot> filledPlot()
{
    auto plot = std::make_unique<MemoryPlot>();
    plot->setModel(tinyModel());
    for (int position = 0; position < 500; ++position) {
        MemorySample sample;
        sample.seconds = position;
        sample.contextLength = position;
        sample.weights = 30 << 20;
        sample.cacheLive = static_cast<std::uint64_t>(position) << 12;
        sample.cacheSlack = 1 << 20;
        sample.growthCopy = position == 250 ? 8 << 20 : 0;
        sample.processResident = 40 << 20;
        plot->addSample(sample, Phase::Decode);
    }
    plot->resize(700, 262);
    return plot;
}

QByteArray contentOf(const QString& path)
{
    QFile file(path);
    return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
}

int colorCount(const QImage& image)
{
    QSet<QRgb> colors;
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            colors.insert(image.pixel(x, y));
    return static_cast<int>(colors.size());
}

bool containsColor(const QImage& image, const QColor& color)
{
    for (int y = 0; y < image.height(); ++y)
        for (int x = 0; x < image.width(); ++x)
            if (image.pixelColor(x, y) == color)
                return true;
    return false;
}

} // namespace

class TestPlotExport : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void pngHasTheSizeAskedFor_data()
    {
        QTest::addColumn<double>("dotsPerInch");
        QTest::newRow("as on screen") << 96.0;
        QTest::newRow("twice") << 192.0;
        QTest::newRow("four times") << 384.0;
    }
    void pngHasTheSizeAskedFor()
    {
        QFETCH(double, dotsPerInch);
        const QTemporaryDir folder;
        const QString path = folder.filePath("memory.png");
        const auto plot = filledPlot();
        QVERIFY(!savePng(path, plot->exportSource(), dotsPerInch));
        const QImage image(path);
        QCOMPARE(image.width(), static_cast<int>(700 * dotsPerInch / 96));
        QVERIFY(image.height() > 262 * dotsPerInch / 96); // the caption comes on top
        QVERIFY(colorCount(image) > 20);
    }

    void picturesAreLightWhateverTheWindowIs()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath("memory.png");
        applyTheme(*qApp, ThemeChoice::Dark);
        const auto plot = filledPlot();
        QVERIFY(!savePng(path, plot->exportSource(), 96));
        const QImage image(path);
        QVERIFY(containsColor(image, Theme::light().weights));
        QVERIFY(containsColor(image, Theme::light().global));
        QVERIFY(containsColor(image, Theme::light().growthCopy));
        QVERIFY(!containsColor(image, Theme::dark().global));
        plot->show();
        plot->canvas()->replot();
        QVERIFY(containsColor(plot->grab().toImage(), Theme::dark().global)); // the screen is not
        applyTheme(*qApp, ThemeChoice::Light);
    }

    void pdfIsVectors()
    {
        const QTemporaryDir folder;
        for (const bool isLoss : {false, true}) {
            const QString path = folder.filePath(isLoss ? "loss.pdf" : "memory.pdf");
            const auto memory = filledPlot();
            LossPlot loss;
            QVERIFY(!savePdf(path, isLoss ? loss.exportSource() : memory->exportSource()));
            const QByteArray content = contentOf(path);
            QVERIFY(content.startsWith("%PDF"));
            QVERIFY(content.contains("/Font"));
            QVERIFY(!content.contains("/Subtype /Image"));
        }
    }

    void svgIsShapesAndText()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath("memory.svg");
        const auto plot = filledPlot();
        QVERIFY(plot->exportSource().hasSvg);
        QVERIFY(!saveSvg(path, plot->exportSource()));
        const QByteArray content = contentOf(path);
        QXmlStreamReader reader(content);
        QString words;
        while (!reader.atEnd())
            if (reader.readNext() == QXmlStreamReader::Characters)
                words += reader.text().toString() + '\n';
        QVERIFY2(!reader.hasError(), qPrintable(reader.errorString()));
        QVERIFY(!content.contains("<image"));
        QVERIFY(content.contains(Theme::light().weights.name().toLatin1()));
        QVERIFY(content.contains("clip-path")); // or lines run over their axes
        for (const char* word : {"Memory", "Memory, MiB", "SmolLM2 135M Instruct"})
            QVERIFY2(words.contains(word), word);
    }

    void csvBeginsWithTheRecipe()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath("memory.csv");
        QVERIFY(!saveCsv(path, filledPlot()->exportSource()));
        const QString content = QString::fromUtf8(contentOf(path));
        QVERIFY(content.startsWith("# Memory (areas arithmetic, line measured)\r\n"));
        QVERIFY(content.contains("# model: SmolLM2 135M Instruct\r\n"));
        QVERIFY(content.contains("# device: CPU, 2 threads\r\n"));
        QVERIFY(content.contains("# version: kvscope"));
        QVERIFY(content.contains(QDate::currentDate().toString(Qt::ISODate)));
        QCOMPARE(content.count("\r\n") - content.count("# "), 501); // a heading and 500 samples
    }

    void captionSaysHowItWasMade()
    {
        const QString line = recipeLine(tinyModel(), "measured");
        QVERIFY(line.startsWith("SmolLM2 135M Instruct · GGUF v3 · Q4_1 weights, bfloat16 cache · "
                                "CPU, 2 threads · kvscope"));
        QVERIFY(line.endsWith("· measured"));
        QVERIFY(recipeLine(ModelDescription(), "measured").startsWith("no model"));
    }

    void hostileNamesStayInTheirComment()
    {
        ModelDescription model;
        model.name = "a\r\nb,\"c\"\n1,2,3";
        for (const QString& line : recipeComment(model, "Loss", "measured").split("\r\n"))
            QVERIFY(line.isEmpty() || line.startsWith("# "));
    }

    void numbersAreForMachines()
    {
        QCOMPARE(csvNumber(0.1), QStringLiteral("0.1"));
        QCOMPARE(csvNumber(1234567.25), QStringLiteral("1234567.25"));
        QCOMPARE(csvNumber(std::numeric_limits<double>::quiet_NaN()), QString());
    }

    void folderThatDoesNotExistIsOneClearLine()
    {
        const auto plot = filledPlot();
        for (const auto& error : {savePng("/nonexistent/a.png", plot->exportSource()),
                                  saveCsv("/nonexistent/a.csv", plot->exportSource())}) {
            QVERIFY(error);
            QVERIFY(error->contains("a."));
        }
    }

    void menuOffersEveryFormatAndResolution()
    {
        QMenu menu;
        LossPlot plot;
        addPlotExportActions(menu, &plot, [&] { return plot.exportSource(); }, {});
        QStringList names;
        for (const QAction* action : menu.actions()) {
            names.append(action->text());
            if (action->menu() != nullptr)
                for (const QAction* inner : action->menu()->actions())
                    names.append(inner->text());
        }
        for (const QString wanted :
             {"Export PNG…", "Export SVG…", "Export PDF…", "Export CSV…", "4 × (384 dpi)…"})
            QVERIFY2(names.contains(wanted), qPrintable(wanted));
    }
};

QTEST_MAIN(TestPlotExport)
#include "tst_plot_export.moc"
