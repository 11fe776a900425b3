#include "widgets/checks_model.h"
#include "widgets/checks_view.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QLineEdit>
#include <QSignalSpy>
#include <QTableView>
#include <QToolButton>
#include <QtTest>

using namespace kvscope;

namespace {

std::vector<CheckEntry> someChecks()
{
    return {{CheckSection::Header, CheckResult::Passed, "a.gguf", "begins with GGUF", "version 3",
             ByteRange{0, 8}},
            {CheckSection::TensorTable, CheckResult::Passed, "a.gguf",
             "blk.0.attn_q.weight: aligned", "Q4_1 [64, 64]", ByteRange{4096, 6656}},
            {CheckSection::Tensors, CheckResult::Failed, "a.gguf", "output.weight: as asked for",
             "a.gguf: output.weight is [1, 2], \"3\" was expected",
             ByteRange{1'000'000, 2'000'000}},
            {CheckSection::Tokenizer, CheckResult::Warning, "", "can be built", "No chat", {}}};
}

} // namespace

class TestChecksView : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void aRowSaysResultInWordAndGlyphWithItsBytes()
    {
        ChecksModel model;
        model.setChecks(someChecks());
        const auto text = [&](int row, int column) {
            return model.index(row, column).data().toString();
        };
        QCOMPARE(text(0, ChecksModel::ResultColumn), QString("✓ passed"));
        QCOMPARE(text(2, ChecksModel::ResultColumn), QString("✕ failed"));
        QCOMPARE(text(3, ChecksModel::ResultColumn), QString("! warning"));
        QCOMPARE(text(1, ChecksModel::BytesColumn), QString("4,096 – 6,656"));
        QCOMPARE(text(3, ChecksModel::BytesColumn), QString());
        QVERIFY(model.index(2, 0).data(Qt::ToolTipRole).toString().contains("1,000,000"));
        QCOMPARE(model.index(2, 0).data(Qt::ForegroundRole).value<QColor>(), Theme::current().bad);
    }

    void theFailureIsSelectedAndTheButtonsFilter()
    {
        ChecksView view;
        view.resize(700, 300);
        view.show();
        view.setChecks(someChecks(), "a");
        auto* table = view.findChild<QTableView*>();
        QCOMPARE(table->selectionModel()->selectedRows().size(), 1);
        QCOMPARE(table->selectionModel()->selectedRows()[0].row(), 2);
        QToolButton* failed = nullptr;
        QToolButton* others = nullptr;
        for (QToolButton* button : view.findChildren<QToolButton*>()) {
            failed = button->text().contains("Failed 1") ? button : failed;
            others = button->text().contains("Not passed 2") ? button : others;
        }
        QVERIFY(failed != nullptr && others != nullptr);
        QTest::mouseClick(failed, Qt::LeftButton);
        QCOMPARE(view.shownRows(), 1);
        others->setFocus();
        QTest::keyClick(others, Qt::Key_Space);
        QCOMPARE(view.shownRows(), 2);
    }

    void typingFiltersByNameAndSection()
    {
        ChecksView view;
        view.setChecks(someChecks(), "a");
        auto* filter = view.findChild<QLineEdit*>();
        QTest::keyClicks(filter, "ATTN_Q");
        QCOMPARE(view.shownRows(), 1);
        filter->clear();
        QTest::keyClicks(filter, "tokenizer");
        QCOMPARE(view.shownRows(), 1);
        filter->clear();
        QTest::keyClicks(filter, "nothing of the kind");
        QCOMPARE(view.shownRows(), 0);
    }

    void copyTakesWhatIsShownOrTheSelectedRows()
    {
        ChecksView view;
        view.show();
        view.setChecks(someChecks(), "a");
        auto* table = view.findChild<QTableView*>();
        table->setFocus();
        QTest::keyClick(table, Qt::Key_C, Qt::ControlModifier);
        QCOMPARE(QApplication::clipboard()->text().count('\n'), 4); // a title and four rows
        table->selectionModel()->select(table->model()->index(0, 0),
                                        QItemSelectionModel::ClearAndSelect |
                                            QItemSelectionModel::Rows);
        table->selectionModel()->select(table->model()->index(1, 0),
                                        QItemSelectionModel::Select | QItemSelectionModel::Rows);
        QCOMPARE(view.copiedText().split('\n').size(), 3);
        QCOMPARE(view.copiedText().split('\n')[2],
                 QString("passed\ttensor table\ta.gguf\tblk.0.attn_q.weight: aligned\tQ4_1 [64, 64]"
                         "\t4096\t6656"));
    }

    void csvHoldsPlainNumbersAndQuotes()
    {
        ChecksView view;
        view.setChecks(someChecks(), "a");
        QVERIFY(view.csv().contains("1000000,2000000"));
        QVERIFY(view.csv().contains("\"\"3\"\" was expected"));
        QCOMPARE(view.csv().count("\r\n"), 5);
    }

    void emptyAndClearedSayWhatToDo()
    {
        ChecksView view;
        QCOMPARE(view.shownRows(), 0);
        view.setChecks(someChecks(), "a");
        view.clear();
        QCOMPARE(view.shownRows(), 0);
        QVERIFY(!view.findChild<QTableView*>()->accessibleName().isEmpty());
    }
};

QTEST_MAIN(TestChecksView)
#include "tst_checks_view.moc"
