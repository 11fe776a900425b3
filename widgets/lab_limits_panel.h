#pragma once

#include "engine/lab/limits_report.h"
#include "widgets/painted_panel.h"

#include <memory>
#include <vector>

namespace kvscope {

/// What a context costs by length, as a table with the figures of the model above it. Arithmetic.
/// Where the room is short, columns drop in a written order; the tooltip and the CSV have them all.
class LimitsPanel : public PaintedPanel
{
    Q_OBJECT
public:
    explicit LimitsPanel(QWidget* parent = nullptr);

    void setReport(std::shared_ptr<const LimitsReport> report);
    void clear() { setReport(nullptr); }
    /// The column titles that a width of the panel leaves.
    QStringList shownColumns(double width) const;

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override;
    SnapshotTable accessibleTable() const override { return shownTable(); }

    QSize sizeHint() const override { return {680, 300}; }
    QSize minimumSizeHint() const override { return {280, 160}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    SnapshotTable shownTable() const; ///< every column, as people read it
    std::vector<qsizetype> columnsFor(double width) const;
    QStringList figures() const;
    double paintFigures(QPainter& painter, const QRectF& area, const Theme& theme) const;
    void paintTable(QPainter& painter, const QRectF& area, const Theme& theme) const;

    std::shared_ptr<const LimitsReport> m_report;
};

} // namespace kvscope
