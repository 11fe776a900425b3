#pragma once

#include "widgets/snapshot_table.h"
#include "widgets/sweep_cells.h"

#include <QAbstractTableModel>

#include <cstddef>
#include <memory>
#include <optional>
#include <vector>

namespace kvscope {

enum class TrialFilter { All, Wrong };

/// The trials of one cell of a sweep, a row each, in the order they were run.
class SweepTrialsModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column {
        NumberColumn, ///< within the cell, from 1
        ItemColumn,
        ExpectedColumn,
        AnswerColumn, ///< on one line; the tooltip has it whole
        KindColumn,
        LossColumn, ///< mean nll of the right answer's tokens, nats
        ColumnCount
    };

    explicit SweepTrialsModel(QObject* parent = nullptr);

    /// \param report  null, or without that cell: no rows
    void setCell(std::shared_ptr<const SweepReport> report, const std::optional<SweepCellKey>& key);
    TrialFilter filter() const { return m_filter; }
    void setFilter(TrialFilter filter);

    /// Index in SweepReport::trials of the trial in a row.
    std::optional<std::size_t> trialAt(int row) const;
    std::optional<int> rowOf(std::size_t trial) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// As shown, but with answers whole.
    SnapshotTable table() const;

private:
    struct Row
    {
        std::size_t trial = 0; ///< index in the report
        int number = 0;

        bool operator==(const Row&) const = default;
    };

    std::vector<Row> rowsOf(const SweepReport* report,
                            const std::optional<SweepCellKey>& key) const;
    const SweepTrial& trial(int row) const;
    QString shown(int row, int column) const;
    QString tooltip(int row, int column) const;

    std::shared_ptr<const SweepReport> m_report;
    std::optional<SweepCellKey> m_key;
    TrialFilter m_filter = TrialFilter::All;
    std::vector<Row> m_rows;
};

/// Mean nll of the right answer's tokens, in nats; negative without tokens.
double meanAnswerNll(const SweepTrial& trial);
/// Text on one line, line breaks made visible.
QString oneLine(const std::string& text);

} // namespace kvscope
