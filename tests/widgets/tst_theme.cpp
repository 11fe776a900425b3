#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QFontInfo>
#include <QFontMetricsF>
#include <QWidget>
#include <QtTest>

using namespace kvscope;

namespace {

class PaletteWatcher : public QWidget
{
public:
    int changes = 0;

protected:
    void changeEvent(QEvent* event) override
    {
        changes += event->type() == QEvent::PaletteChange ? 1 : 0;
        QWidget::changeEvent(event);
    }
};

} // namespace

class TestTheme : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void textIsReadable_data() { themes(); }
    void textIsReadable()
    {
        QFETCH(bool, isDark);
        const Theme& theme = isDark ? Theme::dark() : Theme::light();
        for (const QColor& text : {theme.ink, theme.ink2, theme.ink3, theme.good, theme.caution,
                                   theme.bad, theme.selection, theme.windowed, theme.global})
            QVERIFY2(contrastRatio(text, theme.panel) >= 4.5, qPrintable(text.name()));
    }

    void marksStandOut_data() { themes(); }
    void marksStandOut()
    {
        QFETCH(bool, isDark);
        const Theme& theme = isDark ? Theme::dark() : Theme::light();
        for (const QColor& mark : {theme.evicted, theme.highlight, theme.growthCopy})
            QVERIFY2(contrastRatio(mark, theme.panel) >= 3.0, qPrintable(mark.name()));
    }

    void contrastIsThatOfWcag()
    {
        QCOMPARE(contrastRatio(Qt::white, Qt::black), 21.0);
        QCOMPARE(contrastRatio(Qt::black, Qt::white), 21.0);
        QVERIFY(std::abs(contrastRatio(QColor(0x777777), Qt::white) - 4.48) < 0.01);
    }

    void rampsEndAtTheirStopsAndClamp()
    {
        const Theme& theme = Theme::light();
        QCOMPARE(theme.ageColor(0.0), theme.age.front());
        QCOMPARE(theme.ageColor(1.0), theme.age.back());
        QCOMPARE(theme.ageColor(0.2), theme.age[1]);
        QCOMPARE(theme.ageColor(-3.0), theme.age.front());
        QCOMPARE(theme.ageColor(9.0), theme.age.back());
        QCOMPARE(theme.accuracyColor(0.5), theme.accuracy[2]);
    }

    // Newest is strongest against the panel, in both themes.
    void ageFadesSteadily_data() { themes(); }
    void ageFadesSteadily()
    {
        QFETCH(bool, isDark);
        const Theme& theme = isDark ? Theme::dark() : Theme::light();
        double last = 100.0;
        for (int step = 0; step <= 20; ++step) {
            const double contrast = contrastRatio(theme.ageColor(step / 20.0), theme.panel);
            QVERIFY(contrast <= last);
            last = contrast;
        }
    }

    void textOnAFillContrasts()
    {
        QCOMPARE(Theme::light().textOn(Theme::light().age.front()), QColor(Qt::white));
        QCOMPARE(Theme::light().textOn(Theme::light().age.back()), Theme::light().ink);
    }

    void applyingSwitchesTheCurrentThemeAndTellsWidgets()
    {
        PaletteWatcher watcher;
        applyTheme(*qApp, ThemeChoice::Light);
        QVERIFY(!Theme::current().isDark);
        QCoreApplication::processEvents();
        watcher.changes = 0;
        applyTheme(*qApp, ThemeChoice::Dark);
        QCoreApplication::processEvents();
        QVERIFY(Theme::current().isDark);
        QCOMPARE(watcher.palette().color(QPalette::Window), Theme::dark().window);
        QVERIFY(watcher.changes > 0);
    }

    void systemChoiceFollowsTheDesktopAfterAnOverride()
    {
        applyTheme(*qApp, ThemeChoice::System);
        const bool desktopIsDark = Theme::current().isDark;
        applyTheme(*qApp, desktopIsDark ? ThemeChoice::Light : ThemeChoice::Dark);
        QCOMPARE(Theme::current().isDark, !desktopIsDark);
        applyTheme(*qApp, ThemeChoice::System);
        QCOMPARE(Theme::current().isDark, desktopIsDark);
    }

    void styleSheetNamesNoUnknownToken()
    {
        for (const ThemeChoice choice : {ThemeChoice::Light, ThemeChoice::Dark}) {
            applyTheme(*qApp, choice);
            QVERIFY(!qApp->styleSheet().isEmpty());
            QVERIFY(!qApp->styleSheet().contains(u'@'));
        }
    }

    void digitsAreTabular()
    {
        const QFontMetricsF metrics(digitFont());
        for (const QChar digit : QStringLiteral("123456789"))
            QCOMPARE(metrics.horizontalAdvance(digit), metrics.horizontalAdvance(u'0'));
    }

    void nothingIsSmallerThanTenPixels()
    {
        for (const TextSize size : {TextSize::Axis, TextSize::Secondary, TextSize::Body,
                                    TextSize::Heading, TextSize::Headline}) {
            QVERIFY(uiFont(size).pixelSize() >= 10);
            QVERIFY(digitFont(size).pixelSize() >= 10);
        }
    }

private:
    static void themes()
    {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
};

QTEST_MAIN(TestTheme)
#include "tst_theme.moc"
