#include "widgets/sweep_trials_panel.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/plot_header.h"
#include "widgets/table_export.h"
#include "widgets/theme.h"

#include <QButtonGroup>
#include <QEvent>
#include <QHeaderView>
#include <QMenu>
#include <QPainter>
#include <QScopedValueRollback>
#include <QStackedWidget>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <utility>

namespace kvscope {
namespace {

constexpr int kItemsChoice = 2; ///< those before it are TrialFilter
/// Pixels that names and answers keep; what is cut is in their tooltips.
constexpr int kNarrowestName = 84;
constexpr int kNarrowestAnswer = 80;

} // namespace

SweepTrialsPanel::SweepTrialsPanel(QWidget* parent)
    : QWidget(parent)
    , m_trials(new SweepTrialsModel(this))
    , m_items(new SweepItemsModel(this))
    , m_header(new PlotHeader({}, this))
    , m_choice(
          m_header->addChoice({tr("All"), tr("Wrong"), tr("By fact")}, tr("What the rows are")))
    , m_stack(new QStackedWidget(this))
    , m_trialsView(new QTableView)
    , m_itemsView(new QTableView)
{
    setUpView(m_trialsView, m_trials, tr("Trials"));
    setUpView(m_itemsView, m_items, tr("Facts"));
    m_trialsView->horizontalHeader()->setSectionResizeMode(SweepTrialsModel::AnswerColumn,
                                                           QHeaderView::Interactive);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_stack, 1);
    column->addStretch(0); // keeps the header at the top while there are no rows
    setFocusProxy(m_stack);
    connect(m_choice, &QButtonGroup::idClicked, this, [this](int id) {
        if (id == kItemsChoice)
            return setView(TrialsView::Items);
        setFilter(static_cast<TrialFilter>(id));
        setView(TrialsView::Trials);
    });
    connect(m_trialsView->selectionModel(), &QItemSelectionModel::currentRowChanged, this,
            &SweepTrialsPanel::onCurrentRow);
    fill();
}

void SweepTrialsPanel::setUpView(QTableView* view, QAbstractItemModel* model, const QString& name)
{
    view->setModel(model);
    view->setAlternatingRowColors(true);
    view->setShowGrid(false);
    view->setWordWrap(false);
    view->setFrameShape(QFrame::NoFrame);
    view->setTabKeyNavigation(false); // Tab leaves the table
    view->setSelectionBehavior(QAbstractItemView::SelectRows);
    view->setSelectionMode(QAbstractItemView::SingleSelection);
    view->setEditTriggers(QAbstractItemView::NoEditTriggers);
    view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    view->setTextElideMode(Qt::ElideRight);
    view->verticalHeader()->hide();
    view->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    view->verticalHeader()->setDefaultSectionSize(spacing::kListRow);
    view->horizontalHeader()->setHighlightSections(false);
    view->setAccessibleName(name);
    view->setContextMenuPolicy(Qt::CustomContextMenu);
    connect(view, &QWidget::customContextMenuRequested, this,
            [this, view](const QPoint& point) { showMenu(view->viewport()->mapToGlobal(point)); });
    m_stack->addWidget(view);
}

void SweepTrialsPanel::setReport(std::shared_ptr<const SweepReport> report)
{
    m_report = std::move(report);
    if (m_key && (!m_report || !cellOf(*m_report, *m_key))) {
        m_key.reset();
        m_chosen.reset();
    }
    fill();
}

void SweepTrialsPanel::showCell(const SweepCellKey& key)
{
    if (m_key != key)
        m_chosen.reset();
    m_key = key;
    setView(TrialsView::Trials);
    fill();
}

void SweepTrialsPanel::clear()
{
    m_key.reset();
    m_chosen.reset();
    setReport(nullptr);
}

void SweepTrialsPanel::setFilter(TrialFilter filter)
{
    if (currentView() == TrialsView::Trials)
        m_choice->button(static_cast<int>(filter))->setChecked(true);
    const QScopedValueRollback filling(m_isFilling, true);
    m_trials->setFilter(filter);
    fill();
}

void SweepTrialsPanel::setView(TrialsView view)
{
    const int choice =
        view == TrialsView::Items ? kItemsChoice : static_cast<int>(m_trials->filter());
    m_choice->button(choice)->setChecked(true);
    m_stack->setCurrentIndex(static_cast<int>(view));
    describe();
    m_stack->setVisible(hasRows());
    fitColumns();
    update();
}

TrialsView SweepTrialsPanel::currentView() const
{
    return static_cast<TrialsView>(m_stack->currentIndex());
}

std::optional<std::size_t> SweepTrialsPanel::chosenTrial() const
{
    return m_chosen;
}

QWidget* SweepTrialsPanel::takeHeader()
{
    layout()->removeWidget(m_header);
    m_header->setSurface(&Theme::dockTitle);
    return m_header;
}

bool SweepTrialsPanel::hasRows() const
{
    return (currentView() == TrialsView::Trials ? m_trials->rowCount() : m_items->rowCount()) > 0;
}

void SweepTrialsPanel::fill()
{
    const QScopedValueRollback filling(m_isFilling, true);
    m_trials->setCell(m_report, m_key);
    m_items->setReport(m_report);
    if (m_chosen)
        if (const auto row = m_trials->rowOf(*m_chosen))
            if (m_trialsView->currentIndex().row() != *row) // selecting scrolls there
                m_trialsView->selectRow(*row);
    const bool hasKeys = m_report && m_report->experiment == "passkey";
    m_choice->button(kItemsChoice)->setText(hasKeys ? tr("By key") : tr("By fact"));
    describe();
    m_stack->setVisible(hasRows());
    fitColumns();
    update();
}

void SweepTrialsPanel::describe()
{
    QString question = tr("no cell chosen");
    const SweepCell* cell = m_report && m_key ? cellOf(*m_report, *m_key) : nullptr;
    if (currentView() == TrialsView::Items)
        question = tr("found over all lengths and depths");
    else if (cell && cell->score.trials > 0)
        question = tr("%1: %2, %3")
                       .arg(cellName(*m_report, *m_key), scoreText(cell->score),
                            intervalText(cell->interval));
    else if (cell)
        question = tr("%1: %2").arg(cellName(*m_report, *m_key), stateName(cell->state));
    m_description = question;
    m_header->setTexts({tr("Trials"), question, tr("measured")});
    setAccessibleName(tr("Trials"));
    setAccessibleDescription(question);
}

/// Numbers and kinds have what they need, then names; answers take what is left.
void SweepTrialsPanel::fitColumns()
{
    const auto fit = [](QTableView* view, int names, int stretched) {
        if (view->model()->rowCount() == 0)
            return;
        view->resizeColumnsToContents();
        int room = view->viewport()->width();
        for (int column = 0; column < view->model()->columnCount(); ++column)
            if (column != stretched && column != names)
                room -= view->columnWidth(column);
        if (names != stretched) {
            const int most = std::max(kNarrowestName, room - kNarrowestAnswer);
            view->setColumnWidth(names, std::min(view->columnWidth(names), most));
            room -= view->columnWidth(names);
        }
        view->setColumnWidth(stretched, std::max(kNarrowestAnswer, room));
    };
    fit(m_trialsView, SweepTrialsModel::ItemColumn, SweepTrialsModel::AnswerColumn);
    fit(m_itemsView, SweepItemsModel::ItemColumn, SweepItemsModel::ItemColumn);
}

void SweepTrialsPanel::onCurrentRow(const QModelIndex& current)
{
    if (m_isFilling)
        return;
    const auto trial = m_trials->trialAt(current.row());
    if (!trial)
        return;
    m_chosen = trial;
    Q_EMIT trialChosen(*trial);
}

ExportSource SweepTrialsPanel::exportSource() const
{
    const bool isTrials = currentView() == TrialsView::Trials;
    const SnapshotTable table = isTrials ? m_trials->table() : m_items->table();
    std::vector<int> right{SweepItemsModel::FoundColumn};
    if (isTrials)
        right = {SweepTrialsModel::NumberColumn, SweepTrialsModel::ExpectedColumn,
                 SweepTrialsModel::LossColumn};
    const QString title = isTrials ? m_description : tr("By fact: %1").arg(m_description);
    return tableExportSource(isTrials ? QStringLiteral("trials") : QStringLiteral("facts"), title,
                             table, right, m_exportCaption);
}

void SweepTrialsPanel::showMenu(const QPoint& globalPosition)
{
    QMenu menu(this);
    addExportActions(
        menu, this, [this] { return exportSource(); },
        [this](const QString& path, const std::optional<QString>& error) {
            if (error)
                Q_EMIT exportFailed(*error);
            else
                Q_EMIT exported(path);
        });
    menu.exec(globalPosition);
}

void SweepTrialsPanel::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    if (hasRows())
        return;
    const QRectF area = QRectF(rect()).adjusted(0, m_header->height(), 0, 0);
    const SweepCell* cell = m_report && m_key ? cellOf(*m_report, *m_key) : nullptr;
    if (currentView() == TrialsView::Items || !m_report)
        paintEmptyState(painter, area, theme, tr("No sweep yet"), {});
    else if (!cell)
        paintEmptyState(
            painter, area, theme, tr("No cell chosen"),
            tr("Click a cell of the map, or go there with the arrows and press Enter."));
    else if (cell->trials.empty())
        paintEmptyState(painter, area, theme, tr("No trial yet"),
                        tr("The cell is %1.").arg(stateName(cell->state)));
    else
        paintEmptyState(painter, area, theme, tr("No wrong answer here"),
                        tr("All %1 trials of this cell were found.").arg(cell->trials.size()));
}

void SweepTrialsPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    fitColumns();
}

void SweepTrialsPanel::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange) {
        update();
        m_trialsView->viewport()->update();
        m_itemsView->viewport()->update();
    }
    QWidget::changeEvent(event);
}

} // namespace kvscope
