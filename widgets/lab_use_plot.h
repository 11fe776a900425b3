#pragma once

#include "engine/lab/use_report.h"
#include "widgets/lab_plot.h"

#include <memory>
#include <vector>

namespace kvscope {

/// What earlier text is worth: by segment, the loss of its second half given the segment alone less
/// that given the whole text so far, with its 95 % interval. Segment 0 is the check: both are one
/// computation, so it differs by exactly 0.
class UsePlot : public LabPlot
{
    Q_OBJECT
public:
    explicit UsePlot(QWidget* parent = nullptr);
    ~UsePlot() override;

    void add(const UseSegment& segment); ///< segment 0 clears what was shown
    void setReport(std::shared_ptr<const UseReport> report);
    void clear();
    /// What stands above the plot: the pooled gain, its interval and the verdict; empty before.
    QString finding() const;

protected:
    SnapshotTable exportTable() const override;
    ReadoutTable readoutTable() const override;
    QString emptyText() const override;

private:
    void prepare(const PlotResolution& resolution);
    void drawSegments(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawPooled(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    static double middleOf(const UseSegment& segment);

    std::vector<UseSegment> m_segments;
    std::shared_ptr<const UseReport> m_report;
};

} // namespace kvscope
