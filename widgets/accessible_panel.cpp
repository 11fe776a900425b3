#include "widgets/accessible_panel.h"

#include "widgets/painted_panel.h"

#include <QAccessible>
#include <QAccessibleWidget>
#include <QElapsedTimer>
#include <QHash>

#include <utility>

namespace kvscope {
namespace {

/// The table is asked cell by cell; it is read anew at the pace at which figures may change.
constexpr int kFreshMilliseconds = 250;

class AccessiblePanel;

/// One number. Belongs to the panel's interface, which deletes it.
class AccessibleCell : public QAccessibleInterface, public QAccessibleTableCellInterface
{
public:
    AccessibleCell(AccessiblePanel& panel, int row, int column)
        : m_panel(panel)
        , m_row(row)
        , m_column(column)
    {
    }

    bool isValid() const override;
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* parent() const override;
    QAccessibleInterface* child(int) const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QString text(QAccessible::Text kind) const override;
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override;
    QAccessible::Role role() const override { return QAccessible::Cell; }
    QAccessible::State state() const override;
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::TableCellInterface
                   ? static_cast<QAccessibleTableCellInterface*>(this)
                   : nullptr;
    }

    bool isSelected() const override { return false; }
    QList<QAccessibleInterface*> columnHeaderCells() const override { return {}; }
    QList<QAccessibleInterface*> rowHeaderCells() const override { return {}; }
    int columnIndex() const override { return m_column; }
    int rowIndex() const override { return m_row; }
    int columnExtent() const override { return 1; }
    int rowExtent() const override { return 1; }
    QAccessibleInterface* table() const override { return parent(); }

private:
    AccessiblePanel& m_panel;
    int m_row = 0;
    int m_column = 0;
};

class AccessiblePanel : public QAccessibleWidget, public QAccessibleTableInterface
{
public:
    explicit AccessiblePanel(PaintedPanel* panel)
        : QAccessibleWidget(panel, QAccessible::Table)
    {
    }
    ~AccessiblePanel() override
    {
        for (const QAccessible::Id id : std::as_const(m_cells))
            QAccessible::deleteAccessibleInterface(id);
    }

    const SnapshotTable& snapshot() const
    {
        if (!m_age.isValid() || m_age.elapsed() > kFreshMilliseconds) {
            m_table = static_cast<PaintedPanel*>(widget())->accessibleTable();
            m_age.start();
        }
        return m_table;
    }

    int childCount() const override { return rowCount() * columnCount(); }
    QAccessibleInterface* child(int index) const override
    {
        return columnCount() > 0 ? cellAt(index / columnCount(), index % columnCount()) : nullptr;
    }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    int indexOfChild(const QAccessibleInterface* child) const override
    {
        const auto* cell = dynamic_cast<const AccessibleCell*>(child);
        return cell ? cell->rowIndex() * columnCount() + cell->columnIndex() : -1;
    }
    void* interface_cast(QAccessible::InterfaceType type) override
    {
        return type == QAccessible::TableInterface ? static_cast<QAccessibleTableInterface*>(this)
                                                   : QAccessibleWidget::interface_cast(type);
    }

    QAccessibleInterface* caption() const override { return nullptr; }
    QAccessibleInterface* summary() const override { return nullptr; }
    QAccessibleInterface* cellAt(int row, int column) const override
    {
        if (row < 0 || row >= rowCount() || column < 0 || column >= columnCount())
            return nullptr;
        const std::pair place(row, column);
        const auto known = m_cells.constFind(place);
        if (known != m_cells.constEnd())
            return QAccessible::accessibleInterface(*known);
        auto* cell = new AccessibleCell(const_cast<AccessiblePanel&>(*this), row, column);
        m_cells.insert(place, QAccessible::registerAccessibleInterface(cell));
        return cell;
    }
    int rowCount() const override { return static_cast<int>(snapshot().rows.size()); }
    int columnCount() const override { return static_cast<int>(snapshot().columns.size()); }
    QString columnDescription(int column) const override
    {
        return snapshot().columns.value(column);
    }
    QString rowDescription(int row) const override
    {
        return snapshot().rows.value(row).join(QStringLiteral(", "));
    }

    // Cells are read, not selected: tokens are selected with the arrow keys of the view itself.
    int selectedCellCount() const override { return 0; }
    int selectedColumnCount() const override { return 0; }
    int selectedRowCount() const override { return 0; }
    QList<QAccessibleInterface*> selectedCells() const override { return {}; }
    QList<int> selectedColumns() const override { return {}; }
    QList<int> selectedRows() const override { return {}; }
    bool isColumnSelected(int) const override { return false; }
    bool isRowSelected(int) const override { return false; }
    bool selectRow(int) override { return false; }
    bool selectColumn(int) override { return false; }
    bool unselectRow(int) override { return false; }
    bool unselectColumn(int) override { return false; }
    void modelChange(QAccessibleTableModelChangeEvent*) override { m_age.invalidate(); }

private:
    mutable SnapshotTable m_table;
    mutable QElapsedTimer m_age;
    mutable QHash<std::pair<int, int>, QAccessible::Id> m_cells;
};

bool AccessibleCell::isValid() const
{
    return m_panel.isValid() && m_row < m_panel.rowCount() && m_column < m_panel.columnCount();
}

QAccessibleInterface* AccessibleCell::parent() const
{
    return &m_panel;
}

QString AccessibleCell::text(QAccessible::Text kind) const
{
    if (!isValid())
        return {};
    const SnapshotTable& table = m_panel.snapshot();
    if (kind == QAccessible::Name)
        return table.rows[m_row].value(m_column);
    return kind == QAccessible::Description ? table.columns.value(m_column) : QString();
}

QRect AccessibleCell::rect() const
{
    return m_panel.rect();
}

QAccessible::State AccessibleCell::state() const
{
    QAccessible::State state;
    state.readOnly = true;
    return state;
}

QAccessibleInterface* makeAccessible(const QString&, QObject* object)
{
    auto* panel = qobject_cast<PaintedPanel*>(object);
    return panel ? new AccessiblePanel(panel) : nullptr;
}

} // namespace

void installAccessiblePanels()
{
    static const bool kInstalled = [] {
        QAccessible::installFactory(makeAccessible);
        return true;
    }();
    Q_UNUSED(kInstalled);
}

} // namespace kvscope
