#pragma once

#include "engine/session/lab_event.h"
#include "widgets/painted_panel.h"

#include <optional>

namespace kvscope {

/// What a run would do and has done: a sweep's cells, trials and tokens by how far they are, or a
/// row a length or scheme with what cannot be run and why.
class LabPlanTable : public PaintedPanel
{
    Q_OBJECT
public:
    explicit LabPlanTable(QWidget* parent = nullptr);

    void setPlan(const ExperimentPlan& plan);
    void setSweep(const SweepReport& report); ///< how far a sweep is
    void clear();

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override { return m_table; }

    QSize sizeHint() const override;
    bool hasHeightForWidth() const override { return true; }
    int heightForWidth(int width) const override;
    QSize minimumSizeHint() const override { return {180, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void showTable(const SnapshotTable& table, const QStringList& reasons);

    SnapshotTable m_table;
    QStringList m_reasons; ///< why a length cannot be run, one a line
};

} // namespace kvscope
