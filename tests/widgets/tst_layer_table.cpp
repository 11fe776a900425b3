#include "tests/widgets/fake_cache.h"
#include "widgets/layer_table.h"
#include "widgets/layer_table_model.h"
#include "widgets/theme.h"

#include <QAbstractItemModelTester>
#include <QApplication>
#include <QClipboard>
#include <QSignalSpy>
#include <QTableView>
#include <QtTest>

using namespace kvscope;

class TestLayerTable : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    void initTestCase() { applyTheme(*qApp, ThemeChoice::Light); }

    void rowsSayWhatALayerIsAndHolds()
    {
        LayerTableModel model;
        model.setLayers(fakeModel(4, 128).layers);
        QCOMPARE(model.rowCount(), 4);
        QCOMPARE(cell(model, 0, LayerTableModel::KindColumn), QStringLiteral("windowed"));
        QCOMPARE(cell(model, 0, LayerTableModel::WindowColumn), QStringLiteral("128"));
        QCOMPARE(cell(model, 1, LayerTableModel::WindowColumn), QStringLiteral("–"));
        QCOMPARE(cell(model, 1, LayerTableModel::IdentityColumn), QStringLiteral("24"));
        QCOMPARE(cell(model, 1, LayerTableModel::RetainedColumn),
                 QStringLiteral("–")); // no snapshot yet
        model.setSnapshot(fakeSnapshot(4, 128, 1943));
        QCOMPARE(cell(model, 0, LayerTableModel::RetainedColumn), QStringLiteral("128"));
        QCOMPARE(cell(model, 1, LayerTableModel::CapacityColumn), QStringLiteral("2,599"));
        QCOMPARE(cell(model, 1, LayerTableModel::SlackColumn), QStringLiteral("656"));
        QCOMPARE(cell(model, 1, LayerTableModel::LiveColumn), QStringLiteral("1,943.0"));
        QCOMPARE(title(model, LayerTableModel::LiveColumn), QStringLiteral("Live, KiB"));
    }

    void unitChangesForTheWholeColumn()
    {
        LayerTableModel model;
        model.setLayers(fakeModel(4, 128).layers);
        QSignalSpy titles(&model, &QAbstractItemModel::headerDataChanged);
        model.setSnapshot(fakeSnapshot(4, 128, 20'000));
        QCOMPARE(titles.count(), 1);
        QCOMPARE(title(model, LayerTableModel::LiveColumn), QStringLiteral("Live, MiB"));
        QCOMPARE(cell(model, 1, LayerTableModel::LiveColumn), QStringLiteral("19.53"));
        QCOMPARE(cell(model, 0, LayerTableModel::LiveColumn), QStringLiteral("0.13"));
    }

    void kindIsColouredAndNumbersAreAligned()
    {
        LayerTableModel model;
        model.setLayers(fakeModel(2, 128).layers);
        const auto kind = [&](int row) {
            return model.index(row, LayerTableModel::KindColumn)
                .data(Qt::ForegroundRole)
                .value<QColor>();
        };
        QCOMPARE(kind(0), Theme::light().windowed);
        QCOMPARE(kind(1), Theme::light().global);
        const QModelIndex number = model.index(0, LayerTableModel::RetainedColumn);
        QVERIFY(number.data(Qt::TextAlignmentRole).value<Qt::Alignment>().testFlag(Qt::AlignRight));
    }

    void modelKeepsQtsContract()
    {
        LayerTableModel model;
        QAbstractItemModelTester tester(&model,
                                        QAbstractItemModelTester::FailureReportingMode::QtTest);
        model.setLayers(fakeModel(5, 128).layers);
        model.setSnapshot(fakeSnapshot(5, 128, 300));
        model.setSnapshot(fakeSnapshot(3, 128, 300)); // fewer layers than the model: dashes
        QCOMPARE(cell(model, 4, LayerTableModel::LiveColumn), QStringLiteral("–"));
        model.clear();
        QCOMPARE(model.rowCount(), 0);
    }

    void figuresChangeAtMostFourTimesASecond()
    {
        LayerTable table;
        table.setModel(fakeModel(4, 128));
        auto* model = qobject_cast<LayerTableModel*>(table.view()->model());
        QSignalSpy changes(model, &QAbstractItemModel::dataChanged);
        for (int i = 1; i <= 100; ++i)
            table.setSnapshot(fakeSnapshot(4, 128, i));
        QCOMPARE(changes.count(), 1);
        QTRY_COMPARE(changes.count(), 2); // the newest, a quarter of a second later
        QCOMPARE(cell(*model, 1, LayerTableModel::RetainedColumn), QStringLiteral("100"));
    }

    void copyTakesTheSelectedRowsOrAll()
    {
        LayerTable table;
        table.setModel(fakeModel(4, 128));
        table.setSnapshot(fakeSnapshot(4, 128, 1943));
        table.show();
        QCOMPARE(table.copiedText().count(u'\n'), 5);
        table.view()->selectRow(1);
        QTest::keyClick(table.view(), Qt::Key_C, Qt::ControlModifier);
        const QString text = table.copiedText();
        QCOMPARE(text.count(u'\n'), 2);
        QVERIFY(text.startsWith(QStringLiteral("Layer\tKind\tWindow")));
        QVERIFY(text.contains(QStringLiteral("1\tglobal\t–\tyes\t24\t1,943\t2,599\t656")));
        QTRY_COMPARE(QApplication::clipboard()->text(), text);
    }

    void csvHasPlainNumbers()
    {
        LayerTable table;
        table.setModel(fakeModel(2, 128));
        table.setSnapshot(fakeSnapshot(2, 128, 1943));
        const QStringList lines = table.csv().split(QStringLiteral("\r\n"));
        QCOMPARE(lines[1], QStringLiteral("0,windowed,128,1,0,128,128,0,131072,131072,1024"));
        QCOMPARE(lines[2], QStringLiteral("1,global,,1,24,1943,2599,656,1989632,2661376,1024"));
    }

    void emptyTableSaysWhatToDo()
    {
        LayerTable table;
        table.resize(420, 240);
        table.show();
        QVERIFY(!table.view()->isVisible());
        QCOMPARE(table.description(), QStringLiteral("no model open"));
        table.grab();
        table.setModel(fakeModel(12, 128));
        QVERIFY(table.view()->isVisible());
        QCOMPARE(table.description(), QStringLiteral("12 layers: 6 windowed, 6 global"));
    }

private:
    static QString cell(const LayerTableModel& model, int row, int column)
    {
        return model.index(row, column).data().toString();
    }
    static QString title(const LayerTableModel& model, int column)
    {
        return model.headerData(column, Qt::Horizontal, Qt::DisplayRole).toString();
    }
};

QTEST_MAIN(TestLayerTable)
#include "tst_layer_table.moc"
