#include "tests/widgets/chat_fixture.h"
#include "widgets/context_gauge.h"
#include "widgets/theme.h"

#include <QImage>
#include <QPainter>
#include <QtTest>

using namespace kvscope;

class TestContextGauge : public QObject
{
    Q_OBJECT

    static QImage drawn(const ContextGauge& gauge)
    {
        QImage image(gauge.size(), QImage::Format_RGB32);
        QPainter painter(&image);
        gauge.paintTo(painter, image.rect(), Theme::light());
        return image;
    }
    static int pixels(const QImage& image, const QColor& color)
    {
        int count = 0;
        for (int y = 0; y < image.height(); ++y)
            for (int x = 0; x < image.width(); ++x)
                count += image.pixel(x, y) == color.rgb() ? 1 : 0;
        return count;
    }

private Q_SLOTS:
    void positionsBecomePixels()
    {
        QCOMPARE(gaugeX(0, 100, 50.0), 0.0);
        QCOMPARE(gaugeX(50, 100, 50.0), 25.0);
        QCOMPARE(gaugeX(1000, 100, 50.0), 50.0);
        QCOMPARE(gaugeX(5, 0, 50.0), 0.0);
    }

    void textsCountExactly()
    {
        ContextGauge gauge;
        QCOMPARE(gauge.leftText(), QStringLiteral("no model"));
        gauge.setState({1943, 8192, 8192});
        QCOMPARE(gauge.usedText(), QStringLiteral("1,943 of 8,192"));
        QCOMPARE(gauge.leftText(), QStringLiteral("24 % used, 6,249 left"));
        QCOMPARE(gauge.limitText(), QStringLiteral("trained 8,192"));
        gauge.setState({1, 8192, 8192});
        QCOMPARE(gauge.leftText(), QStringLiteral("1 % used, 8,191 left"));
        gauge.setState({8191, 8192, 8192});
        QCOMPARE(gauge.leftText(), QStringLiteral("99 % used, 1 left"));
        gauge.setState({8192, 8192, 8192});
        QCOMPARE(gauge.leftText(), QStringLiteral("100 % used, 0 left"));
        ContextGaugeState extended{10, 4096, 1024};
        extended.extended = 4096;
        gauge.setState(extended);
        QCOMPARE(gauge.limitText(), QStringLiteral("extended × 4 to 4,096"));
        gauge.setState({10, 4096, 1024}); // a person's choice extends nothing
        QCOMPARE(gauge.limitText(), QStringLiteral("limit 4,096, trained 1,024"));
    }

    void pastTheTrainedLengthIsACaution()
    {
        ContextGauge gauge;
        gauge.resize(320, gauge.sizeHint().height());
        gauge.setState({1000, 4096, 1024});
        QVERIFY(!gauge.state().isPastTrained());
        QCOMPARE(pixels(drawn(gauge), Theme::light().caution), 0);
        gauge.setState({1025, 4096, 1024});
        QVERIFY(gauge.state().isPastTrained());
    }

    void thePrefillIsHatchedAndThenSolid()
    {
        ContextGauge gauge;
        gauge.resize(320, gauge.sizeHint().height());
        gauge.setState({800, 1000, 1000, -1, 200, 900});
        const int reading = pixels(drawn(gauge), Theme::light().global);
        gauge.setState({800, 1000, 1000});
        const int read = pixels(drawn(gauge), Theme::light().global);
        QVERIFY(2 * read > 3 * reading);
        QVERIFY(reading > 0);
    }

    void theWindowsExtentIsOrange()
    {
        ContextGauge gauge;
        gauge.resize(320, gauge.sizeHint().height());
        gauge.setState(ContextGaugeState::of(*fake::snapshot(500, 250), 1000, 1000));
        const QImage image = drawn(gauge);
        const int orange = pixels(image, Theme::light().windowed);
        const int blue = pixels(image, Theme::light().global);
        QVERIFY(std::abs(orange - blue) < 40); // half and half, but for the frame
        gauge.setState(ContextGaugeState::of(*fake::snapshot(500, 1), 100000, 0));
        QVERIFY(pixels(drawn(gauge), Theme::light().windowed) > 0); // never too thin to see
    }

    void itsNumbersCanBeExported()
    {
        ContextGauge gauge;
        gauge.setState({1943, 8192, 8192});
        QCOMPARE(gauge.exportTable().rows[0],
                 (QStringList{QStringLiteral("used"), QStringLiteral("1943")}));
    }
};

QTEST_MAIN(TestContextGauge)
#include "tst_context_gauge.moc"
