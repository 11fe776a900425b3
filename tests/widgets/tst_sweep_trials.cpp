#include "tests/support/fake_sweep.h"
#include "tests/support/text_recorder.h"
#include "widgets/number_format.h"
#include "widgets/sweep_trials_panel.h"
#include "widgets/theme.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QHeaderView>
#include <QImage>
#include <QSignalSpy>
#include <QTableView>
#include <QTemporaryDir>
#include <QtTest>

using namespace kvscope;

namespace {

constexpr SweepCellKey kMiddle{TrialRole::Asked, 2, 2};

QString cellText(const QAbstractItemModel& model, int row, int column)
{
    return model.index(row, column).data().toString();
}

} // namespace

class TestSweepTrials : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void init()
    {
        applyTheme(*qApp, ThemeChoice::Light);
        m_report = std::make_shared<const SweepReport>(fakeSweep());
        m_panel = std::make_unique<SweepTrialsPanel>();
        m_panel->resize(440, 300);
        m_panel->setReport(m_report);
        m_panel->show();
    }

    void cleanup() { m_panel.reset(); }

    void rowsAreTheTrialsOfTheCell()
    {
        SweepTrialsModel model;
        const QAbstractItemModelTester tester(&model);
        model.setCell(m_report, kMiddle);
        const SweepCell& cell = *cellOf(*m_report, kMiddle);
        QCOMPARE(model.rowCount(), static_cast<int>(cell.trials.size()));
        for (int row = 0; row < model.rowCount(); ++row) {
            const SweepTrial& trial = trialOf(*m_report, cell, static_cast<std::size_t>(row));
            QCOMPARE(cellText(model, row, SweepTrialsModel::NumberColumn),
                     QString::number(row + 1));
            QCOMPARE(cellText(model, row, SweepTrialsModel::ItemColumn),
                     QString::fromStdString(trial.itemName));
            QCOMPARE(cellText(model, row, SweepTrialsModel::ExpectedColumn),
                     QString::fromStdString(trial.expected));
            QCOMPARE(cellText(model, row, SweepTrialsModel::LossColumn),
                     lossText(meanAnswerNll(trial)));
        }
    }

    void kindsHaveGlyphsAndColours()
    {
        SweepTrialsModel model;
        model.setCell(m_report, kMiddle);
        const SweepCell& cell = *cellOf(*m_report, kMiddle);
        for (int row = 0; row < model.rowCount(); ++row) {
            const bool isFound =
                trialOf(*m_report, cell, static_cast<std::size_t>(row)).isCorrect();
            const QModelIndex index = model.index(row, SweepTrialsModel::KindColumn);
            QVERIFY(index.data().toString().startsWith(isFound ? QStringLiteral("✓ found")
                                                               : QStringLiteral("✕ ")));
            QCOMPARE(index.data(Qt::ForegroundRole).value<QColor>(),
                     isFound ? Theme::light().good : Theme::light().bad);
        }
    }

    void wrongOnesKeepTheirNumbers()
    {
        SweepTrialsModel model;
        const QAbstractItemModelTester tester(&model);
        model.setCell(m_report, kMiddle);
        model.setFilter(TrialFilter::Wrong);
        const SweepCell& cell = *cellOf(*m_report, kMiddle);
        QCOMPARE(model.rowCount(), static_cast<int>(cell.score.trials - cell.score.correct));
        for (int row = 0; row < model.rowCount(); ++row) {
            const std::size_t trial = *model.trialAt(row);
            QVERIFY(!m_report->trials[trial].isCorrect());
            const int number = cellText(model, row, SweepTrialsModel::NumberColumn).toInt();
            QCOMPARE(cell.trials[static_cast<std::size_t>(number - 1)], trial);
            QCOMPARE(model.rowOf(trial).value_or(-1), row);
        }
    }

    void choosingARowSaysWhichTrial()
    {
        QSignalSpy chosen(m_panel.get(), &SweepTrialsPanel::trialChosen);
        m_panel->showCell(kMiddle);
        QCOMPARE(chosen.count(), 0); // nobody chose yet
        m_panel->trialsView()->setFocus();
        m_panel->trialsView()->selectRow(3);
        QCOMPARE(chosen.count(), 1);
        QCOMPARE(chosen[0][0].value<std::size_t>(), cellOf(*m_report, kMiddle)->trials[3]);
        QTest::keyClick(m_panel->trialsView(), Qt::Key_Down);
        QCOMPARE(chosen.count(), 2);
        QCOMPARE(m_panel->chosenTrial().value(), cellOf(*m_report, kMiddle)->trials[4]);
    }

    void newTrialsKeepTheChoiceSilently()
    {
        m_panel->showCell(kMiddle);
        m_panel->trialsView()->selectRow(3);
        const auto before = m_panel->chosenTrial();
        QSignalSpy chosen(m_panel.get(), &SweepTrialsPanel::trialChosen);
        m_panel->setReport(std::make_shared<const SweepReport>(fakeSweep()));
        QCOMPARE(chosen.count(), 0);
        QCOMPARE(m_panel->chosenTrial(), before);
        QCOMPARE(m_panel->trialsView()->currentIndex().row(), 3);
        m_panel->setFilter(TrialFilter::Wrong);
        m_panel->setFilter(TrialFilter::All);
        QCOMPARE(chosen.count(), 0);
        QCOMPARE(m_panel->trialsView()->currentIndex().row(), 3);
    }

    // A cell at work gains rows while somebody reads it.
    void rowsThatAreThereStayWhenOthersCome()
    {
        SweepTrialsModel model;
        const QAbstractItemModelTester tester(&model);
        SweepReport fewer = *m_report;
        fewer.columns[2].cells[2].trials.resize(5);
        model.setCell(std::make_shared<const SweepReport>(fewer), kMiddle);
        QSignalSpy resets(&model, &QAbstractItemModel::modelReset);
        QSignalSpy inserts(&model, &QAbstractItemModel::rowsInserted);
        model.setCell(m_report, kMiddle);
        QCOMPARE(resets.count(), 0);
        QCOMPARE(inserts.count(), 1);
        QCOMPARE(inserts[0][1].toInt(), 5);
        QCOMPARE(model.rowCount(), 12);
        model.setCell(m_report, SweepCellKey{TrialRole::Asked, 1, 2});
        QCOMPARE(resets.count(), 1);
    }

    void titleSaysTheCellsScore()
    {
        QCOMPARE(m_panel->description(), QStringLiteral("no cell chosen"));
        m_panel->showCell(kMiddle);
        const SweepCell& cell = *cellOf(*m_report, kMiddle);
        QCOMPARE(m_panel->description(), QStringLiteral("4,096 at 50 %: %1, %2")
                                             .arg(scoreText(cell.score))
                                             .arg(intervalText(cell.interval)));
        m_panel->showCell({TrialRole::Asked, 4, 4});
        QCOMPARE(m_panel->description(), QStringLiteral("16,384 at 100 %: queued"));
        m_panel->grab();
    }

    void itemsSayWhoseAnswersTellNothing()
    {
        SweepReport report = *m_report;
        report.items[2].foundByControl = true;
        SweepItemsModel model;
        const QAbstractItemModelTester tester(&model);
        model.setReport(std::make_shared<const SweepReport>(report));
        QCOMPARE(model.rowCount(), 12);
        QCOMPARE(cellText(model, 2, SweepItemsModel::ControlColumn), QStringLiteral("! answered"));
        QCOMPARE(cellText(model, 3, SweepItemsModel::ControlColumn),
                 QStringLiteral("not answered"));
        QCOMPARE(cellText(model, 3, SweepItemsModel::FoundColumn),
                 scoreText(report.items[3].asked));
        const QColor warning =
            model.index(2, SweepItemsModel::ControlColumn).data(Qt::ForegroundRole).value<QColor>();
        QCOMPARE(warning, Theme::light().caution);
    }

    void viewsSwitch()
    {
        m_panel->setView(TrialsView::Items);
        QCOMPARE(m_panel->currentView(), TrialsView::Items);
        QCOMPARE(m_panel->description(), QStringLiteral("found over all lengths and depths"));
        m_panel->showCell(kMiddle); // a cell was chosen: its trials are wanted
        QCOMPARE(m_panel->currentView(), TrialsView::Trials);
    }

    void columnsFillTheViewAndAnswersGiveWay()
    {
        m_panel->showCell(kMiddle);
        for (const int width : {420, 520, 900}) {
            m_panel->resize(width, 300);
            QCoreApplication::processEvents();
            const QTableView* view = m_panel->trialsView();
            QVERIFY(view->horizontalHeader()->length() >= view->viewport()->width() - 1);
            QVERIFY(view->columnWidth(SweepTrialsModel::AnswerColumn) >= 80);
        }
    }

    void answersOfAnyKindAreOneLine()
    {
        QCOMPARE(oneLine("It is\n\n58."), QStringLiteral("It is ↵  ↵ 58."));
        QCOMPARE(oneLine(std::string("a\0b", 3)), QStringLiteral("a b"));
        QVERIFY(oneLine(std::string(100'000, 'x')).size() <= 400);
        SweepReport hostile = *m_report;
        SweepTrial& trial = hostile.trials[cellOf(hostile, kMiddle)->trials[0]];
        trial.answer = "<b>bold</b> & <img src=x>\xff\xfe";
        trial.itemName = "<h1>";
        hostile.columns[2].cells[2].trials.push_back(999'999'999);
        SweepTrialsModel model;
        model.setCell(std::make_shared<const SweepReport>(hostile), kMiddle);
        QCOMPARE(model.rowCount(), static_cast<int>(m_report->columns[2].cells[2].trials.size()));
        const QString tip =
            model.index(0, SweepTrialsModel::AnswerColumn).data(Qt::ToolTipRole).toString();
        QVERIFY(!tip.contains(QStringLiteral("<b>")));
    }

    void exportHasWholeAnswers()
    {
        m_panel->showCell(kMiddle);
        m_panel->setExportCaption(QStringLiteral("demo"));
        const ExportSource source = m_panel->exportSource();
        const QString csv = source.csv();
        QCOMPARE(csv.count(QStringLiteral("\r\n")), 13);
        QVERIFY(csv.contains(QStringLiteral("nothing that the text mentions.")));
        const QTemporaryDir folder;
        const QString path = folder.filePath(QStringLiteral("trials.png"));
        QCOMPARE(savePng(path, source, 96), std::nullopt);
        QVERIFY(QImage(path).width() > 300);
        m_panel->setView(TrialsView::Items);
        QCOMPARE(m_panel->exportSource().name, QStringLiteral("facts"));
    }

    // Trials that do not count, as the control answered what they ask, were done all the same.
    void whereAllIsFoundItSaysSo()
    {
        SweepReport report = *m_report;
        SweepCell& cell = report.columns[2].cells[2];
        for (const std::size_t index : cell.trials)
            report.trials[index].kind = AnswerKind::Found;
        cell.score = {};
        m_panel->setReport(std::make_shared<const SweepReport>(report));
        m_panel->showCell(kMiddle);
        m_panel->setFilter(TrialFilter::Wrong);
        TextRecorder recorder(m_panel->size());
        m_panel->render(&recorder, {}, {}, QWidget::DrawWindowBackground);
        QString texts;
        for (const RecordedText& text : recorder.texts())
            texts += text.text + '\n';
        QVERIFY2(texts.contains(QStringLiteral("All 12 trials")), qPrintable(texts));
    }

    void emptyStatesPaint()
    {
        m_panel->grab();
        m_panel->showCell({TrialRole::Oracle, 0, 0});
        m_panel->setFilter(TrialFilter::Wrong);
        m_panel->grab();
        m_panel->clear();
        QVERIFY(!m_panel->chosenTrial());
        m_panel->grab();
        m_panel->showCell({TrialRole::Asked, 90, 90});
        m_panel->grab();
    }

private:
    std::shared_ptr<const SweepReport> m_report;
    std::unique_ptr<SweepTrialsPanel> m_panel;
};

QTEST_MAIN(TestSweepTrials)
#include "tst_sweep_trials.moc"
