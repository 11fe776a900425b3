#include "widgets/token_panel_table.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

namespace kvscope {

void TokenReachModel::setReach(const TokenReach& reach)
{
    std::vector<ReachRow> rows = foldedRows(reach.layers);
    if (rows == m_rows)
        return;
    if (rows.size() != m_rows.size()) {
        beginResetModel();
        m_rows = std::move(rows);
        endResetModel();
        return;
    }
    m_rows = std::move(rows);
    Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
}

int TokenReachModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

int TokenReachModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString TokenReachModel::text(const ReachRow& row, int column) const
{
    switch (column) {
    case Layer:
        return rangeText(row.firstLayer, row.lastLayer);
    case Kind:
        return row.reach.isWindowed ? tr("windowed") : tr("global");
    case Holds:
        return row.reach.isHeld ? tr("✓ index")
                                : tr("✕ left at %1").arg(countText(row.reach.leftAt));
    case Slot:
        // In brackets where the slot was the token's once and holds another now.
        return row.reach.isHeld ? countText(row.reach.slot)
                                : QLatin1Char('(') + countText(row.reach.slot) + QLatin1Char(')');
    default:
        return {};
    }
}

QString TokenReachModel::hint(const ReachRow& row) const
{
    if (row.reach.isHeld)
        return tr("Its keys and values lie in slot %1.").arg(countText(row.reach.slot));
    return tr("The query at %1 was the first not to see it; its slot was %2.")
        .arg(countText(row.reach.leftAt), countText(row.reach.slot));
}

QVariant TokenReachModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const ReachRow& row = m_rows[static_cast<std::size_t>(index.row())];
    const Theme& theme = Theme::current();
    switch (role) {
    case Qt::DisplayRole:
        return text(row, index.column());
    case Qt::ToolTipRole:
        return hint(row);
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(
            (index.column() == Layer || index.column() == Slot ? Qt::AlignRight : Qt::AlignLeft) |
            Qt::AlignVCenter);
    case Qt::FontRole:
        return index.column() == Layer || index.column() == Slot ? digitFont(TextSize::Secondary)
                                                                 : uiFont(TextSize::Secondary);
    case Qt::ForegroundRole:
        if (index.column() == Kind)
            return row.reach.isWindowed ? theme.windowed : theme.global;
        return row.reach.isHeld ? theme.ink : theme.ink3;
    default:
        return {};
    }
}

QVariant TokenReachModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal)
        return {};
    if (role == Qt::TextAlignmentRole)
        return QVariant::fromValue(
            (section == Layer || section == Slot ? Qt::AlignRight : Qt::AlignLeft) |
            Qt::AlignVCenter);
    if (role == Qt::FontRole)
        return uiFont(TextSize::Secondary);
    if (role != Qt::DisplayRole)
        return {};
    switch (section) {
    case Layer:
        return tr("L");
    case Kind:
        return tr("Kind");
    case Holds:
        return tr("Holds it");
    case Slot:
        return tr("Slot");
    default:
        return {};
    }
}

} // namespace kvscope
