#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/session/engine_snapshot.h"
#include "widgets/painted_panel.h"
#include "widgets/ring_marks.h"
#include "widgets/rings_layout.h"

#include <QPixmap>
#include <QPointer>

#include <cstdint>
#include <optional>
#include <vector>

namespace kvscope {

class TokenHistory;
class TokenSelectionModel;

/// The windowed layers' rings, slots in physical order: one large, the others small beside it. Slot
/// 0 at the top, clockwise; colour is age; the head is a spoke in ink.
///
/// Windowed layers turn in step, so age is read on the large ring; the small ones tell what each
/// layer holds. `[` and `]`, or a click on a small ring, choose the large one.
class RingsPanel : public PaintedPanel
{
    Q_OBJECT
public:
    explicit RingsPanel(QWidget* parent = nullptr);

    /// What is pointed at and pinned, shared with every view. Not owned.
    void setSelection(TokenSelectionModel* selection);
    /// Where tooltips find pieces and losses. Not owned.
    void setHistory(const TokenHistory* history);

    /// A model was opened: its rings are drawn empty until the first snapshot.
    void setModel(const ModelDescription& model);
    /// The newest state; several between two frames cost one repaint.
    void setSnapshot(const CacheSnapshot& snapshot);
    /// No model is open.
    void clear();

    /// Index in the model of the layer drawn large; nothing where no layer is windowed.
    std::optional<int> chosenLayer() const;
    /// Draws a windowed layer large; other indices are ignored.
    void chooseLayer(int layer);

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override;
    SnapshotTable accessibleTable() const override;

    QSize sizeHint() const override { return {826, 288}; }
    QSize minimumSizeHint() const override { return {420, 240}; }

Q_SIGNALS:
    void layerChosen(int layer);

protected:
    void forgetDrawn() override;
    void extendContextMenu(QMenu& menu) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    struct Ring
    {
        int layer = 0;
        LayerCacheState state;
    };

    const Ring* chosen() const;
    std::vector<const Ring*> others() const;
    void showRings();
    void describe();
    void chooseNeighbour(int delta);
    RingsLayout layoutFor(const QRectF& area) const;
    std::optional<std::int64_t> positionAt(const QPointF& point) const;
    const Ring* smallRingAt(const QPointF& point) const;
    QString tooltipAt(const QPointF& point) const;
    QString slotTooltip(std::int64_t slot) const;

    void paintScene(QPainter& painter, const QRectF& area, const Theme& theme) const;
    void paintMessage(QPainter& painter, const QRectF& area, const Theme& theme) const;
    void paintSmallRings(QPainter& painter, const RingsLayout& layout, const Theme& theme) const;
    void paintSmallWords(QPainter& painter, const SmallRingCell& cell, const Ring& ring,
                         const Theme& theme) const;
    void paintPins(QPainter& painter, const RingsLayout& layout, const Theme& theme) const;
    void appendRows(SnapshotTable& table, const Ring& ring) const;

    QPointer<TokenSelectionModel> m_selection;
    QPointer<const TokenHistory> m_history;
    std::optional<ModelDescription> m_model;
    std::vector<Ring> m_rings; ///< windowed layers, in layer order
    std::size_t m_chosen = 0;  ///< index in m_rings
    mutable RingMarks m_marks; ///< paths of the large ring, kept while its size stays
    mutable RingMarks m_smallMarks;
    QPixmap m_scene; ///< everything but hover and pin; null when out of date
};

} // namespace kvscope
