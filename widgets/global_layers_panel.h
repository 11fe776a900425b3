#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/session/engine_snapshot.h"
#include "widgets/global_layers_layout.h"
#include "widgets/global_layers_rows.h"
#include "widgets/painted_panel.h"

#include <QPixmap>
#include <QPointer>

#include <cstdint>
#include <optional>
#include <vector>

class QScrollBar;

namespace kvscope {

class TokenHistory;
class TokenSelectionModel;

/// The global layers' growing arrays as bars: what is held, what is allocated and unused (hatched),
/// and where they grew. Position is the bar's axis, so hovering a bar points at a token.
///
/// Global layers grow in step. More than eight are therefore drawn as one bar for all that are
/// alike; Enter, or a click on the names, shows each.
class GlobalLayersPanel : public PaintedPanel
{
    Q_OBJECT
public:
    /// The cache's default limit (engine/cache/mixed_kv_cache.h).
    static constexpr std::int64_t kDefaultCapTokens = 4'000'000;

    explicit GlobalLayersPanel(QWidget* parent = nullptr);

    void setSelection(TokenSelectionModel* selection);
    void setHistory(const TokenHistory* history);
    /// Most positions a global layer may hold, for the description.
    void setCapTokens(std::int64_t capTokens);

    void setModel(const ModelDescription& model);
    void setSnapshot(const CacheSnapshot& snapshot);
    void clear();

    /// Whether every layer has its own bar. Always so up to eight layers.
    bool isExpanded() const;
    void setExpanded(bool expanded);
    /// The bars as they are shown now.
    const std::vector<GlobalRow>& rows() const { return m_rows; }

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override;

    QSize sizeHint() const override { return {826, 190}; }
    QSize minimumSizeHint() const override { return {420, 150}; }

protected:
    void forgetDrawn() override;
    void extendContextMenu(QMenu& menu) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    bool canExpand() const;
    void showRows();
    void placeScrollBar();
    double scrolled() const;
    GlobalLayersLayout layoutFor(const QRectF& area) const;
    std::int64_t capacity() const; ///< tokens of the longest bar: the axis
    std::optional<int> rowAt(const QPointF& point) const;
    std::optional<std::int64_t> positionAt(const QPointF& point) const;
    QString tooltipAt(const QPointF& point) const;

    void paintScene(QPainter& painter, const QRectF& area, double scrolled,
                    const Theme& theme) const;
    void paintMessage(QPainter& painter, const QRectF& area, const Theme& theme) const;
    void paintHeader(QPainter& painter, const GlobalLayersLayout& layout, const Theme& theme) const;
    void paintRow(QPainter& painter, const GlobalLayersLayout& layout, int index, double scrolled,
                  const Theme& theme) const;
    void paintNames(QPainter& painter, const GlobalLayersLayout& layout, const QRectF& row,
                    const GlobalRow& content, const Theme& theme) const;
    void paintAxis(QPainter& painter, const GlobalLayersLayout& layout, const Theme& theme) const;
    void paintSelection(QPainter& painter, const GlobalLayersLayout& layout,
                        const Theme& theme) const;
    void paintHover(QPainter& painter, const GlobalLayersLayout& layout, const Theme& theme) const;

    QPointer<TokenSelectionModel> m_selection;
    QPointer<const TokenHistory> m_history;
    std::optional<ModelDescription> m_model;
    CacheSnapshot m_snapshot;
    std::vector<GlobalRow> m_layers; ///< one row a layer
    std::vector<GlobalRow> m_rows;   ///< as shown
    std::int64_t m_capTokens = kDefaultCapTokens;
    bool m_isExpanded = false;
    QScrollBar* m_scrollBar = nullptr;
    QPixmap m_scene;
};

} // namespace kvscope
