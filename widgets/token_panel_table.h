#pragma once

#include "widgets/token_panel_reach.h"

#include <QAbstractTableModel>

#include <vector>

namespace kvscope {

/// The layers of a TokenReach as a table: layer, kind, whether it holds the token, slot.
class TokenReachModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { Layer, Kind, Holds, Slot, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    /// Rows that stay as they were are not drawn again.
    void setReach(const TokenReach& reach);

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    QString text(const ReachRow& row, int column) const;
    QString hint(const ReachRow& row) const;

    std::vector<ReachRow> m_rows;
};

} // namespace kvscope
