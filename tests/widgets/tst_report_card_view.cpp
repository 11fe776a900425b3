#include "tests/support/fake_card.h"
#include "widgets/report_card_painter.h"
#include "widgets/report_card_plots.h"
#include "widgets/report_card_view.h"
#include "widgets/theme.h"

#include <QContextMenuEvent>
#include <QImage>
#include <QMenu>
#include <QPainter>
#include <QTemporaryDir>
#include <QTimer>
#include <QtTest>

using namespace kvscope;

class TestReportCardView : public QObject
{
    Q_OBJECT

    static std::shared_ptr<const ReportCard> fakeCard()
    {
        return std::make_shared<const ReportCard>(reportCard(fakeEvidence()));
    }

    static QImage drawn(const ReportCard& card)
    {
        QImage image(static_cast<int>(kCardWidth), static_cast<int>(kCardHeight),
                     QImage::Format_RGB32);
        image.fill(Qt::magenta);
        QPainter painter(&image);
        paintReportCard(painter, image.rect(), card);
        return image;
    }

    static bool isBlank(const QImage& image, const QRect& area)
    {
        const QRgb paper = Theme::light().panel.rgb();
        for (int y = area.top(); y <= area.bottom(); ++y)
            for (int x = area.left(); x <= area.right(); ++x)
                if (image.pixel(x, y) != paper)
                    return false;
        return true;
    }

    /// Whether the context menu has it; looked at as it opens, then closed.
    static bool htmlIsOffered(ReportCardPage& page)
    {
        bool isThere = false;
        QTimer::singleShot(0, &page, [&isThere] {
            auto* menu = qobject_cast<QMenu*>(QApplication::activePopupWidget());
            if (menu == nullptr)
                return;
            for (const QAction* action : menu->actions())
                isThere = isThere || action->text().startsWith("Export HTML");
            menu->close();
        });
        QContextMenuEvent event(QContextMenuEvent::Mouse, QPoint(5, 5), QPoint(5, 5));
        QCoreApplication::sendEvent(&page, &event);
        return isThere;
    }

private Q_SLOTS:
    void everythingStaysInsideTheMargins()
    {
        const QImage image = drawn(*fakeCard());
        const int width = image.width();
        const int height = image.height();
        QVERIFY(isBlank(image, QRect(0, 0, 40, height)));
        QVERIFY(isBlank(image, QRect(width - 40, 0, 40, height)));
        QVERIFY(isBlank(image, QRect(0, 0, width, 30)));
        QVERIFY(isBlank(image, QRect(0, height - 24, width, 24)));
        QVERIFY(!isBlank(image, QRect(60, 1300, 900, 150))); // the fifth claim is there
    }

    void aCardOfExtremesIsDrawn()
    {
        ReportCard card = *fakeCard();
        card.model = std::string(500, 'W');
        card.summary = std::string(1500, 'x');
        for (CardResult& result : card.claims) {
            result.headline = std::string(300, 'M');
            result.notes.assign(40, {"Note", std::string(400, 'n') + " words"});
            for (CardPlot& plot : result.plots)
                for (CardSeries& series : plot.series)
                    for (CardPoint& point : series.points)
                        point.y = point.low = point.high = 1e200;
        }
        const QImage image = drawn(card);
        if (qEnvironmentVariableIsSet("KVSCOPE_SHOW_CARD"))
            image.save(qEnvironmentVariable("KVSCOPE_SHOW_CARD"));
        QVERIFY(isBlank(image, QRect(image.width() - 40, 0, 40, image.height())));
        QVERIFY(isBlank(image, QRect(0, 1530, image.width(), 20)));
        CardEvidence nothing;
        QVERIFY(!isBlank(drawn(reportCard(nothing)), QRect(60, 300, 900, 200)));
    }

    void theCardIsOnePdfPage()
    {
        const QTemporaryDir folder;
        const QString path = folder.filePath("card.pdf");
        QVERIFY(!savePdf(path, cardExportSource(fakeCard())));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        const QByteArray bytes = file.readAll();
        QVERIFY(bytes.startsWith("%PDF-"));
        QVERIFY(bytes.contains("/Count 1"));
        QCOMPARE(bytes.count("/Type /Page\n"), 1);
    }

    void plotsBecomeSvgElements()
    {
        const auto card = fakeCard();
        for (const CardResult& result : card->claims)
            for (const CardPlot& plot : result.plots) {
                const QByteArray svg = cardPlotSvg(plot);
                QVERIFY(svg.startsWith("<svg"));
                QVERIFY(svg.trimmed().endsWith("</svg>"));
            }
    }

    void theViewFollowsItsWidthAndSaysWhatItShows()
    {
        ReportCardView view;
        view.resize(700, 500);
        view.show();
        QVERIFY(view.page()->description().contains("five claims"));
        view.setCard(fakeCard());
        QVERIFY(view.page()->height() > view.page()->width()); // portrait
        QVERIFY(view.page()->accessibleDescription().contains("8,192"));
        QCOMPARE(view.page()->exportTable().rows.size(), 5);
        QCOMPARE(view.page()->exportTable().rows[4][1], QString("In part"));
        QCOMPARE(view.page()->exportSource().name, QString("report-card"));
        QVERIFY(view.grab().toImage().pixel(5, 5) == Theme::light().panel.rgb());
        view.clear();
        QVERIFY(view.page()->exportTable().rows.isEmpty());
        view.grab();
    }

    void theMenuKeepsTheCardInEveryFormat()
    {
        ReportCardPage page;
        page.setSpellers([](const ReportCard& card) { return QByteArray(card.model.c_str()); },
                         [](const ReportCard&) { return QByteArray("{}"); });
        QVERIFY(!page.exportSource().paint && !page.exportSource().csv); // nothing to keep yet
        page.setCard(fakeCard());
        const ExportSource source = page.exportSource();
        QVERIFY(source.paint && source.hasSvg && source.csv);
        QCOMPARE(source.json(), QByteArray("{}"));
        const QTemporaryDir folder;
        const QString path = folder.filePath("card.html");
        QVERIFY(!page.saveHtml(path));
        QFile file(path);
        QVERIFY(file.open(QIODevice::ReadOnly));
        QCOMPARE(file.readAll(), QByteArray(fakeCard()->model.c_str()));
        QVERIFY(page.saveHtml("/nonexistent/card.html")->contains("card.html"));
        QVERIFY(htmlIsOffered(page));
    }

    void ticksAreRoundAndCoverTheRange_data()
    {
        QTest::addColumn<double>("low");
        QTest::addColumn<double>("high");
        QTest::newRow("loss") << 0.0 << 3.4;
        QTest::newRow("gain with negatives") << -0.05 << 0.4;
        QTest::newRow("tokens") << 0.0 << 8192.0;
        QTest::newRow("tiny") << 0.0 << 3e-7;
        QTest::newRow("huge") << 0.0 << 1e200;
        QTest::newRow("nothing") << 0.0 << 0.0;
    }
    void ticksAreRoundAndCoverTheRange()
    {
        QFETCH(double, low);
        QFETCH(double, high);
        const auto ticks = roundTicks(low, high, 4);
        QVERIFY(ticks.size() >= 2 && ticks.size() <= 12);
        QVERIFY(ticks.front() <= low && ticks.back() >= high * (1 - 1e-9));
    }
};

QTEST_MAIN(TestReportCardView)
#include "tst_report_card_view.moc"
