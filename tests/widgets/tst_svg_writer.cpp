#include "widgets/svg_writer.h"

#include <QPainter>
#include <QPainterPath>
#include <QPicture>
#include <QSvgRenderer>
#include <QXmlStreamReader>
#include <QtTest>

#include <functional>

using namespace kvscope;

namespace {

using Drawing = std::function<void(QPainter&)>;

QByteArray written(const Drawing& draw)
{
    SvgWriter writer(QSizeF(100, 60), QStringLiteral("a title"), QStringLiteral("made <here>"));
    {
        QPainter painter(&writer);
        draw(painter);
    }
    return writer.svg();
}

QString problemOf(const QByteArray& svg)
{
    QXmlStreamReader reader(svg);
    while (!reader.atEnd())
        reader.readNext();
    return reader.hasError() ? reader.errorString() : QString();
}

/// What a program that shows SVG draws.
QImage shown(const QByteArray& svg)
{
    QImage image(100, 60, QImage::Format_RGB32);
    image.fill(Qt::white);
    QPainter painter(&image);
    QSvgRenderer(svg).render(&painter);
    return image;
}

} // namespace

class TestSvgWriter : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void shapesStayWhereTheyAreDrawn()
    {
        const QByteArray svg = written([](QPainter& painter) {
            painter.fillRect(QRectF(10, 10, 20, 20), QColor("#1f6bae"));
            painter.translate(50, 0);
            painter.scale(2, 1);
            painter.fillRect(QRectF(0, 40, 10, 10), QColor("#b65410"));
        });
        QCOMPARE(problemOf(svg), QString());
        QVERIFY(svg.contains("fill=\"#1f6bae\""));
        QVERIFY(!svg.contains("clip"));
        const QImage image = shown(svg);
        QCOMPARE(image.pixelColor(20, 20), QColor("#1f6bae"));
        QCOMPARE(image.pixelColor(65, 45), QColor("#b65410"));
        QCOMPARE(image.pixelColor(75, 45), QColor(Qt::white));
        QCOMPARE(image.pixelColor(5, 5), QColor(Qt::white));
    }

    // Qt's own writer leaves clips out, so that plots run over their axes.
    void clipsAreKeptAndEnd()
    {
        const QByteArray svg = written([](QPainter& painter) {
            painter.save();
            painter.translate(10, 10);
            painter.setClipRect(QRectF(0, 0, 20, 20));
            painter.fillRect(QRectF(-50, 5, 200, 2), Qt::black);
            painter.restore();
            painter.fillRect(QRectF(60, 0, 10, 10), Qt::red);
        });
        QCOMPARE(problemOf(svg), QString());
        QCOMPARE(svg.count("<clipPath"), 1);
        QCOMPARE(svg.count("clip-path="), 1);
        QVERIFY(svg.indexOf("</g>") < svg.indexOf("#ff0000")); // the second shape is not clipped
        QVERIFY(svg.contains("M10 10L30 10L30 30L10 30"));     // where the painter had moved to
    }

    void aClipWithinAClipIsTheirCut()
    {
        const QByteArray svg = written([](QPainter& painter) {
            painter.setClipRect(QRectF(0, 0, 40, 40));
            painter.setClipRect(QRectF(20, 20, 40, 40), Qt::IntersectClip);
            painter.fillRect(QRectF(0, 0, 100, 60), Qt::black);
        });
        QVERIFY2(svg.contains("M20 20L40 20L40 40L20 40"), svg.constData());
    }

    void textIsText()
    {
        const QByteArray svg = written([](QPainter& painter) {
            QFont font = painter.font();
            font.setPixelSize(11);
            font.setBold(true);
            painter.setFont(font);
            painter.setPen(QColor("#46505a"));
            painter.drawText(QPointF(5, 20), QStringLiteral("a < b & \u201cc\u201d"));
        });
        QCOMPARE(problemOf(svg), QString());
        QVERIFY2(svg.contains("a &lt; b &amp;"), svg.constData());
        QVERIFY(svg.contains("font-size=\"11\"") && svg.contains("font-weight=\"700\""));
        QVERIFY(svg.contains("fill=\"#46505a\""));
        QVERIFY(svg.contains("<title>a title</title>") && svg.contains("made &lt;here&gt;"));
    }

    void hostileTextIsStillXml()
    {
        const QByteArray svg = written([](QPainter& painter) {
            painter.drawText(QPointF(5, 20), QStringLiteral("</text>\"'\x01\x1b<script>"));
        });
        QCOMPARE(problemOf(svg), QString());
        QVERIFY(!svg.contains("<script>"));
    }

    void linesKeepDashAndOpacity()
    {
        const QByteArray svg = written([](QPainter& painter) {
            painter.setPen(QPen(QColor(0, 0, 0, 51), 2, Qt::DashLine));
            painter.drawLine(QPointF(0, 30), QPointF(100, 30));
        });
        QVERIFY2(svg.contains("stroke-dasharray=\"8,4\""), svg.constData());
        QVERIFY(svg.contains("stroke-opacity=\"0.2"));
        QVERIFY(svg.contains("stroke-width=\"2\""));
    }

    // QCustomPlot draws through a picture.
    void aPicturePlaysBack()
    {
        QPicture picture;
        {
            QPainter strokes(&picture);
            strokes.setClipRect(QRect(0, 0, 10, 10));
            strokes.fillRect(QRect(0, 0, 50, 50), QColor("#147a5c"));
        }
        const QByteArray svg = written([&](QPainter& painter) {
            painter.translate(20, 20);
            painter.drawPicture(0, 0, picture);
        });
        QCOMPARE(problemOf(svg), QString());
        QVERIFY(svg.contains("#147a5c") && svg.contains("clip-path"));
        QVERIFY(!svg.contains("<image"));
    }
};

QTEST_MAIN(TestSvgWriter)
#include "tst_svg_writer.moc"
