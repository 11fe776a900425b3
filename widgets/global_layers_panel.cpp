#include "widgets/global_layers_panel.h"

#include "widgets/fonts.h"
#include "widgets/theme.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"

#include <QScrollBar>

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::size_t kMaxSeparate = 8; ///< more are not told apart by drawing the same again

} // namespace

GlobalLayersPanel::GlobalLayersPanel(QWidget* parent)
    : PaintedPanel(QStringLiteral("global-layers"), tr("Global layers"), parent)
    , m_scrollBar(new QScrollBar(Qt::Vertical, this))
{
    m_scrollBar->hide();
    connect(m_scrollBar, &QScrollBar::valueChanged, this, [this] {
        m_scene = {};
        update();
    });
    showRows();
}

void GlobalLayersPanel::setSelection(TokenSelectionModel* selection)
{
    if (m_selection)
        m_selection->disconnect(this);
    m_selection = selection;
    if (selection)
        connect(selection, &TokenSelectionModel::changed, this, [this] { update(); });
    update();
}

void GlobalLayersPanel::setHistory(const TokenHistory* history)
{
    m_history = history;
}

void GlobalLayersPanel::setCapTokens(std::int64_t capTokens)
{
    m_capTokens = capTokens;
    showRows();
}

void GlobalLayersPanel::setModel(const ModelDescription& model)
{
    m_model = model;
    m_snapshot = {};
    for (const LayerDescription& description : model.layers) {
        LayerCacheState state;
        state.isWindowed = description.isWindowed;
        m_snapshot.layers.push_back(state);
    }
    showRows();
}

void GlobalLayersPanel::setSnapshot(const CacheSnapshot& snapshot)
{
    if (snapshot.layers.empty())
        return;
    m_snapshot = snapshot;
    showRows();
}

void GlobalLayersPanel::clear()
{
    m_model.reset();
    m_snapshot = {};
    showRows();
}

bool GlobalLayersPanel::canExpand() const
{
    return m_layers.size() > kMaxSeparate;
}

bool GlobalLayersPanel::isExpanded() const
{
    return !canExpand() || m_isExpanded;
}

void GlobalLayersPanel::setExpanded(bool expanded)
{
    m_isExpanded = expanded;
    showRows();
}

void GlobalLayersPanel::showRows()
{
    m_layers = globalRows(m_snapshot, GlobalGrouping::EachLayer);
    m_rows = isExpanded() ? m_layers : globalRows(m_snapshot, GlobalGrouping::AlikeLayers);
    if (m_layers.empty())
        setDescription(m_model ? tr("no global layers") : tr("no model open"));
    else
        setDescription(globalLayersLine(m_layers, m_capTokens));
    placeScrollBar();
    m_scene = {};
    update();
}

void GlobalLayersPanel::placeScrollBar()
{
    const GlobalLayersLayout layout = layoutFor(rect());
    const double hidden =
        layout.contentHeight(static_cast<int>(m_rows.size())) - layout.rows.height();
    const bool isNeeded = !m_rows.empty() && hidden > 0.5;
    m_scrollBar->setVisible(isNeeded);
    m_scrollBar->setRange(0, isNeeded ? static_cast<int>(hidden + 0.5) : 0);
    m_scrollBar->setPageStep(static_cast<int>(layout.rows.height()));
    m_scrollBar->setSingleStep(static_cast<int>(layout.rowHeight));
    const int width = m_scrollBar->sizeHint().width();
    m_scrollBar->setGeometry(rect().right() + 1 - width, static_cast<int>(layout.rows.top()), width,
                             static_cast<int>(layout.rows.height()));
}

double GlobalLayersPanel::scrolled() const
{
    return m_scrollBar->value();
}

std::int64_t GlobalLayersPanel::capacity() const
{
    std::int64_t longest = 0;
    for (const GlobalRow& row : m_rows)
        longest = std::max(longest, row.state.capacity);
    return longest;
}

void GlobalLayersPanel::forgetDrawn()
{
    m_scene = {};
}

SnapshotTable GlobalLayersPanel::exportTable() const
{
    SnapshotTable table;
    table.columns = {
        tr("layer"),       tr("length, tokens"),   tr("capacity, tokens"), tr("slack, tokens"),
        tr("live, bytes"), tr("allocated, bytes"), tr("grown at, tokens"), tr("copied, tokens"),
        tr("last copy, s")};
    for (const GlobalRow& row : m_layers) {
        QStringList grownAt;
        for (const GrowthEvent& event : copyingGrowth(row.state))
            grownAt.append(QString::number(event.atLength));
        table.rows.append(
            {QString::number(row.layers.front()), QString::number(row.state.retained),
             QString::number(row.state.capacity), QString::number(row.state.slack()),
             QString::number(row.liveBytes), QString::number(row.allocatedBytes),
             grownAt.join(u' '), QString::number(tokensCopied(row.state)),
             row.lastCopySeconds < 0 ? QString() : QString::number(row.lastCopySeconds, 'g', 6)});
    }
    return table;
}

} // namespace kvscope
