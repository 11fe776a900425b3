#include "widgets/rings_panel.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/ring_legend.h"
#include "widgets/ring_painting.h"
#include "widgets/theme.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"
#include "widgets/token_text.h"

#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {

RingsPanel::RingsPanel(QWidget* parent)
    : PaintedPanel(QStringLiteral("rings"), tr("Rings"), parent)
{
    describe();
}

void RingsPanel::setSelection(TokenSelectionModel* selection)
{
    if (m_selection)
        m_selection->disconnect(this);
    m_selection = selection;
    if (selection)
        connect(selection, &TokenSelectionModel::changed, this, [this] { update(); });
    update();
}

void RingsPanel::setHistory(const TokenHistory* history)
{
    m_history = history;
}

void RingsPanel::setModel(const ModelDescription& model)
{
    m_model = model;
    m_rings.clear();
    for (std::size_t layer = 0; layer < model.layers.size(); ++layer) {
        const LayerDescription& description = model.layers[layer];
        if (!description.isWindowed)
            continue;
        LayerCacheState state;
        state.isWindowed = true;
        state.window = description.window;
        state.capacity = description.window;
        m_rings.push_back({static_cast<int>(layer), state});
    }
    m_chosen = 0;
    showRings();
}

void RingsPanel::setSnapshot(const CacheSnapshot& snapshot)
{
    std::size_t count = 0;
    for (std::size_t layer = 0; layer < snapshot.layers.size(); ++layer) {
        if (!snapshot.layers[layer].isWindowed)
            continue;
        if (count == m_rings.size())
            m_rings.emplace_back();
        m_rings[count].layer = static_cast<int>(layer);
        m_rings[count].state = snapshot.layers[layer];
        ++count;
    }
    if (!snapshot.layers.empty())
        m_rings.resize(count);
    showRings();
}

void RingsPanel::clear()
{
    m_model.reset();
    m_rings.clear();
    m_chosen = 0;
    showRings();
}

void RingsPanel::showRings()
{
    m_chosen = std::min(m_chosen, m_rings.empty() ? 0 : m_rings.size() - 1);
    m_scene = {};
    describe();
    update();
}

void RingsPanel::describe()
{
    if (m_rings.empty())
        setDescription(m_model ? tr("no windowed layers") : tr("no model open"));
    else if (m_rings.size() == 1)
        setDescription(tr("1 windowed layer, slots in physical order"));
    else
        setDescription(tr("%1 windowed layers, slots in physical order").arg(m_rings.size()));
}

const RingsPanel::Ring* RingsPanel::chosen() const
{
    return m_rings.empty() ? nullptr : &m_rings[m_chosen];
}

std::vector<const RingsPanel::Ring*> RingsPanel::others() const
{
    std::vector<const Ring*> rings;
    for (std::size_t i = 0; i < m_rings.size(); ++i)
        if (i != m_chosen)
            rings.push_back(&m_rings[i]);
    return rings;
}

std::optional<int> RingsPanel::chosenLayer() const
{
    const Ring* ring = chosen();
    return ring ? std::optional<int>(ring->layer) : std::nullopt;
}

void RingsPanel::chooseLayer(int layer)
{
    for (std::size_t i = 0; i < m_rings.size(); ++i) {
        if (m_rings[i].layer != layer || i == m_chosen)
            continue;
        m_chosen = i;
        showRings();
        Q_EMIT layerChosen(layer);
        return;
    }
}

void RingsPanel::chooseNeighbour(int delta)
{
    if (m_rings.empty())
        return;
    const auto last = static_cast<int>(m_rings.size()) - 1;
    const int next = std::clamp(static_cast<int>(m_chosen) + delta, 0, last);
    chooseLayer(m_rings[static_cast<std::size_t>(next)].layer);
}

RingsLayout RingsPanel::layoutFor(const QRectF& area) const
{
    return layOutRings(area, std::max(0, static_cast<int>(m_rings.size()) - 1));
}

void RingsPanel::forgetDrawn()
{
    m_scene = {};
}

void RingsPanel::paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    paintScene(painter, area, theme);
    if (!m_rings.empty())
        paintPins(painter, layoutFor(area), theme);
}

void RingsPanel::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    const double ratio = devicePixelRatioF();
    if (m_scene.isNull() || m_scene.devicePixelRatio() != ratio) {
        m_scene = QPixmap(size() * ratio);
        m_scene.setDevicePixelRatio(ratio);
        m_scene.fill(theme.panel);
        QPainter scene(&m_scene);
        scene.setRenderHint(QPainter::Antialiasing);
        paintScene(scene, rect(), theme);
    }
    QPainter painter(this);
    painter.drawPixmap(0, 0, m_scene);
    painter.setRenderHint(QPainter::Antialiasing);
    if (const Ring* ring = chosen()) {
        const RingsLayout layout = layoutFor(rect());
        paintPins(painter, layout, theme);
        if (m_selection && m_selection->selection().hovered)
            paintRingHover(painter, layout.main, RingPositions(ring->state),
                           *m_selection->selection().hovered, theme);
    }
    paintFocus(painter);
}

void RingsPanel::paintMessage(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    if (!m_model)
        paintEmptyState(painter, area, theme, tr("No model open"),
                        tr("Drop a file here, or press Ctrl+O."));
    else
        paintEmptyState(painter, area, theme, tr("This model has no windowed layers"),
                        tr("Every layer keeps every position. Models with sliding windows "
                           "(GPT-OSS-Lite, gpt-oss, "
                           "Gemma, Mistral v0.1) have rings that turn."));
}

void RingsPanel::paintScene(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    painter.fillRect(area, theme.panel);
    const Ring* ring = chosen();
    if (!ring) {
        paintMessage(painter, area, theme);
        return;
    }
    const RingsLayout layout = layoutFor(area);
    const RingPositions positions(ring->state);
    if (!m_marks.isFor(layout.main, positions.capacity()))
        m_marks = RingMarks(layout.main, positions.capacity());
    m_marks.paint(painter, positions, theme);

    RingWords words;
    words.layer = ring->layer;
    if (m_history && m_history->find(positions.first() - 1))
        words.lastOut = tokenName(m_history, positions.first() - 1);
    paintRingFurniture(painter, layout, positions, words, theme);
    paintSmallRings(painter, layout, theme);
    if (!layout.legend.isEmpty())
        paintRingLegend(painter, layout.legend, positions.window() - 1,
                        positions.capacity() > positions.window(), theme);
    if (!layout.caption.isEmpty() && m_rings.size() > 1) {
        painter.setFont(uiFont(TextSize::Secondary));
        painter.setPen(theme.ink3);
        paintElided(painter, layout.caption, Qt::AlignLeft | Qt::AlignVCenter,
                    tr("Windowed rings turn in step. [ and ] choose the large one."));
    }
}

void RingsPanel::paintSmallRings(QPainter& painter, const RingsLayout& layout,
                                 const Theme& theme) const
{
    const auto rings = others();
    for (std::size_t i = 0; i < layout.small.size() && i < rings.size(); ++i) {
        const SmallRingCell& cell = layout.small[i];
        const RingPositions positions(rings[i]->state);
        painter.save();
        painter.translate(cell.frame.center);
        const RingFrame atOrigin{{0, 0}, cell.frame.inner, cell.frame.outer};
        if (!m_smallMarks.isFor(atOrigin, positions.capacity()))
            m_smallMarks = RingMarks(atOrigin, positions.capacity());
        m_smallMarks.paint(painter, positions, theme);
        paintSmallHead(painter, atOrigin, positions, theme);
        painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
        painter.setPen(theme.ink);
        painter.drawText(QRectF(-30, -10, 60, 20), Qt::AlignCenter,
                         QStringLiteral("L%1").arg(rings[i]->layer));
        painter.restore();
        paintSmallWords(painter, cell, *rings[i], theme);
    }
    if (layout.more.isEmpty())
        return;
    painter.setFont(uiFont(TextSize::Secondary));
    painter.setPen(theme.ink3);
    painter.drawText(
        layout.more, Qt::AlignVCenter | Qt::AlignLeft | Qt::TextWordWrap,
        tr("and %1 more: [ and ]")
            .arg(static_cast<int>(rings.size()) - static_cast<int>(layout.small.size())));
}

void RingsPanel::paintSmallWords(QPainter& painter, const SmallRingCell& cell, const Ring& ring,
                                 const Theme& theme) const
{
    const RingPositions positions(ring.state);
    struct Line
    {
        QString text;
        QFont font;
        QColor color;
    };
    std::vector<Line> lines;
    const QFont small = uiFont(TextSize::Secondary);
    lines.push_back({QStringLiteral("W = %1").arg(countText(positions.window())),
                     uiFont(TextSize::Secondary, QFont::Bold), theme.ink});
    if (positions.retained() > 0) {
        lines.push_back({rangeText(positions.first(), positions.end() - 1), small, theme.ink2});
        const QString head = tr("head %1").arg(countText(positions.head()));
        const QString full = tr("full, %1").arg(head);
        const bool saysFull =
            positions.isFull() && QFontMetricsF(small).horizontalAdvance(full) <= cell.text.width();
        lines.push_back({saysFull ? full : head, small, theme.ink2});
    } else {
        lines.push_back({tr("empty"), small, theme.ink3});
    }
    if (ring.state.allocatedBytes > 0)
        lines.push_back({bytesText(ring.state.allocatedBytes), small, theme.ink2});
    double height = 0;
    for (const Line& line : lines)
        height += QFontMetricsF(line.font).height();
    double y = cell.text.center().y() - height / 2;
    for (const Line& line : lines) {
        const double lineHeight = QFontMetricsF(line.font).height();
        painter.setFont(line.font);
        painter.setPen(line.color);
        paintElided(painter, {cell.text.left(), std::round(y), cell.text.width(), lineHeight},
                    Qt::AlignLeft | Qt::AlignVCenter, line.text);
        y += lineHeight;
    }
}

void RingsPanel::paintPins(QPainter& painter, const RingsLayout& layout, const Theme& theme) const
{
    const RingPositions positions(chosen()->state);
    const auto pinned = m_selection ? m_selection->selection().pinned : std::nullopt;
    paintRingTicks(painter, layout.main, positions, pinned, theme);
    if (!pinned)
        return;
    const auto rings = others();
    for (std::size_t i = 0; i < layout.small.size() && i < rings.size(); ++i)
        paintRingPin(painter, layout.small[i].frame, RingPositions(rings[i]->state), *pinned, theme,
                     RingPinWords::Hidden);
    paintRingPin(painter, layout.main, positions, *pinned, theme, RingPinWords::Shown);
}

void RingsPanel::appendRows(SnapshotTable& table, const Ring& ring) const
{
    const RingPositions positions(ring.state);
    for (std::int64_t slot = 0; slot < positions.capacity(); ++slot) {
        const SlotState state = positions.state(slot);
        QStringList row{QString::number(ring.layer), QString::number(slot)};
        if (state == SlotState::Empty) {
            row << QString() << QString() << QString() << QString() << tr("empty");
        } else {
            const std::int64_t position = *positions.positionIn(slot);
            const TokenRecord* token = m_history ? m_history->find(position) : nullptr;
            row << QString::number(position)
                << (token ? QString::fromStdString(token->piece) : QString())
                << (token ? QString::number(token->id) : QString())
                << QString::number(positions.ageOf(position))
                << (state == SlotState::Held ? tr("in the window") : tr("outside the window"));
        }
        table.rows.append(row);
    }
}

SnapshotTable RingsPanel::exportTable() const
{
    SnapshotTable table;
    table.columns = {tr("layer"), tr("slot"), tr("position"), tr("token"),
                     tr("id"),    tr("age"),  tr("state")};
    for (const Ring& ring : m_rings)
        appendRows(table, ring);
    return table;
}

SnapshotTable RingsPanel::accessibleTable() const
{
    SnapshotTable table;
    table.columns = {tr("layer"), tr("slot"), tr("position"), tr("token"),
                     tr("id"),    tr("age"),  tr("state")};
    if (const Ring* ring = chosen())
        appendRows(table, *ring);
    return table;
}

} // namespace kvscope
