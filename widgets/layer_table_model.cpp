#include "widgets/layer_table_model.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QLocale>

#include <algorithm>

namespace kvscope {
namespace {

constexpr double kKiB = 1024.0;
constexpr double kMiB = 1024.0 * 1024.0;
constexpr std::uint64_t kMiBFrom = 10ULL << 20;

} // namespace

LayerTableModel::LayerTableModel(QObject* parent)
    : QAbstractTableModel(parent)
{
}

void LayerTableModel::setLayers(const std::vector<LayerDescription>& layers)
{
    beginResetModel();
    m_layers = layers;
    m_states.clear();
    m_usesMiB = false;
    endResetModel();
}

void LayerTableModel::setSnapshot(const CacheSnapshot& snapshot)
{
    m_states = snapshot.layers;
    const bool wantsMiB =
        std::any_of(m_states.begin(), m_states.end(),
                    [](const LayerCacheState& state) { return state.allocatedBytes >= kMiBFrom; });
    if (wantsMiB != m_usesMiB) {
        m_usesMiB = wantsMiB;
        Q_EMIT headerDataChanged(Qt::Horizontal, LiveColumn, AllocatedColumn);
    }
    if (!m_layers.empty())
        Q_EMIT dataChanged(index(0, RetainedColumn), index(rowCount() - 1, AllocatedColumn));
}

void LayerTableModel::clear()
{
    setLayers({});
}

int LayerTableModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_layers.size());
}

int LayerTableModel::columnCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : ColumnCount;
}

const LayerCacheState* LayerTableModel::stateOf(int row) const
{
    const auto index = static_cast<std::size_t>(row);
    return index < m_states.size() ? &m_states[index] : nullptr;
}

QString LayerTableModel::bytesCell(std::uint64_t bytes) const
{
    if (bytes == 0)
        return QStringLiteral("0");
    const auto value = static_cast<double>(bytes);
    const QLocale grouped(QLocale::English, QLocale::UnitedStates);
    return m_usesMiB ? grouped.toString(value / kMiB, 'f', 2)
                     : grouped.toString(value / kKiB, 'f', 1);
}

QString LayerTableModel::shown(int row, int column) const
{
    const LayerDescription& layer = m_layers[static_cast<std::size_t>(row)];
    const LayerCacheState* state = stateOf(row);
    switch (column) {
    case LayerColumn:
        return QString::number(row);
    case KindColumn:
        return layer.isWindowed ? tr("windowed") : tr("global");
    case WindowColumn:
        return layer.isWindowed ? countText(layer.window) : missingText();
    case SinkColumn:
        return layer.hasSink ? tr("yes") : missingText();
    case IdentityColumn:
        return countText(layer.identityPairs);
    case RetainedColumn:
        return state ? countText(state->retained) : missingText();
    case CapacityColumn:
        return state ? countText(state->capacity) : missingText();
    case SlackColumn:
        return state ? countText(state->slack()) : missingText();
    case LiveColumn:
        return state ? bytesCell(state->liveBytes) : missingText();
    case AllocatedColumn:
        return state ? bytesCell(state->allocatedBytes) : missingText();
    case BytesPerTokenColumn:
        return countText(layer.cacheBytesPerToken);
    default:
        return {};
    }
}

QString LayerTableModel::plain(int row, int column) const
{
    const LayerDescription& layer = m_layers[static_cast<std::size_t>(row)];
    const LayerCacheState* state = stateOf(row);
    const auto number = [](auto value) { return QString::number(value); };
    switch (column) {
    case WindowColumn:
        return layer.isWindowed ? number(layer.window) : QString();
    case SinkColumn:
        return layer.hasSink ? QStringLiteral("1") : QStringLiteral("0");
    case IdentityColumn:
        return number(layer.identityPairs);
    case RetainedColumn:
        return state ? number(state->retained) : QString();
    case CapacityColumn:
        return state ? number(state->capacity) : QString();
    case SlackColumn:
        return state ? number(state->slack()) : QString();
    case LiveColumn:
        return state ? number(state->liveBytes) : QString();
    case AllocatedColumn:
        return state ? number(state->allocatedBytes) : QString();
    case BytesPerTokenColumn:
        return number(layer.cacheBytesPerToken);
    default:
        return shown(row, column);
    }
}

bool LayerTableModel::isZero(int row, int column) const
{
    const QString text = shown(row, column);
    return text == missingText() || (column != LayerColumn && text == QLatin1String("0"));
}

QVariant LayerTableModel::data(const QModelIndex& index, int role) const
{
    if (!index.isValid() || index.row() >= rowCount())
        return {};
    const bool isWord = index.column() == KindColumn || index.column() == SinkColumn;
    switch (role) {
    case Qt::DisplayRole:
        return shown(index.row(), index.column());
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(isWord ? Qt::AlignLeft | Qt::AlignVCenter
                                                        : Qt::AlignRight | Qt::AlignVCenter));
    case Qt::FontRole:
        return isWord ? uiFont() : digitFont();
    case Qt::ForegroundRole: {
        const Theme& theme = Theme::current();
        if (index.column() == KindColumn)
            return m_layers[static_cast<std::size_t>(index.row())].isWindowed ? theme.windowed
                                                                              : theme.global;
        return isZero(index.row(), index.column()) ? theme.ink3 : theme.ink;
    }
    default:
        return {};
    }
}

QVariant LayerTableModel::headerData(int section, Qt::Orientation orientation, int role) const
{
    if (orientation != Qt::Horizontal || section < 0 || section >= ColumnCount)
        return {};
    const QString unit = m_usesMiB ? QStringLiteral("MiB") : QStringLiteral("KiB");
    const QString titles[ColumnCount] = {tr("Layer"),
                                         tr("Kind"),
                                         tr("Window"),
                                         tr("Sink"),
                                         tr("Identity pairs"),
                                         tr("Retained"),
                                         tr("Capacity"),
                                         tr("Slack"),
                                         tr("Live, %1").arg(unit),
                                         tr("Allocated, %1").arg(unit),
                                         tr("Bytes/token")};
    const QString explanations[ColumnCount] = {
        tr("Index of the layer, from 0"),
        tr("Windowed: a ring of the newest positions. Global: a growing array of all positions"),
        tr("Positions that a query of a windowed layer sees"),
        tr("Whether attention has a learned sink per query head"),
        tr("Rotary pairs that are left without rotation"),
        tr("Positions that can be read, tokens"),
        tr("Slots allocated, tokens"),
        tr("Capacity less retained, tokens"),
        tr("Bytes of what can be read"),
        tr("Bytes allocated"),
        tr("Bytes that one more position costs")};
    const bool isWord = section == KindColumn || section == SinkColumn;
    switch (role) {
    case Qt::DisplayRole:
        return titles[section];
    case Qt::ToolTipRole:
        return explanations[section];
    case Qt::TextAlignmentRole:
        return QVariant::fromValue(Qt::Alignment(isWord ? Qt::AlignLeft | Qt::AlignVCenter
                                                        : Qt::AlignRight | Qt::AlignVCenter));
    default:
        return {};
    }
}

SnapshotTable LayerTableModel::exportTable() const
{
    SnapshotTable table;
    table.columns = {tr("layer"),
                     tr("kind"),
                     tr("window, tokens"),
                     tr("sink"),
                     tr("identity pairs"),
                     tr("retained, tokens"),
                     tr("capacity, tokens"),
                     tr("slack, tokens"),
                     tr("live, bytes"),
                     tr("allocated, bytes"),
                     tr("bytes per token")};
    for (int row = 0; row < rowCount(); ++row) {
        QStringList cells;
        for (int column = 0; column < ColumnCount; ++column)
            cells.append(plain(row, column));
        table.rows.append(cells);
    }
    return table;
}

SnapshotTable LayerTableModel::shownTable() const
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
