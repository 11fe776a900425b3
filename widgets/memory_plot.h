#pragma once

#include "engine/session/engine_snapshot.h"
#include "widgets/memory_plot_history.h"
#include "widgets/plot_panel.h"
#include "widgets/series_thinning.h"

#include <memory>
#include <optional>

class QButtonGroup;

namespace kvscope {

class MemoryPlotDrawing;
class PlotView;

/// Memory by purpose, stacked, and what was measured of the whole process.
///
/// X: positions or seconds; Y: MiB from zero. Areas: weights, live cache, slack (hatched); spikes
/// on top of them: a growth copy, while it lasted; line: resident memory above what it was before
/// the model was opened. The readout names what the areas do not account for.
class MemoryPlot : public PlotPanel
{
    Q_OBJECT
public:
    using Axis = MemoryAxis;

    explicit MemoryPlot(QWidget* parent = nullptr);
    ~MemoryPlot() override;

    /// Appends a moment and asks for a repaint. Samples arrive in order of time; an older one is
    /// left out.
    void addSample(const MemorySample& sample, Phase phase = Phase::Idle);
    /// The snapshot's sample and phase.
    void addSnapshot(const EngineSnapshot& snapshot);
    void clear();

    /// Shares its stretch of positions with other plots. Must outlive the panel.
    void setPositionView(PlotView* view);
    PlotView* positionView() const { return m_positionView; }
    PlotView* timeView() const { return m_timeView; }
    Axis axis() const { return m_axis; }
    void setAxis(Axis axis);
    /// Of the position axis; time is always linear.
    void setScale(AxisScale scale);
    const MemoryHistory& history() const { return m_history; }

Q_SIGNALS:
    void axisChanged(kvscope::MemoryAxis axis);

protected:
    SnapshotTable exportTable() const override;
    ReadoutTable readoutTable() const override;
    std::optional<double> xOfToken(std::int64_t position) const override;
    std::optional<std::int64_t> tokenAt(const QPointF& pixel) const override;
    QString emptyText() const override;
    void extendContextMenu(QMenu& menu) override;

private:
    const MemorySeries& series() const;
    void applyAxis();
    void updateTicks();

    MemoryHistory m_history;
    std::unique_ptr<MemoryPlotDrawing> m_drawing;
    PlotView* m_positionView;
    PlotView* m_timeView;
    QButtonGroup* m_scaleChoice;
    QButtonGroup* m_axisChoice;
    Axis m_axis = Axis::Position;
};

} // namespace kvscope
