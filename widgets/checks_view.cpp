#include "widgets/checks_view.h"

#include "widgets/checks_model.h"
#include "widgets/export_menu.h"
#include "widgets/fonts.h"

#include <QApplication>
#include <QButtonGroup>
#include <QClipboard>
#include <QHBoxLayout>
#include <QHeaderView>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QMenu>
#include <QPushButton>
#include <QTableView>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kResultWidth = 84;
constexpr int kSectionWidth = 96;
constexpr int kWhatWidth = 220;

} // namespace

ChecksView::ChecksView(QWidget* parent)
    : QWidget(parent)
    , m_checks(new ChecksModel(this))
    , m_filter(new ChecksFilter(m_checks, this))
    , m_text(new QLineEdit)
    , m_results(new QButtonGroup(this))
    , m_table(new QTableView)
    , m_detail(new QLabel)
    , m_note(new QLabel)
    , m_copy(new QPushButton(tr("Copy")))
    , m_export(new QPushButton(tr("Export…")))
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, spacing::kStep, 0, 0);
    column->setSpacing(spacing::kStep);
    column->addWidget(buildBar());
    buildTable();
    column->addWidget(m_table, 1);
    for (QLabel* label : {m_detail, m_note}) {
        label->setWordWrap(true);
        label->setTextFormat(Qt::PlainText);
        column->addWidget(label);
    }
    m_detail->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_detail->setAccessibleName(tr("The selected check"));
    clear();
}

QWidget* ChecksView::buildBar()
{
    auto* bar = new QWidget;
    auto* row = new QHBoxLayout(bar);
    row->setContentsMargins(0, 0, 0, 0);
    row->setSpacing(0);
    m_text->setPlaceholderText(tr("Filter: a tensor's name, metadata, …"));
    m_text->setClearButtonEnabled(true);
    m_text->setAccessibleName(tr("Filter the checks"));
    connect(m_text, &QLineEdit::textChanged, this, [this](const QString& text) {
        m_filter->setText(text);
        showCounts();
    });
    row->addWidget(m_text, 1);
    row->addSpacing(spacing::kStep);
    for (const CheckResult least :
         {CheckResult::Passed, CheckResult::Warning, CheckResult::Failed}) {
        auto* button = new QToolButton;
        button->setProperty("kind", "segment");
        button->setCheckable(true);
        button->setChecked(least == CheckResult::Passed);
        button->setFocusPolicy(Qt::StrongFocus);
        m_results->addButton(button, static_cast<int>(least));
        row->addWidget(button);
    }
    connect(m_results, &QButtonGroup::idClicked, this, [this](int least) {
        m_filter->setLeastResult(static_cast<CheckResult>(least));
        showCounts();
    });
    row->addSpacing(spacing::kStep);
    for (QPushButton* button : {m_copy, m_export}) {
        button->setAutoDefault(false);
        row->addWidget(button);
        row->addSpacing(spacing::kTight);
    }
    connect(m_copy, &QPushButton::clicked, this, &ChecksView::copy);
    connect(m_export, &QPushButton::clicked, this, &ChecksView::showExportMenu);
    return bar;
}

void ChecksView::buildTable()
{
    m_table->setModel(m_filter);
    m_table->setAccessibleName(tr("Checks made of the files"));
    m_table->setAlternatingRowColors(true);
    m_table->setShowGrid(false);
    m_table->setWordWrap(false);
    m_table->setTabKeyNavigation(false);
    m_table->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_table->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_table->verticalHeader()->hide();
    m_table->verticalHeader()->setDefaultSectionSize(spacing::kListRow);
    m_table->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    QHeaderView* header = m_table->horizontalHeader();
    header->setHighlightSections(false);
    header->setSectionResizeMode(ChecksModel::FoundColumn, QHeaderView::Stretch);
    header->setSectionResizeMode(ChecksModel::BytesColumn, QHeaderView::ResizeToContents);
    header->setMinimumSectionSize(60);
    m_table->setColumnWidth(ChecksModel::ResultColumn, kResultWidth);
    m_table->setColumnWidth(ChecksModel::SectionColumn, kSectionWidth);
    m_table->setColumnWidth(ChecksModel::WhatColumn, kWhatWidth);
    connect(m_table->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &ChecksView::showDetail);
    m_table->installEventFilter(this); // the view itself would copy one cell
}

void ChecksView::setChecks(std::vector<CheckEntry> checks, const QString& subject)
{
    m_subject = subject;
    m_checks->setChecks(std::move(checks));
    showCounts();
    showDetail();
    for (int row = 0; row < m_filter->rowCount(); ++row) {
        const int source = m_filter->mapToSource(m_filter->index(row, 0)).row();
        if (m_checks->check(source).result != CheckResult::Failed)
            continue;
        m_table->selectRow(row);
        // Later: a page that was never shown has no height to scroll in.
        QMetaObject::invokeMethod(
            m_table,
            [this] {
                m_table->scrollTo(m_table->currentIndex(), QAbstractItemView::PositionAtCenter);
            },
            Qt::QueuedConnection);
        break;
    }
}

void ChecksView::showDetail()
{
    const QModelIndex current = m_filter->mapToSource(m_table->currentIndex());
    m_detail->setVisible(current.isValid());
    if (current.isValid())
        m_detail->setText(wholeText(m_checks->check(current.row())));
}

void ChecksView::clear()
{
    m_subject.clear();
    m_checks->setChecks({});
    showCounts();
    showDetail();
}

void ChecksView::showCounts()
{
    const int failed = m_checks->count(CheckResult::Failed);
    const int warned = m_checks->count(CheckResult::Warning);
    const int total = m_checks->rowCount();
    m_results->button(static_cast<int>(CheckResult::Passed))->setText(tr("All %1").arg(total));
    m_results->button(static_cast<int>(CheckResult::Warning))
        ->setText(tr("! Not passed %1").arg(warned + failed));
    m_results->button(static_cast<int>(CheckResult::Failed))
        ->setText(tr("✕ Failed %1").arg(failed));
    m_copy->setEnabled(total > 0);
    m_export->setEnabled(total > 0);
    QString note;
    if (total == 0)
        note = tr("No checks yet: choose a model.");
    else if (shownRows() == 0)
        note = tr("No check matches the filter.");
    else if (failed > 0)
        note = tr("Opening ends at a failure. What depends on it was not checked.");
    m_note->setText(note);
    m_note->setVisible(!note.isEmpty());
    m_table->setAccessibleDescription(
        tr("%1 checks: %2 failed, %3 warnings").arg(total).arg(failed).arg(warned));
}

int ChecksView::shownRows() const
{
    return m_filter->rowCount();
}

QString ChecksView::csv() const
{
    return csvText(checksTable(m_checks->checks()));
}

QString ChecksView::copiedText() const
{
    QList<int> rows;
    for (const QModelIndex& index : m_table->selectionModel()->selectedRows())
        rows.append(index.row());
    std::sort(rows.begin(), rows.end());
    if (rows.size() < 2) // one row is selected for being current
        for (rows.clear(); rows.size() < shownRows();)
            rows.append(static_cast<int>(rows.size()));
    std::vector<CheckEntry> checks;
    for (const int row : rows)
        checks.push_back(m_checks->check(m_filter->mapToSource(m_filter->index(row, 0)).row()));
    const SnapshotTable table = checksTable(checks);
    QStringList lines{table.columns.join(u'\t')};
    for (const QStringList& row : table.rows)
        lines << row.join(u'\t');
    return lines.join(u'\n');
}

void ChecksView::copy() const
{
    QApplication::clipboard()->setText(copiedText());
}

void ChecksView::showExportMenu()
{
    QMenu menu;
    const auto source = [this] {
        ExportSource made;
        made.name = QStringLiteral("checks-") + m_subject;
        made.csv = [this] { return csv(); };
        return made;
    };
    addExportActions(menu, this, source,
                     [this](const QString&, const std::optional<QString>& error) {
                         if (error)
                             Q_EMIT exportFailed(*error);
                     });
    menu.exec(m_export->mapToGlobal(QPoint(0, m_export->height())));
}

bool ChecksView::eventFilter(QObject* watched, QEvent* event)
{
    if (watched == m_table && event->type() == QEvent::KeyPress &&
        static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy)) {
        copy();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

} // namespace kvscope
