#include "tests/widgets/fake_cache.h"
#include "widgets/export_menu.h"
#include "widgets/rings_panel.h"
#include "widgets/snapshot_table.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QDir>
#include <QFile>
#include <QImage>
#include <QMenu>
#include <QPainter>
#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;

class TestExportMenu : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init() { applyTheme(*qApp, ThemeChoice::Dark); }

    void pngHasTheAskedResolutionAndTheLightTheme()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("square.png"));
        QCOMPARE(savePng(path, square(), 192), std::nullopt);
        const QImage image(path);
        QCOMPARE(image.size(), QSize(200, 100));
        QCOMPARE(image.dotsPerMeterX(), 7559);
        QCOMPARE(image.pixelColor(50, 50), Theme::light().global);
        QCOMPARE(image.pixelColor(190, 90), Theme::light().panel);
    }

    void captionGrowsThePicture()
    {
        const QTemporaryDir folder;
        ExportSource source = square();
        source.caption = QStringLiteral("demo, CPU, float32, seed 0");
        const QString path = folder.filePath(QStringLiteral("square.png"));
        QCOMPARE(savePng(path, source, 96), std::nullopt);
        const QImage image(path);
        QCOMPARE(image.width(), 100);
        QVERIFY(image.height() > 60);
    }

    void pdfHoldsVectorsAndText()
    {
        const QTemporaryDir folder;
        RingsPanel panel;
        panel.resize(826, 288);
        panel.setModel(fakeModel(12, 128));
        panel.setSnapshot(fakeSnapshot(12, 128, 1943));
        const QString path = folder.filePath(QStringLiteral("rings.pdf"));
        QCOMPARE(savePdf(path, panel.exportSource()), std::nullopt);
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray bytes = file.readAll();
        QVERIFY(bytes.startsWith("%PDF-"));
        QVERIFY(bytes.contains("/Font"));
        QVERIFY(!bytes.contains("/Subtype /Image"));
    }

    void csvIsQuotedWhereNeeded()
    {
        SnapshotTable table;
        table.columns = {QStringLiteral("a"), QStringLiteral("b")};
        table.rows = {{QStringLiteral("1"), QStringLiteral("x,\"y\"\n")},
                      {QString(), QStringLiteral(" z")}};
        QCOMPARE(csvText(table), QStringLiteral("a,b\r\n1,\"x,\"\"y\"\"\n\"\r\n,\" z\"\r\n"));
    }

    void failureKeepsTheOldFileAndNamesTheNewOne()
    {
        const QTemporaryDir folder;
        ExportSource source = square();
        const QString missing = folder.filePath(QStringLiteral("no/such/folder/x.csv"));
        for (const auto& error :
             {saveCsv(missing, source), savePng(missing, source), savePdf(missing, source)}) {
            QVERIFY(error.has_value());
            QVERIFY2(error->startsWith(QStringLiteral("x.csv was not written: ")),
                     qPrintable(*error));
        }
        source.size = QSizeF(1e6, 1e6);
        const QString path = folder.filePath(QStringLiteral("huge.png"));
        QFile old(path);
        QVERIFY(old.open(QIODevice::WriteOnly));
        old.write("old");
        old.close();
        QVERIFY(savePng(path, source)->contains(QStringLiteral("2000000 × 2000000 pixels")));
        QVERIFY(old.open(QIODevice::ReadOnly));
        QCOMPARE(old.readAll(), QByteArray("old"));
        QCOMPARE(QDir(folder.path()).entryList(QDir::Files).size(), 1);
    }

    void menuOffersWhatTheSourceHas()
    {
        QWidget parent;
        QMenu whole;
        addExportActions(whole, &parent, [] { return square(); }, {});
        QCOMPARE(whole.actions().size(), 3);
        QMenu pictureOnly;
        addExportActions(pictureOnly, &parent,
                         [] {
                             ExportSource source = square();
                             source.csv = {};
                             return source;
                         },
                         {});
        QCOMPARE(pictureOnly.actions().size(), 2);
    }

private:
    static ExportSource square()
    {
        ExportSource source;
        source.name = QStringLiteral("square");
        source.size = QSizeF(100, 50);
        source.paint = [](QPainter& painter, const QRectF& area, const Theme& theme) {
            painter.fillRect(QRectF(area.topLeft(), QSizeF(50, 40)), theme.global);
        };
        source.csv = [] { return QStringLiteral("a\r\n1\r\n"); };
        return source;
    }
};

QTEST_MAIN(TestExportMenu)
#include "tst_export_menu.moc"
