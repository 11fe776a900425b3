#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/session/engine_snapshot.h"
#include "widgets/snapshot_table.h"

#include <QAbstractTableModel>

#include <cstdint>
#include <vector>

namespace kvscope {

/// A row a layer: what it is (from the model) and what its cache holds (from the newest snapshot).
class LayerTableModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column {
        LayerColumn,
        KindColumn,
        WindowColumn,
        SinkColumn,
        IdentityColumn, ///< rotary pairs without rotation
        RetainedColumn,
        CapacityColumn,
        SlackColumn,
        LiveColumn,
        AllocatedColumn,
        BytesPerTokenColumn,
        ColumnCount
    };

    explicit LayerTableModel(QObject* parent = nullptr);

    void setLayers(const std::vector<LayerDescription>& layers);
    /// Layers that the snapshot does not know show dashes.
    void setSnapshot(const CacheSnapshot& snapshot);
    void clear();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// Plain numbers in bytes and tokens, for CSV.
    SnapshotTable exportTable() const;
    /// As shown, units in the header.
    SnapshotTable shownTable() const;

private:
    const LayerCacheState* stateOf(int row) const;
    QString shown(int row, int column) const;
    QString plain(int row, int column) const;
    QString bytesCell(std::uint64_t bytes) const;
    bool isZero(int row, int column) const;

    std::vector<LayerDescription> m_layers;
    std::vector<LayerCacheState> m_states;
    bool m_usesMiB = false; ///< one unit a column: KiB until a layer allocates 10 MiB
};

} // namespace kvscope
