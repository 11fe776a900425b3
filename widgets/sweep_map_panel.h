#pragma once

#include "widgets/painted_panel.h"
#include "widgets/sweep_cells.h"
#include "widgets/sweep_map_layout.h"
#include "widgets/sweep_map_painter.h"

#include <QPixmap>

#include <memory>
#include <optional>

class QButtonGroup;
class QScrollBar;

namespace kvscope {

class PlotHeader;

/// The map of a sweep: what was found by length and depth, with intervals, controls, oracle and
/// both marginals. It fills as trials land. GUI thread.
///
/// Arrows move over the cells, Enter or a click chooses one; the wheel scrolls, with Shift
/// sideways.
class SweepMapPanel : public PaintedPanel
{
    Q_OBJECT
public:
    explicit SweepMapPanel(QWidget* parent = nullptr);

    /// Shows what a sweep knows so far; null: nothing. The chosen cell stays where the new report
    /// has it, too.
    void setReport(std::shared_ptr<const SweepReport> report);
    void clear() { setReport(nullptr); }
    const SweepReport* report() const { return m_report.get(); }

    SweepMapMode mode() const { return m_mode; }
    void setMode(SweepMapMode mode);

    /// The cell whose trials are wanted.
    std::optional<SweepCellKey> chosen() const { return m_chosen; }
    /// Chooses a cell and says so; one that the report does not have is ignored.
    void choose(const SweepCellKey& key);
    void clearChosen();

    /// Title, question and modes, to stand in a dock's title bar; the panel then begins with its
    /// map.
    QWidget* takeHeader();
    /// Where everything lies now, in this widget's pixels.
    SweepMapLayout currentLayout() const;

    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const override;
    SnapshotTable exportTable() const override;
    SnapshotTable accessibleTable() const override;

    QSize sizeHint() const override { return {704, 640}; }
    QSize minimumSizeHint() const override { return {480, 360}; }

Q_SIGNALS:
    /// Never a cell that the report does not have; {Oracle, 0, 0} is the oracle.
    void cellChosen(const kvscope::SweepCellKey& cell);
    void modeChanged(kvscope::SweepMapMode mode);

protected:
    void extendExport(ExportSource& source) const override;
    void extendContextMenu(QMenu& menu) override;
    void forgetDrawn() override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mousePressEvent(QMouseEvent* event) override;
    void leaveEvent(QEvent* event) override;
    void wheelEvent(QWheelEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    bool isEmpty() const { return !m_report || m_report->columns.empty(); }
    void describe();
    void arrange();
    QRectF mapArea() const; ///< without header; scroll bars included
    QRectF mapAreaBesideBars() const;
    void paintEmpty(QPainter& painter) const;

    // sweep_map_input.cpp
    void moveCursor(int columns, int rows);
    void scrollTo(const SweepCellKey& key);
    void tellScreenReader() const;
    QString tooltipAt(const QPointF& point) const;
    QString cellTooltip(const SweepCellKey& key) const;
    QString columnTooltip(std::size_t column) const;
    std::optional<std::size_t> columnHeadAt(const QPointF& point) const;

    std::shared_ptr<const SweepReport> m_report;
    SweepMapMode m_mode = SweepMapMode::Cells;
    std::optional<SweepCellKey> m_chosen;
    std::optional<SweepCellKey> m_hovered;
    SweepCellKey m_cursor; ///< where the arrows are
    PlotHeader* m_header;
    bool m_isHeaderTaken = false;
    QButtonGroup* m_modes;
    QScrollBar* m_down;
    QScrollBar* m_sideways;
    QPixmap m_scene; ///< everything but the outlines; null when out of date
};

} // namespace kvscope
