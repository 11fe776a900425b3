#pragma once

#include "engine/session/lab_event.h"
#include "widgets/lab_plot.h"

#include <memory>
#include <vector>

class QCPGraph;

namespace kvscope {

/// Loss by position against a growing cache, of one or two rotary schemes: a running mean as it is
/// measured, and the bins' means with their 95 % intervals once a scheme is done. Or the second
/// scheme less the first one. Marks the trained length and the window, and says whether each scheme
/// behaves, where that is decided.
class PositionsPlot : public LabPlot
{
    Q_OBJECT
public:
    enum class Shows { Loss, Difference };
    static constexpr std::size_t kSmoothedTokens = 64;

    explicit PositionsPlot(Shows shows, QWidget* parent = nullptr);
    ~PositionsPlot() override;

    void begin(const PositionsBegun& begun); ///< the first scheme clears what was shown
    void add(const PositionsScored& part);
    void setReport(std::shared_ptr<const PositionsReport> report);
    void clear();
    /// Schemes begun.
    std::size_t numSeries() const { return m_series.size(); }
    /// What stands above the plot for a scheme: "plain: ? undecided"; without a report its name.
    QString keyOf(std::size_t series) const;

protected:
    SnapshotTable exportTable() const override;
    ReadoutTable readoutTable() const override;
    QString emptyText() const override;

private:
    struct Series
    {
        PositionsBegun begun;
        std::vector<double> nll; ///< by position
    };
    /// What a bin's figures are drawn by.
    struct Bin
    {
        double first = 0.0;
        double end = 0.0;
        SampleMean mean;
        bool isBeyondTrained = false;
    };

    bool isDifference() const { return m_shows == Shows::Difference; }
    void prepare(const PlotResolution& resolution);
    void fill(QCPGraph* graph, const std::vector<double>& values, const PlotResolution& resolution);
    void setRange();
    std::vector<double> valuesOf(std::size_t series) const;
    std::vector<Bin> binsOf(std::size_t series) const;
    void drawBins(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawMarks(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    QPen penOf(std::size_t series, const Theme& theme, double width) const;
    void restyle(const Theme& theme);

    Shows m_shows;
    std::vector<Series> m_series;
    std::shared_ptr<const PositionsReport> m_report;
    std::vector<QCPGraph*> m_graphs;
    std::vector<double> m_xs;
    double m_low = 0.0; ///< of what was drawn last
    double m_high = 0.0;
};

} // namespace kvscope
