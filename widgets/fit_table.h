#pragma once

#include "engine/session/open_preview_snapshot.h"

#include <QAbstractTableModel>
#include <QTableView>

#include <vector>

namespace kvscope {

/// What a model takes at a row of context lengths, and on which device that fits. Arithmetic.
class FitModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    /// Columns before those of the devices, of which there is one each.
    enum Column { ContextColumn, CacheColumn, GrowthColumn, TotalColumn, BarColumn, FirstDevice };

    using QAbstractTableModel::QAbstractTableModel;

    void setPreview(const OpenPreview& preview, const OpenChoice& choice);
    void clear();

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

    /// Of one device (0: the one that the bar and the sums are of) at one length.
    const FitEstimate& estimate(int row, int device) const;
    std::uint64_t largestBytes() const; ///< that a bar has to show
    QString unit() const;               ///< "GiB" or "MiB", of all numbers

private:
    QString inUnit(std::uint64_t bytes) const;
    QString deviceText(const FitEstimate& fit) const;
    QString cellText(int row, int column) const;

    std::vector<std::string> m_devices;
    std::vector<std::vector<FitEstimate>> m_rows; ///< by length, then device
    int m_chosen = 0;                             ///< device
};

/// The lengths worth a row: doublings up to the maximum, which is the last; at most eight.
std::vector<std::int64_t> fitLengths(std::int64_t maximum);

/// FitModel as a table, with a bar of what the total is made of against what is free.
class FitTable : public QTableView
{
    Q_OBJECT
public:
    explicit FitTable(QWidget* parent = nullptr);

    void setPreview(const OpenPreview& preview, const OpenChoice& choice);
    void clear();
    FitModel& fits() { return *m_model; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

private:
    void fitColumns();

    FitModel* m_model;
};

} // namespace kvscope
