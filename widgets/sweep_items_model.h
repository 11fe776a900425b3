#pragma once

#include "engine/lab/sweep_report.h"
#include "widgets/snapshot_table.h"

#include <QAbstractTableModel>

#include <memory>

namespace kvscope {

/// Every fact or key over all lengths and depths: a table by fact. It finds the one that is always
/// found, or that the control answers.
class SweepItemsModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column {
        ItemColumn,
        FoundColumn,   ///< k/n over all lengths and depths
        OracleColumn,  ///< found alone in a short prompt
        ControlColumn, ///< answered without it
        ColumnCount
    };

    explicit SweepItemsModel(QObject* parent = nullptr);

    void setReport(std::shared_ptr<const SweepReport> report);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    SnapshotTable table() const;

private:
    QString shown(int row, int column) const;

    std::shared_ptr<const SweepReport> m_report;
};

} // namespace kvscope
