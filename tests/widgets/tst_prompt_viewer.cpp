#include "widgets/prompt_viewer.h"

#include <QApplication>
#include <QClipboard>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QTextBlock>
#include <QtTest>

using namespace kvscope;

class TestPromptViewer : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void controlTokensAreMarked()
    {
        PromptViewer viewer;
        viewer.setPrompt(QStringLiteral("<|im_start|>user\nHi <|x|>"),
                         {QStringLiteral("<|im_start|>")}, 5);
        viewer.show();
        QApplication::processEvents();
        const QTextDocument* document = viewer.findChild<QPlainTextEdit*>()->document();
        QCOMPARE(document->firstBlock().layout()->formats().size(), 1);
        QCOMPARE(document->firstBlock().layout()->formats()[0].length, 12);
        QCOMPARE(document->lastBlock().layout()->formats().size(),
                 0); // text that only looks like one
    }

    void aTemplateThatIsNotUsedIsSaidSo()
    {
        PromptViewer viewer;
        viewer.setTemplate(QStringLiteral("plain"),
                           QStringLiteral("The file's template cannot be rendered."));
        viewer.show();
        bool isSaid = false;
        for (const QLabel* label : viewer.findChildren<QLabel*>())
            isSaid |=
                label->isVisible() && label->text().contains(QStringLiteral("cannot be rendered"));
        QVERIFY(isSaid);
    }

    void copyGivesThePromptExactly()
    {
        PromptViewer viewer;
        const QString prompt = QStringLiteral("a\u00A0b\n\tc");
        viewer.setPrompt(prompt, {}, 3);
        for (QPushButton* button : viewer.findChildren<QPushButton*>())
            if (button->text().contains(QStringLiteral("Copy")))
                button->click();
        QCOMPARE(QApplication::clipboard()->text(), prompt);
    }
};

QTEST_MAIN(TestPromptViewer)
#include "tst_prompt_viewer.moc"
