#include "widgets/message_bar.h"
#include "widgets/message_bar_question.h"

#include <QApplication>
#include <QClipboard>
#include <QPushButton>
#include <QSignalSpy>
#include <QToolButton>
#include <QtTest>

using namespace kvscope;

class TestMessageBar : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void messagesWaitForEachOther()
    {
        MessageBar bar;
        QVERIFY(bar.isHidden());
        bar.add(MessageBar::Kind::Failure, QStringLiteral("first"));
        bar.add(MessageBar::Kind::Caution, QStringLiteral("second"));
        bar.add(MessageBar::Kind::Failure, QStringLiteral("first")); // said already
        QCOMPARE(bar.count(), 2);
        QCOMPARE(bar.text(), QStringLiteral("second")); // the newest is what a person waits for
        bar.dismiss();
        QCOMPARE(bar.text(), QStringLiteral("first"));
        QSignalSpy emptied(&bar, &MessageBar::emptied);
        bar.dismiss();
        bar.dismiss();
        QVERIFY(bar.isHidden());
        QCOMPARE(emptied.size(), 1);
    }

    void copyTakesTheDetailsToo()
    {
        MessageBar bar;
        bar.add(MessageBar::Kind::Failure, QStringLiteral("a.gguf: bad magic"),
                QStringLiteral("expected GGUF, found PK"));
        const auto buttons = bar.findChildren<QToolButton*>();
        for (QToolButton* button : buttons)
            if (button->text() == QStringLiteral("Copy"))
                QTest::mouseClick(button, Qt::LeftButton);
        QCOMPARE(QApplication::clipboard()->text(),
                 QStringLiteral("a.gguf: bad magic\nexpected GGUF, found PK"));
    }

    void aLongMessageDoesNotWidenThePanel()
    {
        MessageBar bar;
        const int before = bar.minimumSizeHint().width();
        bar.add(MessageBar::Kind::Failure, QStringLiteral("long ").repeated(200));
        QVERIFY(bar.minimumSizeHint().width() < 280);
        QVERIFY(bar.minimumSizeHint().width() - before < 100);
    }

    void aLongMessageWrapsToThreeLines()
    {
        MessageBar bar;
        bar.add(MessageBar::Kind::Failure, QStringLiteral("short"));
        const int one = bar.heightForWidth(340);
        bar.add(MessageBar::Kind::Failure, QStringLiteral("some words ").repeated(8));
        const int more = bar.heightForWidth(340);
        QVERIFY2(more > one, qPrintable(QString("%1 %2").arg(one).arg(more)));
        bar.add(MessageBar::Kind::Failure, QStringLiteral("some words ").repeated(80));
        const int lines = bar.heightForWidth(340) / bar.fontMetrics().height();
        QCOMPARE(lines, 3);
    }

    void aQuestionIsAnsweredOnce()
    {
        QuestionBar bar;
        QSignalSpy answers(&bar, &QuestionBar::answered);
        bar.ask(QStringLiteral("Go on?"), QStringLiteral("Yes"), QStringLiteral("No"));
        QTest::mouseClick(bar.findChildren<QPushButton*>()[1], Qt::LeftButton);
        QCOMPARE(answers.size(), 1);
        QCOMPARE(answers[0][0].toBool(), false);
        QVERIFY(bar.isHidden());
    }
};

QTEST_MAIN(TestMessageBar)
#include "tst_message_bar.moc"
