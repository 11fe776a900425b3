#include "tests/support/fake_sweep.h"
#include "widgets/sweep_cells.h"
#include "widgets/sweep_export.h"
#include "widgets/sweep_map_panel.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QFile>
#include <QImage>
#include <QJsonArray>
#include <QJsonDocument>
#include <QJsonObject>
#include <QTemporaryDir>
#include <QXmlStreamReader>
#include <QtTest>

using namespace kvscope;

class TestSweepMapExport : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase()
    {
        applyTheme(*qApp, ThemeChoice::Dark); // exports are light all the same
        m_report = fakeSweep();
    }

    void csvHasARowACell()
    {
        const SnapshotTable table = sweepTable(m_report);
        QCOMPARE(table.rows.size(), 6 * 5 + 6 + 1);
        for (const QStringList& row : table.rows)
            QCOMPARE(row.size(), table.columns.size());
        const SweepCell& cell = m_report.columns[2].cells[2];
        const QStringList row = table.rows[2 * 6 + 2];
        QCOMPARE(row.mid(0, 6), QStringList({"asked", "4096", "50",
                                             QString::number(cell.score.correct), "12", "12"}));
        QVERIFY(std::abs(row[6].toDouble() - cell.interval.low) < 1e-9);
        QVERIFY(std::abs(row[7].toDouble() - cell.interval.high) < 1e-9);
        QCOMPARE(row[8], QStringLiteral("below"));
    }

    void csvHasControlsOracleAndWhyLengthsWereSkipped()
    {
        const SnapshotTable table = sweepTable(m_report);
        const QStringList skipped = table.rows[5];
        QCOMPARE(skipped[1], QStringLiteral("131072"));
        QCOMPARE(skipped[9], QStringLiteral("cannot_fit"));
        QCOMPARE(skipped.last(), QStringLiteral("needs 3.35 GiB, 3.10 GiB are free"));
        QCOMPARE(table.rows[30].first(), QStringLiteral("control"));
        QCOMPARE(table.rows[36].first(), QStringLiteral("oracle"));
        QCOMPARE(table.rows[36][3], QStringLiteral("11"));
    }

    void csvBeginsWithTheConditions()
    {
        const QString text = sweepCsv(m_report, QStringLiteral("demo · CPU · seed 42"));
        QVERIFY(text.startsWith(QStringLiteral("# Needle (measured)\r\n")));
        QVERIFY(text.contains(QStringLiteral("# recipe: demo · CPU · seed 42\r\n")));
        QVERIFY(text.contains(QStringLiteral("greedy, 12 tokens")));
        QVERIFY(!text.contains(QStringLiteral("the answer is in the prompt")));
        SweepReport leaking = m_report;
        leaking.isLeaking = true;
        QVERIFY(sweepCsv(leaking, {}).contains(QStringLiteral("the answer is in the prompt")));
    }

    void jsonHoldsEverything()
    {
        const QJsonObject json =
            QJsonDocument::fromJson(sweepJson(m_report, QStringLiteral("demo"))).object();
        QCOMPARE(json["experiment"].toString(), QStringLiteral("needle"));
        QCOMPARE(json["recipe"].toString(), QStringLiteral("demo"));
        QCOMPARE(json["lengths"].toArray().size(), 6);
        const QJsonObject column = json["lengths"].toArray()[2].toObject();
        QCOMPARE(column["tokens"].toInt(), 4096);
        const QJsonObject cell = column["cells"].toArray()[2].toObject();
        QCOMPARE(cell["depth_percent"].toDouble(), 50.0);
        QCOMPARE(cell["correct"].toInt(), m_report.columns[2].cells[2].score.correct);
        QCOMPARE(cell["wilson_high"].toDouble(), m_report.columns[2].cells[2].interval.high);
        QCOMPARE(json["lengths"].toArray()[5].toObject()["skipped"].toString(),
                 QStringLiteral("needs 3.35 GiB, 3.10 GiB are free"));
        QCOMPARE(json["oracle"].toObject()["correct"].toInt(), 11);
        QCOMPARE(json["trials"].toArray().size(), static_cast<int>(m_report.trials.size()));
        const QJsonObject trial = json["trials"].toArray()[0].toObject();
        QCOMPARE(trial["answer_tokens"].toArray().size(), 2);
        QCOMPARE(json["ends_against_middle"].toObject()["p"].toDouble(), 2.5e-13);
        QCOMPARE(json["effective_length"].toObject()["absolute"].toObject()["threshold"].toDouble(),
                 0.856);
    }

    void trialsTableHasEveryTrial()
    {
        const SnapshotTable table = sweepTrialsTable(m_report);
        QCOMPARE(table.rows.size(), static_cast<qsizetype>(m_report.trials.size()));
        for (const QStringList& row : table.rows)
            QCOMPARE(row.size(), table.columns.size());
    }

    void pictureIsLightWhole()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("map.png"));
        QCOMPARE(renderSweepMap(m_report, path, QStringLiteral("demo, CPU")), std::nullopt);
        const QImage image(path);
        QVERIFY(image.width() >= 2 * 800);
        QCOMPARE(image.pixelColor(3, 3), Theme::light().panel);
    }

    // One rectangle a cell, in its colour, and text as text.
    void svgHasAShapeACellAndWords()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("map.svg"));
        QCOMPARE(renderSweepMap(m_report, path, QStringLiteral("demo, CPU")), std::nullopt);
        const QByteArray bytes = read(path);
        QVERIFY(!bytes.contains("<image"));
        QStringList words;
        QXmlStreamReader reader(bytes);
        while (!reader.atEnd())
            if (reader.readNext() == QXmlStreamReader::Characters)
                words.append(reader.text().toString().trimmed());
        QCOMPARE(reader.error(), QXmlStreamReader::NoError);
        const SweepCell& cell = m_report.columns[2].cells[2];
        for (const QString& word : {scoreText(cell.score), intervalText(cell.interval),
                                    QStringLiteral("4,096"), QStringLiteral("demo, CPU")})
            QVERIFY2(words.contains(word), qPrintable(word));
        const QByteArray fill = Theme::light().accuracyColor(cell.score.rate()).name().toLatin1();
        QVERIFY(bytes.contains("fill=\"" + fill + '"'));
    }

    void pdfHoldsVectorsAndText()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("map.pdf"));
        QCOMPARE(renderSweepMap(m_report, path), std::nullopt);
        const QByteArray bytes = read(path);
        QVERIFY(bytes.startsWith("%PDF-"));
        QVERIFY(bytes.contains("/FontFile2"));
        QVERIFY(!bytes.contains("/Subtype /Image"));
    }

    void numbersAreWrittenByEnding()
    {
        const QTemporaryDir folder;
        const QString csv = folder.filePath(QStringLiteral("map.CSV"));
        QCOMPARE(renderSweepMap(m_report, csv), std::nullopt);
        QVERIFY(read(csv).startsWith("# Needle"));
        const QString json = folder.filePath(QStringLiteral("map.json"));
        QCOMPARE(renderSweepMap(m_report, json), std::nullopt);
        QVERIFY(!QJsonDocument::fromJson(read(json)).isNull());
    }

    void otherEndingsAndFoldersAreSentences()
    {
        const auto ending = renderSweepMap(m_report, QStringLiteral("map.gif"));
        QVERIFY(ending && ending->contains(QStringLiteral("\".gif\"")));
        for (const char* name : {"png", "svg", "pdf", "csv", "json"}) {
            const auto error =
                renderSweepMap(m_report, QStringLiteral("/nowhere/at/all/map.") + name);
            QVERIFY2(error && error->contains(QStringLiteral("was not written")), name);
        }
    }

    void largestMapIsWhole()
    {
        FakeSweepShape shape;
        shape.lengths.clear();
        shape.depths.clear();
        for (int i = 0; i < 20; ++i)
            shape.lengths.push_back(512 * (i + 1));
        for (int i = 0; i < 21; ++i)
            shape.depths.push_back(5.0 * i);
        const SweepReport report = fakeSweep(shape);
        const QSizeF size = sweepPictureSize(report);
        QVERIFY(size.width() > 20 * 60);
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("map.svg"));
        QCOMPARE(renderSweepMap(report, path), std::nullopt);
        QVERIFY(read(path).trimmed().endsWith("</svg>"));
    }

    void panelExportsWhatItShows()
    {
        SweepMapPanel panel;
        panel.resize(480, 360); // smaller than the picture
        panel.setExportCaption(QStringLiteral("the recipe"));
        panel.setReport(std::make_shared<const SweepReport>(m_report));
        const ExportSource source = panel.exportSource();
        QCOMPARE(source.name, QStringLiteral("needle"));
        QCOMPARE(source.caption, QStringLiteral("the recipe"));
        QCOMPARE(source.size, sweepPictureSize(m_report));
        QVERIFY(source.hasSvg);
        QVERIFY(source.csv().contains(QStringLiteral("# recipe: the recipe")));
        QVERIFY(source.json().contains("the recipe"));
    }

private:
    static QByteArray read(const QString& path)
    {
        QFile file(path);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

    SweepReport m_report;
};

QTEST_MAIN(TestSweepMapExport)
#include "tst_sweep_map_export.moc"
