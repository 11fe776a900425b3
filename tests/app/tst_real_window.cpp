#include "app/live_panels.h"
#include "app/main_window.h"
#include "tests/support/golden_json.h"
#include "widgets/chat_panel.h"
#include "widgets/global_layers_panel.h"
#include "widgets/rings_panel.h"
#include "widgets/theme.h"

#include <QDockWidget>
#include <QScreen>
#include <QSettings>
#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;

// A real window of a real windowing system (xcb, under Xvfb): what is on the screen, not in a
// widget's buffer.
class TestRealWindow : public QObject
{
    Q_OBJECT

    QTemporaryDir m_home;

    static QImage screenOf(QWidget& window)
    {
        return window.screen()->grabWindow(window.winId()).toImage();
    }

    /// How many different colours a part of the screen shows: an unpainted one shows one or two.
    static int numColours(const QImage& image, const QRect& area)
    {
        QSet<QRgb> colours;
        for (int y = area.top(); y < area.bottom(); y += 2)
            for (int x = area.left(); x < area.right(); x += 2)
                colours.insert(image.pixel(x, y));
        return static_cast<int>(colours.size());
    }

private Q_SLOTS:
    void initTestCase()
    {
        QSettings::setDefaultFormat(QSettings::IniFormat);
        QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, m_home.path());
        QCoreApplication::setOrganizationName("kvscope-test");
        QCoreApplication::setApplicationName("kvscope-test");
    }

    void everyPanelIsOnTheScreenInBothThemes_data()
    {
        QTest::addColumn<bool>("isDark");
        QTest::newRow("light") << false;
        QTest::newRow("dark") << true;
    }
    void everyPanelIsOnTheScreenInBothThemes()
    {
        QFETCH(bool, isDark);
        applyTheme(*qApp, isDark ? ThemeChoice::Dark : ThemeChoice::Light);
        MainWindow window({});
        window.resize(1440, 900);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QSignalSpy opened(&window.engine(), &EngineBridge::modelOpened);
        window.openModel(QString::fromStdString(goldenPath("gptosslite/tiny_a")));
        QTRY_COMPARE(opened.count(), 1);
        QTest::qWait(300);
        const QImage screen = screenOf(window);
        QCOMPARE(screen.size(), window.size());
        for (const char* name : {"chat", "rings", "globalLayers", "memory", "loss", "token"}) {
            const auto* dock = window.findChild<QDockWidget*>(name);
            QVERIFY(dock->isVisible());
            const QRect area(dock->mapTo(&window, QPoint(0, 0)), dock->size());
            QVERIFY2(numColours(screen, area) > 4, name);
            QVERIFY2(window.rect().contains(area), name);
        }
        const QColor corner = screen.pixelColor(2, screen.height() - 3);
        QCOMPARE(corner.lightness() < 128, isDark);
    }

    void everySizeOfWindowClipsNothing_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("laptop") << QSize(1280, 800);
        QTest::newRow("large") << QSize(1440, 900);
    }
    void everySizeOfWindowClipsNothing()
    {
        QFETCH(QSize, size);
        QSettings().clear();
        MainWindow window({});
        window.resize(size);
        window.show();
        QVERIFY(QTest::qWaitForWindowExposed(&window));
        QTest::qWait(100);
        QCOMPARE(window.size(), size); // the panels' minimum sizes fit
        for (const QDockWidget* dock : window.findChildren<QDockWidget*>())
            if (dock->isVisible() && !dock->visibleRegion().isEmpty())
                QVERIFY2(dock->width() >= dock->minimumSizeHint().width() &&
                             dock->height() >= dock->minimumSizeHint().height(),
                         qPrintable(dock->objectName()));
    }
};

QTEST_MAIN(TestRealWindow)
#include "tst_real_window.moc"
