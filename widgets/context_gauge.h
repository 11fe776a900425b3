#pragma once

#include "engine/session/engine_snapshot.h"
#include "widgets/painted_panel.h"

#include <cstdint>
#include <optional>

namespace kvscope {

/// What the gauge shows, in positions.
struct ContextGaugeState
{
    std::int64_t used = 0;            ///< cached
    std::int64_t limit = 0;           ///< that the chat may fill; 0: no model, or unknown
    std::int64_t trained = 0;         ///< 0: unknown
    std::int64_t firstInWindows = -1; ///< oldest position that a windowed layer reads; -1: none
    std::int64_t reused = 0;          ///< of a prefill that runs: what was cached before it
    std::int64_t planned = 0;         ///< where that prefill will end; 0: none runs
    std::int64_t extended = 0;        ///< what the rotation aims at; above `trained`: extended

    static ContextGaugeState of(const EngineSnapshot& snapshot, std::int64_t limit,
                                std::int64_t trained);
    bool isPastTrained() const { return trained > 0 && std::max(used, planned) > trained; }
    bool operator==(const ContextGaugeState&) const = default;
};

/// How full the context is: used and free positions, the windows' extent, the trained length. What
/// a prefill has read is hatched until all of it is there.
class ContextGauge : public PaintedPanel
{
    Q_OBJECT
public:
    explicit ContextGauge(QWidget* parent = nullptr);

    void setState(const ContextGaugeState& state);
    const ContextGaugeState& state() const { return m_state; }
    void setPinned(std::optional<std::int64_t> position);

    /// "1,943 of 8,192"
    QString usedText() const;
    /// "24 % used, 6,249 left"
    QString leftText() const;
    /// "trained 8,192", "extended × 4 to 4,096", "limit 20,000, trained 8,192"
    QString limitText() const;

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;
    bool event(QEvent* event) override;

private:
    void paintBar(QPainter& painter, const QRectF& bar, const Theme& theme) const;
    void paintTexts(QPainter& painter, const QRectF& area, const QRectF& bar,
                    const Theme& theme) const;

    ContextGaugeState m_state;
    std::optional<std::int64_t> m_pinned;
};

/// Where a position lies on a bar of `width` pixels that stands for `limit` positions; clamped to
/// it.
double gaugeX(std::int64_t position, std::int64_t limit, double width);

} // namespace kvscope
