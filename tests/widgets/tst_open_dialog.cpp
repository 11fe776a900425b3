#include "widgets/checks_model.h"
#include "widgets/checks_view.h"
#include "widgets/fit_table.h"
#include "widgets/open_dialog.h"
#include "widgets/open_options.h"
#include "widgets/open_summary.h"
#include "widgets/open_verdict.h"
#include "widgets/theme.h"

#include <QAccessible>
#include <QApplication>
#include <QComboBox>
#include <QDoubleSpinBox>
#include <QLabel>
#include <QLineEdit>
#include <QListWidget>
#include <QMimeData>
#include <QPushButton>
#include <QSignalSpy>
#include <QSpinBox>
#include <QTabWidget>
#include <QtTest>

using namespace kvscope;

namespace {

constexpr std::uint64_t kGiB = std::uint64_t{1} << 30;

/// An 8B llama: 128 KiB a token, 16 GiB at 131,072.
OpenPreview eightBillion(std::uint64_t freeBytes)
{
    OpenPreview preview;
    preview.path = "/models/8b.gguf";
    preview.name = "8B";
    preview.summary = {{"Name", "8B"}, {"Positions", "131,072 trained"}};
    preview.layers = {{false, 0, 32}};
    preview.rowsPerToken = 32;
    preview.headDim = 64;
    preview.trainedPositions = preview.extendedPositions = 131072;
    preview.dtypes = {{"auto", 4 * kGiB, 4 * kGiB, "bfloat16"},
                      {"float32", 4 * kGiB, 16 * kGiB, "float32"},
                      {"bfloat16", 4 * kGiB, 4 * kGiB, "bfloat16"},
                      {"float16", 4 * kGiB, 4 * kGiB, "float16"}};
    preview.storedWeightBytes = 4 * kGiB;
    preview.workBytes = kGiB / 4;
    preview.devices = {{"cpu", "this machine", freeBytes, {}},
                       {"cuda:0", "A100", 80 * kGiB, {}},
                       {"cuda:1", "old", 8 * kGiB, "No kernels for it."}};
    preview.checks = {{CheckSection::Header, CheckResult::Passed, "8b.gguf", "begins", "", {}}};
    return preview;
}

OpenPreview broken()
{
    OpenPreview preview;
    preview.path = "/models/8b.gguf";
    preview.error = "8b.gguf: is cut at byte 7";
    preview.checks = {{CheckSection::Header, CheckResult::Passed, "8b.gguf", "begins", "", {}},
                      {CheckSection::Header, CheckResult::Failed, "8b.gguf", "counts",
                       "8b.gguf: is cut at byte 7", ByteRange{7, 7}}};
    return preview;
}

/// A dialog that answers every request for a preview.
struct Fixture
{
    explicit Fixture(OpenPreview answer)
    {
        dialog.setRotaryOptions({{"plain", "", false, ""}, {"linear", "", true, ""}});
        QObject::connect(&dialog, &OpenDialog::previewRequested, &dialog,
                         [this, answer](quint64 request, const QString& path, const QString& rope) {
                             asked << path + '|' + rope;
                             dialog.setPreview(request, std::make_shared<OpenPreview>(answer));
                         });
        dialog.show();
    }
    QComboBox* combo(const char* name)
    {
        for (auto* box : dialog.findChildren<QComboBox*>())
            if (box->accessibleName() == name)
                return box;
        return nullptr;
    }
    OpenDialog dialog;
    QStringList asked;
};

} // namespace

class TestOpenDialog : public QObject
{
    Q_OBJECT
private Q_SLOTS:
    // It made its labels anew while Qt walked over them.
    void aChangeOfThemeWithAModelShownIsSurvived()
    {
        Fixture fixture(eightBillion(20 * kGiB));
        fixture.dialog.setPath(QStringLiteral("/models/8b.gguf"));
        for (const ThemeChoice choice :
             {ThemeChoice::Dark, ThemeChoice::Light, ThemeChoice::Dark, ThemeChoice::System}) {
            applyTheme(*qApp, choice);
            QCoreApplication::processEvents();
        }
        QVERIFY(fixture.dialog.findChild<OpenSummary*>()->shownMessage().isEmpty());
    }

    void aTypedPathForgetsWhatWasChosenForTheModelBefore()
    {
        Fixture fixture(eightBillion(20 * kGiB));
        fixture.dialog.setPath(QStringLiteral("/models/8b.gguf"));
        OpenChoice choice;
        choice.maxContext = 20000;
        fixture.dialog.setChoice(choice);
        auto* path = fixture.dialog.findChild<QLineEdit*>();
        path->setText(QString());
        QTest::keyClicks(path, QStringLiteral("/models/other.gguf"));
        QCOMPARE(fixture.dialog.choice().maxContext, std::int64_t{0});
    }

    void whatFitsIsSaidWhateverContextIsChosen()
    {
        OpenPreview preview = eightBillion(20 * kGiB);
        OpenChoice choice;
        choice.maxContext = 1000;
        OpenSummary summary;
        summary.setPreview(preview, choice);
        bool isSaid = false;
        for (const QLabel* label : summary.findChildren<QLabel*>())
            isSaid = isSaid || (label->text().contains(QStringLiteral("Longest that fits")) &&
                                !label->text().contains(QStringLiteral("1,000 tokens")));
        QVERIFY(isSaid);
    }

    void aModelOfRingsAloneHasNoGrowthCopy()
    {
        OpenPreview preview = eightBillion(20 * kGiB);
        preview.layers = {{true, 128, 32}};
        QCOMPARE(estimateFit(preview, {}).growthBytes, std::uint64_t{0});
    }

    void nothingChosenSaysWhatToDo()
    {
        OpenDialog dialog;
        dialog.show();
        QVERIFY(dialog.summary().shownMessage().startsWith("No model chosen"));
        QVERIFY(!dialog.openButton().isEnabled());
    }

    void aModelThatFitsOpensWithEnter()
    {
        Fixture fixture(eightBillion(40 * kGiB));
        QSignalSpy opened(&fixture.dialog, &OpenDialog::openRequested);
        fixture.dialog.setPath("/models/8b.gguf");
        QCOMPARE(fixture.asked, QStringList{"/models/8b.gguf|"});
        QVERIFY(fixture.dialog.verdict().startsWith("✓ Fits on cpu"));
        QCOMPARE(fixture.dialog.checks().shownRows(), 1);
        QVERIFY(fixture.dialog.openButton().isEnabled());
        QTest::keyClick(&fixture.dialog, Qt::Key_Return);
        QCOMPARE(opened.size(), 1);
        QCOMPARE(opened[0][0].toString(), QString("/models/8b.gguf"));
        QVERIFY(!fixture.dialog.isVisible());
    }

    void escapeOpensNothing()
    {
        Fixture fixture(eightBillion(40 * kGiB));
        QSignalSpy opened(&fixture.dialog, &OpenDialog::openRequested);
        fixture.dialog.setPath("/models/8b.gguf");
        QTest::keyClick(&fixture.dialog, Qt::Key_Escape);
        QCOMPARE(opened.size(), 0);
        QVERIFY(!fixture.dialog.isVisible());
    }

    void whatDoesNotFitSaysUpToWhere()
    {
        Fixture fixture(eightBillion(12 * kGiB));
        fixture.dialog.setPath("/models/8b.gguf");
        QVERIFY(fixture.dialog.verdict().startsWith("! 131,072 tokens need 20.8 GiB, 12.0 GiB is"));
        QVERIFY(fixture.dialog.openButton().isEnabled()); // it opens, shorter
        // A shorter maximum fits, and so does the other device.
        fixture.dialog.findChild<QSpinBox*>()->setValue(32768);
        QVERIFY(fixture.dialog.verdict().startsWith("✓ Fits on cpu"));
        fixture.dialog.findChild<QSpinBox*>()->setValue(0);
        fixture.combo("Device")->setCurrentIndex(1);
        QVERIFY(fixture.dialog.verdict().startsWith("✓ Fits on cuda:0"));
        Fixture tight(eightBillion(kGiB));
        tight.dialog.setPath("/models/8b.gguf");
        QVERIFY(tight.dialog.verdict().contains("the engine will refuse"));
    }

    void whatDoesNotOpenShowsItsChecks()
    {
        Fixture fixture(broken());
        fixture.dialog.setPath("/models/8b.gguf");
        QVERIFY(!fixture.dialog.openButton().isEnabled());
        QVERIFY(fixture.dialog.openButton().toolTip().contains("is cut at byte 7"));
        QCOMPARE(fixture.dialog.verdict(), QString("✕ 8b.gguf: is cut at byte 7"));
        QVERIFY(fixture.dialog.summary().shownMessage().contains("does not open"));
        QCOMPARE(fixture.dialog.checks().checks().count(CheckResult::Failed), 1);
        QSignalSpy opened(&fixture.dialog, &OpenDialog::openRequested);
        QTest::keyClick(&fixture.dialog, Qt::Key_Return);
        QCOMPARE(opened.size(), 0);
    }

    void theChoicesAreThoseMade()
    {
        Fixture fixture(eightBillion(40 * kGiB));
        fixture.dialog.setPath("/models/8b.gguf");
        fixture.combo("Numbers")->setCurrentText("float16");
        fixture.combo("Cache")->setCurrentText("float32");
        fixture.combo("Rotation")->setCurrentText("linear");
        fixture.dialog.findChild<QDoubleSpinBox*>()->setValue(4);
        fixture.dialog.findChild<QSpinBox*>()->setValue(65536);
        QTRY_COMPARE(fixture.asked.size(), 2); // the rotation changes the preview: asked once more
        QCOMPARE(fixture.asked.last(), QString("/models/8b.gguf|linear:4"));
        QSignalSpy opened(&fixture.dialog, &OpenDialog::openRequested);
        QTest::mouseClick(&fixture.dialog.openButton(), Qt::LeftButton);
        QCOMPARE(opened.size(), 1);
        const auto choice = opened[0][1].value<OpenChoice>();
        QCOMPARE(choice.device, std::string("cpu"));
        QCOMPARE(choice.dtype, std::string("float16"));
        QCOMPARE(choice.cacheDtype, std::string("float32"));
        QCOMPARE(choice.rotary, std::string("linear:4"));
        QCOMPARE(choice.maxContext, std::int64_t{65536});
        // The override belongs to this model alone.
        fixture.dialog.setPath("/models/other.gguf");
        QCOMPARE(fixture.dialog.choice().rotary, std::string());
        QCOMPARE(fixture.dialog.choice().maxContext, std::int64_t{0});
        QCOMPARE(fixture.dialog.choice().dtype, std::string("float16"));
    }

    void aDeviceThatCannotBeUsedCannotBeChosen()
    {
        Fixture fixture(eightBillion(40 * kGiB));
        fixture.dialog.setPath("/models/8b.gguf");
        QComboBox* device = fixture.combo("Device");
        QCOMPARE(device->count(), 3);
        QVERIFY(!(device->model()->flags(device->model()->index(2, 0)) & Qt::ItemIsEnabled));
    }

    void aRotationThatTheFileLacksNumbersForCannotBeChosen()
    {
        OpenPreview preview = eightBillion(40 * kGiB);
        preview.rotaryOptions = {{"linear", "divides positions", true, ""},
                                 {"longrope", "lists", false, "the file has no lists"}};
        Fixture fixture(preview);
        fixture.dialog.setPath("/models/8b.gguf");
        QComboBox* rotation = fixture.combo("Rotation");
        QCOMPARE(rotation->count(), 3); // with the file's own
        QVERIFY(rotation->model()->flags(rotation->model()->index(1, 0)) & Qt::ItemIsEnabled);
        QVERIFY(!(rotation->model()->flags(rotation->model()->index(2, 0)) & Qt::ItemIsEnabled));
        QCOMPARE(rotation->itemData(2, Qt::ToolTipRole).toString(),
                 QString("the file has no lists"));
    }

    void typingAsksOnceAndALateAnswerIsDropped()
    {
        OpenDialog dialog;
        QSignalSpy asked(&dialog, &OpenDialog::previewRequested);
        dialog.show();
        auto* path = dialog.findChild<QLineEdit*>();
        QTest::keyClicks(path, "/a.gguf");
        QTRY_COMPARE(asked.size(), 1);
        const auto first = asked[0][0].toULongLong();
        dialog.setPath("/b.gguf");
        QCOMPARE(asked.size(), 2);
        dialog.setPreview(first, std::make_shared<OpenPreview>(eightBillion(kGiB)));
        QVERIFY(!dialog.openButton().isEnabled());
        QVERIFY(dialog.summary().shownMessage().startsWith("Reading"));
    }

    void recentAndDroppedModelsAreChosen()
    {
        Fixture fixture(eightBillion(40 * kGiB));
        fixture.dialog.setRecent({"/models/one.gguf", "/models/two"});
        auto* list = fixture.dialog.findChild<QListWidget*>();
        QCOMPARE(list->count(), 2);
        list->setFocus();
        list->setCurrentRow(0);
        QTest::keyClick(list, Qt::Key_Down);
        QCOMPARE(fixture.dialog.path(), QString("/models/two"));
        QMimeData data;
        data.setUrls({QUrl::fromLocalFile("/models/three.gguf")});
        QDragEnterEvent enter(QPoint(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&fixture.dialog, &enter);
        QDropEvent drop(QPointF(5, 5), Qt::CopyAction, &data, Qt::LeftButton, Qt::NoModifier);
        QCoreApplication::sendEvent(&fixture.dialog, &drop);
        QCOMPARE(fixture.dialog.path(), QString("/models/three.gguf"));
    }

    void theCommandLineSaysTheSameAndIsQuoted()
    {
        QCOMPARE(inspectCommand("/a b/it's.gguf", {}, false),
                 QString("kvscope-cli inspect '/a b/it'\\''s.gguf'"));
        OpenChoice choice;
        choice.device = "cuda:1";
        choice.dtype = "float32";
        choice.cacheDtype = "float16";
        choice.rotary = "linear:2";
        choice.maxContext = 4096;
        QCOMPARE(inspectCommand("a.gguf", choice, true),
                 QString("kvscope-cli inspect a.gguf --device cuda:1 --dtype float32 --cache-dtype "
                         "float16 --rope linear:2 --max-context 4096 --checks"));
    }

    void lengthsDoubleUpToTheMaximum()
    {
        using Lengths = std::vector<std::int64_t>;
        QCOMPARE(fitLengths(131072),
                 (Lengths{1024, 2048, 4096, 8192, 16384, 32768, 65536, 131072}));
        QCOMPARE(fitLengths(5000), (Lengths{1024, 2048, 4096, 5000}));
        QCOMPARE(fitLengths(1024), Lengths{1024});
        QCOMPARE(fitLengths(100), Lengths{100});
        QCOMPARE(fitLengths(std::int64_t{1} << 40).size(), std::size_t{8});
    }

    void theTableAddsUp()
    {
        FitModel model;
        model.setPreview(eightBillion(12 * kGiB), {});
        const int last = model.rowCount() - 1;
        const auto text = [&](int row, int column) {
            return model.index(row, column).data().toString();
        };
        QCOMPARE(model.columnCount(), FitModel::FirstDevice + 2); // the third cannot be used
        QCOMPARE(text(last, FitModel::ContextColumn), QString("131,072"));
        QCOMPARE(text(last, FitModel::CacheColumn), QString("16.00"));
        QCOMPARE(text(last, FitModel::GrowthColumn), QString("0.50"));
        QCOMPARE(text(last, FitModel::TotalColumn), QString("20.75"));
        QCOMPARE(text(last, FitModel::FirstDevice), QString("✕ 8.75 GiB too much"));
        QCOMPARE(text(last, FitModel::FirstDevice + 1), QString("✓ fits, 59.2 GiB left"));
        QCOMPARE(text(0, FitModel::FirstDevice), QString("✓ fits, 7.62 GiB left"));
    }

    // At the sizes of small screens, and of large ones at 200 %, nothing is cut off.
    void nothingIsClippedAtSmallSizes_data()
    {
        QTest::addColumn<QSize>("size");
        QTest::newRow("1280x800 at 200 %") << QSize(600, 360);
        QTest::newRow("1280x800 at 125 %") << QSize(984, 600);
        QTest::newRow("as it comes") << QSize(1000, 720);
    }
    void nothingIsClippedAtSmallSizes()
    {
        QFETCH(QSize, size);
        for (const ThemeChoice theme : {ThemeChoice::Light, ThemeChoice::Dark}) {
            applyTheme(*qobject_cast<QApplication*>(QCoreApplication::instance()), theme);
            Fixture fixture(eightBillion(12 * kGiB));
            fixture.dialog.setPath("/models/8b.gguf");
            fixture.dialog.resize(size);
            QVERIFY(fixture.dialog.size() == size);
            QCoreApplication::processEvents();
            for (auto* control : fixture.dialog.findChildren<QWidget*>()) {
                const bool isControl = qobject_cast<QPushButton*>(control) != nullptr ||
                                       qobject_cast<QComboBox*>(control) != nullptr ||
                                       qobject_cast<QAbstractSpinBox*>(control) != nullptr;
                if (!isControl || !control->isVisible())
                    continue;
                const QRect place(control->mapTo(&fixture.dialog, QPoint(0, 0)), control->size());
                QVERIFY2(fixture.dialog.rect().contains(place),
                         qPrintable(QStringLiteral("%1 ends at %2, %3 of %4, %5")
                                        .arg(control->accessibleName() + control->objectName())
                                        .arg(place.right())
                                        .arg(place.bottom())
                                        .arg(size.width())
                                        .arg(size.height())));
                QVERIFY(control->width() >= control->minimumSizeHint().width());
            }
        }
    }

    void everyControlHasAName()
    {
        OpenDialog dialog;
        for (auto* control : dialog.findChildren<QWidget*>()) {
            if (control->focusPolicy() == Qt::NoFocus || !control->isVisibleTo(&dialog))
                continue;
            auto* interface = QAccessible::queryAccessibleInterface(control);
            if (interface == nullptr || control->metaObject()->className() == QByteArray("QLabel"))
                continue;
            const bool isInner = qobject_cast<QAbstractSpinBox*>(control->parentWidget()) ||
                                 qobject_cast<QTabWidget*>(control->parentWidget()) ||
                                 qobject_cast<QTabWidget*>(control);
            QVERIFY2(isInner || !interface->text(QAccessible::Name).isEmpty(),
                     control->metaObject()->className());
        }
    }
};

QTEST_MAIN(TestOpenDialog)
#include "tst_open_dialog.moc"
