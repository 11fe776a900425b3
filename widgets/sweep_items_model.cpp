#include "widgets/sweep_items_model.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/sweep_cells.h"
#include "widgets/sweep_trials_model.h"
#include "widgets/theme.h"

#include <QColor>

#include <utility>

namespace kvscope {
namespace {

QVariant alignment(bool isRight)
{
    return QVariant::fromValue(
        Qt::Alignment((isRight ? Qt::AlignRight : Qt::AlignLeft) | Qt::AlignVCenter));
}

} // namespace

SweepItemsModel::SweepItemsModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void SweepItemsModel::setReport(std::shared_ptr<const SweepReport> report)
{
    const bool isSameSize = m_report && report && m_report->items.size() == report->items.size();
    if (isSameSize && !report->items.empty()) {
        m_report = std::move(report);
        Q_EMIT dataChanged(index(0, 0), index(rowCount() - 1, ColumnCount - 1));
        return;
    }
    beginResetModel();
    m_report = std::move(report);
    endResetModel();
}

int SweepItemsModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() || !m_report ? 0 : static_cast<int>(m_report->items.size());
}

int SweepItemsModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

QString SweepItemsModel::shown(int row, int column) const
{
    const SweepItemScore& item = m_report->items[static_cast<std::size_t>(row)];
    const bool hasOracle = m_report->oracle.score.trials > 0;
    switch (column) {
    case ItemColumn:
        return oneLine(item.name);
    case FoundColumn:
        return item.asked.trials > 0 ? scoreText(item.asked) : missingText();
    case OracleColumn:
        if (item.foundByOracle)
            return tr("✓ found");
        return hasOracle ? tr("✕ not found") : missingText();
    case ControlColumn:
        return item.foundByControl ? tr("! answered") : tr("not answered");
    default:
        return {};
    }
}

QVariant SweepItemsModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const SweepItemScore& item = m_report->items[static_cast<std::size_t>(index.row())];
    const Theme& theme = Theme::current();
    switch (role) {
    case Qt::DisplayRole:
        return shown(index.row(), index.column());
    case Qt::ToolTipRole:
        return plainTooltip(shown(index.row(), index.column()));
    case Qt::TextAlignmentRole:
        return alignment(index.column() == FoundColumn);
    case Qt::FontRole:
        return index.column() == FoundColumn ? digitFont() : uiFont();
    case Qt::ForegroundRole:
        if (index.column() == ControlColumn)
            return item.foundByControl ? theme.caution : theme.ink2;
        if (index.column() == OracleColumn && shown(index.row(), OracleColumn) != missingText())
            return item.foundByOracle ? theme.good : theme.bad;
        return theme.ink;
    default:
        return {};
    }
}

QVariant SweepItemsModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount)
        return {};
    const QString titles[ColumnCount] = {m_report && m_report->experiment == "passkey" ? tr("Key")
                                                                                       : tr("Fact"),
                                         tr("Found"), tr("Alone"), tr("Control")};
    const QString explanations[ColumnCount] = {
        tr("What was asked for"), tr("Found of asked, over all lengths and depths"),
        tr("Found alone in a short prompt"),
        tr("Answered without it: then what is found need not come from the prompt")};
    switch (role) {
    case Qt::DisplayRole:
        return titles[section];
    case Qt::ToolTipRole:
        return explanations[section];
    case Qt::TextAlignmentRole:
        return alignment(section == FoundColumn);
    default:
        return {};
    }
}

SnapshotTable SweepItemsModel::table() const
{
    SnapshotTable table;
    for (int column = 0; column < ColumnCount; ++column)
        table.columns.append(headerData(column, Qt::Horizontal, Qt::DisplayRole).toString());
    for (int row = 0; row < rowCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < ColumnCount; ++column)
            cells.append(shown(row, column));
        table.rows.append(cells);
    }
    return table;
}

} // namespace kvscope
