#pragma once

#include "widgets/export_menu.h"
#include "widgets/sweep_items_model.h"
#include "widgets/sweep_trials_model.h"

#include <QWidget>

#include <memory>
#include <optional>

class QButtonGroup;
class QStackedWidget;
class QTableView;

namespace kvscope {

class PlotHeader;

enum class TrialsView {
    Trials, ///< of the chosen cell
    Items,  ///< every fact or key over the whole sweep
};

/// The trials of the cell that was chosen in a sweep's map, or all facts with their scores.
/// GUI thread.
class SweepTrialsPanel : public QWidget
{
    Q_OBJECT
public:
    explicit SweepTrialsPanel(QWidget* parent = nullptr);

    /// What a sweep knows so far; null: nothing. Keeps the cell and the chosen trial.
    void setReport(std::shared_ptr<const SweepReport> report);
    /// Shows a cell's trials, none of them chosen.
    void showCell(const SweepCellKey& key);
    void clear();

    void setFilter(TrialFilter filter);
    void setView(TrialsView view);
    TrialsView currentView() const;
    /// Index in SweepReport::trials.
    std::optional<std::size_t> chosenTrial() const;

    /// "4,096 at 50 %: 4/12, .14–.61".
    QString description() const { return m_description; }
    /// Title, cell, and choices, to stand in a dock's title bar.
    QWidget* takeHeader();
    QTableView* trialsView() const { return m_trialsView; }
    QTableView* itemsView() const { return m_itemsView; }

    void setExportCaption(const QString& caption) { m_exportCaption = caption; }
    ExportSource exportSource() const;

    QSize sizeHint() const override { return {440, 300}; }
    QSize minimumSizeHint() const override { return {280, 140}; }

Q_SIGNALS:
    /// The person chose a trial: its index in SweepReport::trials.
    void trialChosen(std::size_t index);
    void exported(const QString& path);
    void exportFailed(const QString& message);

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void setUpView(QTableView* view, QAbstractItemModel* model, const QString& name);
    void fill();
    void describe();
    void fitColumns();
    void onCurrentRow(const QModelIndex& current);
    void showMenu(const QPoint& globalPosition);
    bool hasRows() const;

    std::shared_ptr<const SweepReport> m_report;
    std::optional<SweepCellKey> m_key;
    SweepTrialsModel* m_trials;
    SweepItemsModel* m_items;
    PlotHeader* m_header;
    QButtonGroup* m_choice; ///< all, wrong, by fact
    QStackedWidget* m_stack;
    QTableView* m_trialsView;
    QTableView* m_itemsView;
    std::optional<std::size_t> m_chosen;
    bool m_isFilling = false; ///< rows change by themselves: nobody chose one
    QString m_description;
    QString m_exportCaption;
};

} // namespace kvscope
