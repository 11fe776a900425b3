#include "widgets/composer.h"
#include "widgets/composer_chip.h"
#include "widgets/composer_edit.h"

#include <QApplication>
#include <QClipboard>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

using namespace kvscope;

class TestComposer : public QObject
{
    Q_OBJECT

    static ComposerEdit& editOf(Composer& composer) { return *composer.findChild<ComposerEdit*>(); }
    static QPushButton& sendOf(Composer& composer)
    {
        return *composer.findChildren<QPushButton*>().front();
    }

private Q_SLOTS:
    void shiftEnterBreaksTheLine()
    {
        Composer composer;
        composer.show();
        QSignalSpy sent(&composer, &Composer::submitted);
        QTest::keyClicks(&editOf(composer), QStringLiteral("a"));
        QTest::keyClick(&editOf(composer), Qt::Key_Return, Qt::ShiftModifier);
        QTest::keyClicks(&editOf(composer), QStringLiteral("b"));
        QCOMPARE(composer.text(), QStringLiteral("a\nb"));
        QCOMPARE(sent.size(), 0);
        QTest::keyClick(&editOf(composer), Qt::Key_Enter);
        QCOMPARE(sent.size(), 1);
    }

    void blankTextIsNotSent()
    {
        Composer composer;
        QSignalSpy sent(&composer, &Composer::submitted);
        QTest::keyClicks(&editOf(composer), QStringLiteral("  "));
        QTest::keyClick(&editOf(composer), Qt::Key_Return);
        QCOMPARE(sent.size(), 0);
        QVERIFY(!sendOf(composer).isEnabled());
    }

    void theFieldGrowsToSixLines()
    {
        Composer composer;
        composer.resize(340, 200);
        composer.show();
        const int two = editOf(composer).height();
        composer.putBack(QStringLiteral("1\n2\n3\n4"), {});
        const int four = editOf(composer).height();
        QVERIFY(four > two);
        composer.putBack(QString(100, u'\n'), {});
        const int most = editOf(composer).height();
        QCOMPARE(most - two, 2 * (four - two));
        composer.clear();
        QCOMPARE(editOf(composer).height(), two);
    }

    void wrappedLinesCountToo()
    {
        Composer composer;
        composer.resize(300, 200);
        composer.show();
        const int two = editOf(composer).height();
        composer.putBack(QStringLiteral("word ").repeated(60), {});
        QVERIFY(editOf(composer).height() > two);
    }

    void sendAndStopAreOneButtonInOnePlace()
    {
        Composer composer;
        composer.resize(340, 140);
        composer.show();
        composer.putBack(QStringLiteral("Hi"), {});
        QPushButton& button = sendOf(composer);
        const QRect place = button.geometry();
        QSignalSpy stops(&composer, &Composer::stopRequested);
        QSignalSpy sent(&composer, &Composer::submitted);
        composer.setRunning(true);
        QCOMPARE(button.geometry(), place);
        QTest::mouseClick(&button, Qt::LeftButton);
        QTest::keyClick(&editOf(composer), Qt::Key_Return); // waits, and is not lost
        QCOMPARE(stops.size(), 1);
        QCOMPARE(sent.size(), 0);
        QCOMPARE(composer.text(), QStringLiteral("Hi"));
        composer.setRunning(false);
        QTest::mouseClick(&button, Qt::LeftButton);
        QCOMPARE(sent.size(), 1);
    }

    void aBlockedComposerSaysWhy()
    {
        Composer composer;
        composer.putBack(QStringLiteral("Hi"), {});
        composer.setBlockedReason(QStringLiteral("No model is open."));
        QVERIFY(!sendOf(composer).isEnabled());
        QCOMPARE(sendOf(composer).toolTip(), QStringLiteral("No model is open."));
        QVERIFY(editOf(composer).isEnabled());
        composer.setBlockedReason(QString());
        QVERIFY(sendOf(composer).isEnabled());
    }

    void droppedFilesAreReportedNotInserted()
    {
        Composer composer;
        composer.resize(340, 140);
        composer.show();
        QSignalSpy dropped(&composer, &Composer::fileDropped);
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile(QStringLiteral("/tmp/a b.txt"))});
        const QPoint place = editOf(composer).viewport()->rect().center();
        QDragEnterEvent enter(place, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(editOf(composer).viewport(), &enter);
        QVERIFY(enter.isAccepted());
        QDropEvent event(place, Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QApplication::sendEvent(editOf(composer).viewport(), &event);
        QCOMPARE(dropped.size(), 1);
        QCOMPARE(dropped[0][0].toString(), QStringLiteral("/tmp/a b.txt"));
        QCOMPARE(composer.text(), QString());
    }

    void chipsCanBeLeftOutAgain()
    {
        Composer composer;
        composer.show();
        composer.addAttachment({QStringLiteral("a.txt"), QStringLiteral("A"), 1});
        composer.addAttachment({QStringLiteral("b.txt"), QStringLiteral("B"), 1});
        QVERIFY(sendOf(composer).isEnabled());
        auto* first = composer.findChild<ComposerChip*>();
        QTest::mouseClick(first->findChild<QToolButton*>(), Qt::LeftButton);
        QCOMPARE(composer.attachments().size(), std::size_t(1));
        QCOMPARE(composer.attachments()[0].name, QStringLiteral("b.txt"));
    }

    void pastedMarkupIsPlainText()
    {
        Composer composer;
        auto* data = new QMimeData; // the clipboard takes it
        data->setHtml(QStringLiteral("<b>bold</b>"));
        data->setText(QStringLiteral("bold"));
        QApplication::clipboard()->setMimeData(data);
        editOf(composer).paste();
        QCOMPARE(composer.text(), QStringLiteral("bold"));
    }
};

QTEST_MAIN(TestComposer)
#include "tst_composer.moc"
