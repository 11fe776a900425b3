#pragma once

#include "engine/base/check_entry.h"
#include "widgets/snapshot_table.h"

#include <QAbstractTableModel>
#include <QSortFilterProxyModel>

#include <vector>

namespace kvscope {

/// The checks made of a model's files, a row each, in the order in which they were made.
class ChecksModel : public QAbstractTableModel
{
    Q_OBJECT
public:
    enum Column { ResultColumn, SectionColumn, WhatColumn, FoundColumn, BytesColumn, ColumnCount };

    using QAbstractTableModel::QAbstractTableModel;

    void setChecks(std::vector<CheckEntry> checks);
    const std::vector<CheckEntry>& checks() const { return m_checks; }
    const CheckEntry& check(int row) const { return m_checks[static_cast<std::size_t>(row)]; }
    int count(CheckResult result) const;

    int rowCount(const QModelIndex& parent = {}) const override;
    int columnCount(const QModelIndex& parent = {}) const override;
    QVariant data(const QModelIndex& index, int role) const override;
    QVariant headerData(int section, Qt::Orientation orientation, int role) const override;

private:
    std::vector<CheckEntry> m_checks;
};

/// Those of a result (or worse) that contain a text.
class ChecksFilter : public QSortFilterProxyModel
{
    Q_OBJECT
public:
    explicit ChecksFilter(ChecksModel* checks, QObject* parent = nullptr);

    /// \param least  Passed: all; Warning: warnings and failures
    void setLeastResult(CheckResult least);
    void setText(const QString& text);

protected:
    bool filterAcceptsRow(int row, const QModelIndex& parent) const override;

private:
    ChecksModel* m_checks;
    CheckResult m_least = CheckResult::Passed;
    QString m_text;
};

/// All of an entry, which its cells may have to elide: lines.
QString wholeText(const CheckEntry& check);

/// "✓ passed", "! warning", "✕ failed"
QString resultText(CheckResult result);

/// Checks as text, numbers plain: for copying and CSV.
SnapshotTable checksTable(const std::vector<CheckEntry>& checks);

} // namespace kvscope
