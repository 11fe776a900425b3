#include "app/render.h"
#include "engine/lab/report_card_json.h"
#include "tests/support/fake_card.h"

#include <QImage>
#include <QTemporaryDir>
#include <QtTest>

#include <fstream>
#include <sstream>

using namespace kvscope;

class TestRender : public QObject
{
    Q_OBJECT

    QTemporaryDir m_folder;

    QString written(const std::string& text) const
    {
        const QString path = m_folder.filePath("value.json");
        std::ofstream(path.toStdString(), std::ios::binary) << text;
        return path;
    }

    QByteArray rendered(const QString& ending) const
    {
        const QString picture = m_folder.filePath("card." + ending);
        std::ostringstream err;
        const QString json = written(cardJson(reportCard(fakeEvidence())).dump());
        if (renderFile(json, {picture}, err) != 0)
            return QByteArray::fromStdString(err.str());
        QFile file(picture);
        return file.open(QIODevice::ReadOnly) ? file.readAll() : QByteArray();
    }

private Q_SLOTS:
    void aCardBecomesEveryKindOfPicture()
    {
        QVERIFY(rendered("pdf").startsWith("%PDF-"));
        QVERIFY(rendered("pdf").contains("/Count 1"));
        const QImage image = QImage::fromData(rendered("png"));
        QCOMPARE(image.size(), QSize(1654, 2339)); // A4 at 200 dots an inch
        QVERIFY(rendered("svg").contains("<svg"));
        const QByteArray html = rendered("html");
        QVERIFY(html.startsWith("<!DOCTYPE html>"));
        QCOMPARE(html.count("<svg"), 8); // 1, 1, 1, 2 and 3 plots
        QVERIFY(!html.contains("<?xml"));
    }

    void whatCannotBeDrawnIsOneLine_data()
    {
        QTest::addColumn<QByteArray>("json");
        QTest::addColumn<QString>("ending");
        QTest::newRow("no JSON") << QByteArray("hello") << "pdf";
        QTest::newRow("an unknown kind") << QByteArray(R"({"line":"x","schema":"y"})") << "pdf";
        QTest::newRow("no kind") << QByteArray("{}") << "png";
        QTest::newRow("a card that is no card")
            << QByteArray(R"({"schema":"kvscope-card"})") << "png";
        QTest::newRow("an unknown ending")
            << QByteArray::fromStdString(cardJson(reportCard(fakeEvidence())).dump()) << "docx";
    }
    void whatCannotBeDrawnIsOneLine()
    {
        QFETCH(QByteArray, json);
        QFETCH(QString, ending);
        std::ostringstream err;
        const QString picture = m_folder.filePath("none." + ending);
        QCOMPARE(renderFile(written(json.toStdString()), {picture}, err), 1);
        QVERIFY(err.str().starts_with("error: "));
        QCOMPARE(QByteArray::fromStdString(err.str()).count('\n'), 1);
        QVERIFY(!QFile::exists(picture));
    }

    void itTakesExactlyOnePicture()
    {
        std::ostringstream err;
        QCOMPARE(renderFile("x.json", {}, err), 2);
        QCOMPARE(renderFile("x.json", {"a.png", "b.png"}, err), 2);
    }
};

QTEST_MAIN(TestRender)
#include "tst_render.moc"
