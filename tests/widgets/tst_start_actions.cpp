#include "widgets/chat_panel.h"
#include "widgets/composer.h"
#include "widgets/start_actions.h"

#include <QPushButton>
#include <QSignalSpy>
#include <QtTest>

using namespace kvscope;

using Action = StartActions::Action;

class TestStartActions : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void oneClickSaysWhatIsWanted_data() { actions(); }
    void oneClickSaysWhatIsWanted()
    {
        QFETCH(int, action);
        StartActions start;
        start.show();
        QSignalSpy wanted(&start, &StartActions::wanted);
        QTest::mouseClick(start.button(static_cast<Action>(action)), Qt::LeftButton);
        QCOMPARE(wanted.count(), 1);
        QCOMPARE(static_cast<int>(wanted[0][0].value<StartActions::Action>()), action);
        QTest::keyClick(start.button(static_cast<Action>(action)), Qt::Key_Space);
        QCOMPARE(wanted.count(), 2);
    }

    void whatCannotBeDoneSaysWhyAndIsDisabled_data() { actions(); }
    void whatCannotBeDoneSaysWhyAndIsDisabled()
    {
        QFETCH(int, action);
        StartActions start;
        start.show();
        const QPushButton* button = start.button(static_cast<Action>(action));
        const QString name = button->text();
        QSignalSpy wanted(&start, &StartActions::wanted);
        start.setRefusal(static_cast<Action>(action), "not <b>installed</b>");
        QVERIFY(!button->isEnabled());
        QCOMPARE(button->text(), name + ": not <b>installed</b>");
        QVERIFY(button->toolTip().contains("installed"));
        QTest::mouseClick(start.button(static_cast<Action>(action)), Qt::LeftButton);
        QCOMPARE(wanted.count(), 0);
        start.setRefusal(static_cast<Action>(action), {});
        QVERIFY(button->isEnabled());
        QCOMPARE(button->text(), name);
    }

    void whatIsNotOfferedIsNotShown()
    {
        StartActions start;
        start.show();
        start.setOffered(Action::OpenDemo, false);
        QVERIFY(!start.button(Action::OpenDemo)->isVisible());
        QVERIFY(start.button(Action::PasskeySweep)->isVisible());
        start.setOffered(Action::OpenDemo, true);
        QVERIFY(start.button(Action::OpenDemo)->isVisible());
    }

    void theyStandBesideAnEmptyChatOnly()
    {
        ChatPanel chat;
        chat.resize(340, 700);
        chat.show();
        QVERIFY(chat.startActions().isVisible());
        ModelDescription model;
        model.canChat = true;
        chat.setModel(model);
        QVERIFY(chat.startActions().isVisible());
        chat.composer().putBack("Hello", {});
        chat.send();
        QVERIFY(!chat.startActions().isVisible());
        chat.newChat();
        QVERIFY(chat.startActions().isVisible());
    }

private:
    static void actions()
    {
        QTest::addColumn<int>("action");
        QTest::newRow("passkey sweep") << static_cast<int>(Action::PasskeySweep);
        QTest::newRow("demo") << static_cast<int>(Action::OpenDemo);
        QTest::newRow("SmolLM2") << static_cast<int>(Action::OpenSmolLm2);
    }
};

QTEST_MAIN(TestStartActions)
#include "tst_start_actions.moc"
