#include "widgets/sampling_settings.h"

#include <QCheckBox>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QPlainTextEdit>
#include <QSignalSpy>
#include <QSpinBox>
#include <QtTest>

using namespace kvscope;

class TestSamplingSettings : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void itStartsCoolAndLong()
    {
        SamplingSettingsEditor editor;
        QCOMPARE(editor.settings(), ChatSettings());
        QCOMPARE(settingsSummary(editor.settings()), QStringLiteral("T 0.2, p 0.9, max 256"));
    }

    void aTemplateThatTakesNoSystemPromptIsSaidAtTheField()
    {
        SamplingSettingsEditor editor;
        const auto isSaid = [&editor] {
            for (const QLabel* label : editor.findChildren<QLabel*>())
                if (label->text().contains(QStringLiteral("it leaves the system message out")))
                    return !label->isHidden();
            return false;
        };
        editor.setSystemRefusal(QStringLiteral("it leaves the system message out"));
        QVERIFY(isSaid());
        editor.setSystemRefusal(QString());
        QVERIFY(!isSaid());
    }

    void whatIsSetIsShownAndNotReported()
    {
        SamplingSettingsEditor editor;
        QSignalSpy changes(&editor, &SamplingSettingsEditor::settingsChanged);
        ChatSettings settings;
        settings.sampling.temperature = 1.5;
        settings.sampling.topP = 0.35;
        settings.sampling.maxNewTokens = 1234;
        settings.sampling.seed = 4'000'000'000ULL;
        settings.newSeedEachTime = false;
        settings.scoresPrompt = true;
        settings.keepsNewestWhenFull = true;
        settings.systemPrompt = QStringLiteral("Be brief.");
        editor.setSettings(settings);
        QCOMPARE(changes.size(), 0);
        QCOMPARE(editor.findChild<QSpinBox*>()->value(), 1234);
        QCOMPARE(editor.findChild<QPlainTextEdit*>()->toPlainText(), QStringLiteral("Be brief."));
        QCOMPARE(editor.findChild<QComboBox*>()->currentIndex(), 1);
    }

    void everyFieldReachesTheValue()
    {
        SamplingSettingsEditor editor;
        const auto numbers = editor.findChildren<QDoubleSpinBox*>();
        numbers[0]->setValue(0.0);
        QCOMPARE(settingsSummary(editor.settings()), QStringLiteral("greedy, max 256"));
        numbers[0]->setValue(1.2);
        numbers[1]->setValue(0.5);
        editor.findChild<QSpinBox*>()->setValue(99);
        const auto checks = editor.findChildren<QCheckBox*>();
        for (QCheckBox* check : checks)
            check->toggle();
        for (QLineEdit* line : editor.findChildren<QLineEdit*>())
            if (line->validator() != nullptr && line->parent() == &editor)
                line->setText(QStringLiteral("9007199254740993"));
        editor.findChild<QComboBox*>()->setCurrentIndex(1);
        editor.findChild<QPlainTextEdit*>()->setPlainText(QStringLiteral("x"));
        ChatSettings expected;
        expected.sampling.temperature = 1.2;
        expected.sampling.topP = 0.5;
        expected.sampling.maxNewTokens = 99;
        expected.sampling.seed = 9007199254740993ULL;
        expected.newSeedEachTime = false;
        expected.scoresPrompt = true;
        expected.keepsNewestWhenFull = true;
        expected.systemPrompt = QStringLiteral("x");
        QCOMPARE(editor.settings(), expected);
    }

    void greedyNeedsNoSeed()
    {
        SamplingSettingsEditor editor;
        const auto numbers = editor.findChildren<QDoubleSpinBox*>();
        numbers[0]->setValue(0.0);
        QVERIFY(!numbers[1]->isEnabled());
    }
};

QTEST_MAIN(TestSamplingSettings)
#include "tst_sampling_settings.moc"
