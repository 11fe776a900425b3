#pragma once

#include "engine/lab/latency_report.h"
#include "widgets/lab_plot.h"

#include <memory>
#include <vector>

class QCPGraph;

namespace kvscope {

/// Time to first token by prompt length, one shot and in chunks: measurements are marks, the fit of
/// two throughputs a line, the held-out length hollow. Runs and fits under other load
/// are marked, and where the trained positions end.
class FirstTokenPlot : public LabPlot
{
    Q_OBJECT
public:
    explicit FirstTokenPlot(QWidget* parent = nullptr);
    ~FirstTokenPlot() override;

    void add(const FirstTokenRow& row);
    void setReport(std::shared_ptr<const LatencyReport> report);
    void clear();
    /// What stands above the plot for one shot (0), or for chunks of that size.
    QString keyOf(std::int64_t chunkTokens) const;

protected:
    SnapshotTable exportTable() const override;
    ReadoutTable readoutTable() const override;
    QString emptyText() const override;

private:
    void prepare(const PlotResolution& resolution);
    void restyle(const Theme& theme);
    void drawRows(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawKeys(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    const HeldOutFit* fitOf(std::int64_t chunkTokens) const;
    const FirstTokenRow* rowOf(std::int64_t tokens, bool isChunked) const;
    QPen penOf(bool isChunked, const Theme& theme) const;

    std::vector<FirstTokenRow> m_rows;
    std::shared_ptr<const LatencyReport> m_report;
    std::vector<QCPGraph*> m_fits; ///< one shot, chunked
};

/// The decode step by cached length beside what its bytes need at the bandwidth measured in the
/// same run. A bandwidth measured under other load makes that line a dotted one, and is said.
class DecodeStepPlot : public LabPlot
{
    Q_OBJECT
public:
    explicit DecodeStepPlot(QWidget* parent = nullptr);
    ~DecodeStepPlot() override;

    void add(const DecodeStepRow& row);
    void setReport(std::shared_ptr<const LatencyReport> report);
    void clear();
    QString stepKey() const;  ///< above the plot: "● step, 0.012 ms per 1,000 cached"
    QString floorKey() const; ///< "its bytes at 17.4 GB/s", and whether that is uncertain

protected:
    SnapshotTable exportTable() const override;
    ReadoutTable readoutTable() const override;
    QString emptyText() const override;

private:
    void prepare(const PlotResolution& resolution);
    void restyle(const Theme& theme);
    void drawRows(QCPPainter& painter, const QRectF& area, const Theme& theme) const;

    bool isFloorUncertain() const;
    QPen floorPen(const Theme& theme) const;

    std::vector<DecodeStepRow> m_rows;
    std::shared_ptr<const LatencyReport> m_report;
    QCPGraph* m_floor;
};

} // namespace kvscope
