#include "widgets/layer_table.h"

#include "widgets/fonts.h"
#include "widgets/layer_table_model.h"
#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QContextMenuEvent>
#include <QEvent>
#include <QFontMetricsF>
#include <QHeaderView>
#include <QKeyEvent>
#include <QMenu>
#include <QPainter>
#include <QTableView>
#include <QVBoxLayout>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kCellPadding = 8.0;

bool isWordColumn(qsizetype column)
{
    return column == LayerTableModel::KindColumn || column == LayerTableModel::SinkColumn;
}

/// Widths that hold every cell of a column and its title.
std::vector<double> columnWidths(const SnapshotTable& table)
{
    const QFontMetricsF digits(digitFont());
    const QFontMetricsF words(uiFont());
    const QFontMetricsF titles(uiFont(TextSize::Secondary, QFont::Bold));
    std::vector<double> widths;
    for (qsizetype column = 0; column < table.columns.size(); ++column) {
        double width = titles.horizontalAdvance(table.columns[column]);
        for (const QStringList& row : table.rows)
            width = std::max(
                width, (isWordColumn(column) ? words : digits).horizontalAdvance(row[column]));
        widths.push_back(std::ceil(width) + 2 * kCellPadding);
    }
    return widths;
}

void paintTable(QPainter& painter, const QRectF& area, const Theme& theme,
                const SnapshotTable& table)
{
    const auto widths = columnWidths(table);
    const double rowHeight = spacing::kDenseRow + 2;
    double x = area.left();
    painter.fillRect(QRectF(area.left(), area.top(), area.width(), rowHeight + 2), theme.dockTitle);
    for (qsizetype row = 1; row < table.rows.size(); row += 2)
        painter.fillRect(QRectF(area.left(),
                                area.top() + rowHeight * (static_cast<double>(row) + 1) + 2,
                                area.width(), rowHeight),
                         theme.alternateRow);
    for (qsizetype column = 0; column < table.columns.size(); ++column) {
        const double width = widths[static_cast<std::size_t>(column)];
        const int alignment =
            (isWordColumn(column) ? Qt::AlignLeft : Qt::AlignRight) | Qt::AlignVCenter;
        const auto cell = [&](double top) {
            return QRectF(x + kCellPadding, top, width - 2 * kCellPadding, rowHeight);
        };
        painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
        painter.setPen(theme.ink2);
        painter.drawText(cell(area.top() + 1), alignment, table.columns[column]);
        painter.setFont(isWordColumn(column) ? uiFont() : digitFont());
        double y = area.top() + rowHeight + 2;
        for (const QStringList& row : table.rows) {
            const bool isWindowed = row[LayerTableModel::WindowColumn] != QStringLiteral("–");
            painter.setPen(column != LayerTableModel::KindColumn ? theme.ink
                           : isWindowed                          ? theme.windowed
                                                                 : theme.global);
            painter.drawText(cell(y), alignment, row[column]);
            y += rowHeight;
        }
        x += width;
    }
}

QSizeF tableSize(const SnapshotTable& table)
{
    double width = 0;
    for (const double column : columnWidths(table))
        width += column;
    return {width, (spacing::kDenseRow + 2) * (static_cast<double>(table.rows.size()) + 1) + 4};
}

} // namespace

LayerTable::LayerTable(QWidget* parent)
    : QWidget(parent)
    , m_model(new LayerTableModel(this))
    , m_view(new QTableView(this))
{
    auto* box = new QVBoxLayout(this);
    box->setContentsMargins(0, 0, 0, 0);
    box->addWidget(m_view);
    m_view->setModel(m_model);
    m_view->setAlternatingRowColors(true);
    m_view->setShowGrid(false);
    m_view->setWordWrap(false);
    m_view->setSelectionBehavior(QAbstractItemView::SelectRows);
    m_view->setHorizontalScrollMode(QAbstractItemView::ScrollPerPixel);
    m_view->verticalHeader()->hide();
    m_view->verticalHeader()->setDefaultSectionSize(spacing::kDenseRow + 2);
    m_view->verticalHeader()->setSectionResizeMode(QHeaderView::Fixed);
    m_view->horizontalHeader()->setHighlightSections(false);
    m_view->horizontalHeader()->setStretchLastSection(false);
    m_view->setContextMenuPolicy(Qt::CustomContextMenu);
    m_view->setAccessibleName(tr("Layers"));
    setFocusProxy(m_view);
    connect(m_view, &QWidget::customContextMenuRequested, this,
            [this](const QPoint& point) { showMenu(m_view->viewport()->mapToGlobal(point)); });
    m_view->installEventFilter(this); // the view itself would copy one cell
    m_pace.setSingleShot(true);
    m_pace.setInterval(kUpdateMilliseconds);
    connect(&m_pace, &QTimer::timeout, this, &LayerTable::showPending);
    clear();
}

void LayerTable::setModel(const ModelDescription& model)
{
    m_pending.reset();
    m_model->setLayers(model.layers);
    describe(&model);
    m_view->resizeColumnsToContents();
    m_view->setVisible(true);
}

void LayerTable::setSnapshot(const CacheSnapshot& snapshot)
{
    m_pending = snapshot;
    if (!m_pace.isActive())
        showPending();
}

void LayerTable::showPending()
{
    if (!m_pending)
        return;
    m_model->setSnapshot(*m_pending);
    m_pending.reset();
    m_pace.start();
    // Columns only widen, so that figures do not dance.
    const QAbstractItemView& cells = *m_view; // where sizeHintForColumn() is public
    for (int column = 0; column < LayerTableModel::ColumnCount; ++column) {
        const int wanted = std::max(cells.sizeHintForColumn(column),
                                    m_view->horizontalHeader()->sectionSizeHint(column));
        if (wanted + 8 > m_view->columnWidth(column))
            m_view->setColumnWidth(column, wanted + 8);
    }
}

void LayerTable::clear()
{
    m_pending.reset();
    m_model->clear();
    describe(nullptr);
    m_view->setVisible(false);
    update();
}

void LayerTable::describe(const ModelDescription* model)
{
    QString description = tr("no model open");
    if (model) {
        const auto windowed =
            std::count_if(model->layers.begin(), model->layers.end(),
                          [](const LayerDescription& layer) { return layer.isWindowed; });
        const auto total = static_cast<std::ptrdiff_t>(model->layers.size());
        description =
            tr("%1 layers: %2 windowed, %3 global").arg(total).arg(windowed).arg(total - windowed);
    }
    if (description == m_description)
        return;
    m_description = description;
    m_view->setAccessibleDescription(description);
    Q_EMIT descriptionChanged(description);
}

QString LayerTable::csv() const
{
    return csvText(m_model->exportTable());
}

QString LayerTable::copiedText() const
{
    const SnapshotTable table = m_model->shownTable();
    const QModelIndexList selected = m_view->selectionModel()->selectedRows();
    QList<int> rows;
    for (const QModelIndex& index : selected)
        rows.append(index.row());
    std::sort(rows.begin(), rows.end());
    if (rows.isEmpty())
        for (int row = 0; row < static_cast<int>(table.rows.size()); ++row)
            rows.append(row);
    QStringList lines{table.columns.join(u'\t')};
    for (const int row : rows)
        lines.append(table.rows[row].join(u'\t'));
    return lines.join(u'\n') + u'\n';
}

void LayerTable::copy() const
{
    QApplication::clipboard()->setText(copiedText());
}

ExportSource LayerTable::exportSource() const
{
    const SnapshotTable table = m_model->shownTable();
    ExportSource source;
    source.name = QStringLiteral("layers");
    source.size = tableSize(table);
    source.caption = m_exportCaption;
    source.paint = [table](QPainter& painter, const QRectF& area, const Theme& theme) {
        paintTable(painter, area, theme, table);
    };
    source.csv = [this] { return csv(); };
    return source;
}

void LayerTable::showMenu(const QPoint& globalPosition)
{
    QMenu menu(this);
    menu.addAction(tr("Copy"), this, &LayerTable::copy);
    menu.addSeparator();
    addExportActions(
        menu, this, [this] { return exportSource(); },
        [this](const QString& path, const std::optional<QString>& error) {
            if (error)
                Q_EMIT exportFailed(*error);
            else
                Q_EMIT exported(path);
        });
    menu.exec(globalPosition);
}

void LayerTable::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    if (m_view->isHidden())
        paintEmptyState(painter, rect(), theme, tr("No model open"),
                        tr("Drop a file here, or press Ctrl+O."));
}

bool LayerTable::eventFilter(QObject* watched, QEvent* event)
{
    if (event->type() == QEvent::KeyPress &&
        static_cast<QKeyEvent*>(event)->matches(QKeySequence::Copy)) {
        copy();
        return true;
    }
    return QWidget::eventFilter(watched, event);
}

void LayerTable::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange) {
        update();
        m_view->viewport()->update();
    }
    QWidget::changeEvent(event);
}

} // namespace kvscope
