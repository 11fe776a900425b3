#pragma once

#include "engine/session/engine_snapshot.h"
#include "widgets/memory_plot_history.h"
#include "widgets/plot_canvas.h"

#include <QPolygonF>

#include <cstddef>
#include <vector>

namespace kvscope {

/// A stretch of one phase along the x axis.
struct PhaseSpan
{
    Phase phase = Phase::Idle;
    double lower = 0.0;
    double upper = 0.0;

    bool operator==(const PhaseSpan&) const = default;
};

/// The stretches of prefill and decode; what lies between them is left out. By position a point's
/// phase covers the stretch since the point before it. By time only where that was of the same
/// phase: between two phases the engine may have been idle for any time.
std::vector<PhaseSpan> phaseSpans(const MemorySeries& series);

/// What the memory plot draws: graphs, hatch, growth spikes and the band of phases above them.
class MemoryPlotDrawing
{
public:
    /// Adds its graphs and drawings to the canvas, which must outlive it.
    explicit MemoryPlotDrawing(PlotCanvas& canvas);

    /// Thins the series to the pixels there are and hands it to the graphs.
    void prepare(const MemorySeries& series, const PlotResolution& resolution);

private:
    void restyle(const Theme& theme);
    void drawSlack(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawSpikes(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawPhases(QCPPainter& painter, const QRectF& area, const Theme& theme) const;

    /// A growth copy: it stood on the stack for as long as the copying took.
    struct Spike
    {
        double x = 0.0;
        double lower = 0.0; ///< MiB
        double upper = 0.0;
    };

    PlotCanvas& m_canvas;
    QCPGraph* m_live;
    QCPGraph* m_weights;
    QCPGraph* m_slackEdge;
    QCPGraph* m_measured;
    QPolygonF m_slack; ///< in axis units: along the top, and back along the live cache
    std::vector<Spike> m_spikes;
    std::vector<PhaseSpan> m_phases;
};

} // namespace kvscope
