#pragma once

#include "widgets/sweep_cells.h"
#include "widgets/sweep_map_layout.h"

#include <QColor>
#include <QFont>
#include <QRectF>
#include <QString>

class QPainter;

namespace kvscope {

struct SweepSummaryRow;
struct Theme;

/// What a cell of the map says of its trials.
enum class SweepMapMode {
    Cells, ///< found of asked, coloured by their share
    Loss,  ///< mean nll of the right answer's tokens, coloured by exp(-nll), the mean probability
    Kinds, ///< how the answers came out, as a stacked bar
};

/// The shape of a report's map in the current fonts.
SweepMapShape sweepMapShape(const SweepReport& report);

/// What the map shows, in one line: "found of asked, Wilson 95 %; ▲ above, ▼ below, ...".
QString sweepMapQuestion(const SweepReport& report, SweepMapMode mode);

/// Draws a sweep's map where a layout says, on any device. It clips only where the layout is
/// scrolled, so pictures of the whole map need no clipping.
class SweepMapPainter
{
public:
    /// All outlive the painter.
    SweepMapPainter(QPainter& painter, const SweepReport& report, const SweepMapLayout& layout,
                    SweepMapMode mode, const Theme& theme);

    /// Everything but the outlines.
    void paint() const;
    /// The chosen cell, in the selection's colour.
    void outlineChosen(const SweepCellKey& key) const;
    /// The cell under the pointer, or under the keyboard's cursor (dashed).
    void outlineHovered(const SweepCellKey& key, Qt::PenStyle style) const;

private:
    // sweep_map_painter.cpp: the frame
    void paintHeader() const;
    void paintColumnHead(std::size_t column) const;
    void paintRowNames() const;
    void paintName(double top, double height, const QString& name, const QString& note) const;
    void paintTrainedLine() const;
    void paintLeakBand() const;
    void outline(const SweepCellKey& key, const QColor& color, double width,
                 Qt::PenStyle style) const;

    // sweep_map_cells.cpp
    void paintCells() const;
    void paintCell(const QRectF& area, const SweepCell& cell, const SweepCellKey& key) const;
    void paintScore(const QRectF& area, const SweepCell& cell, const SweepCellKey& key) const;
    void paintLoss(const QRectF& area, const SweepCell& cell) const;
    void paintKinds(const QRectF& area, const SweepCell& cell) const;
    void paintRunning(const QRectF& area, const SweepCell& cell) const;
    void paintQueued(const QRectF& area) const;
    void paintUncounted(const QRectF& area) const; ///< trials, but the control answered them all
    void paintCannotFit(const QRectF& area, const QString& reason) const;
    void paintTwoLines(const QRectF& area, const QString& value, const QString& note,
                       const QColor& color, double reserved = 0.0) const;
    void paintCorner(const QRectF& area, const QString& glyph, const QColor& color) const;
    void paintOracle() const;

    // sweep_map_marginals.cpp
    void paintByDepth() const;
    void paintDepthScore(std::size_t depth, double plotLeft, double plotRight) const;
    void paintColorKey() const;
    void paintByLength() const;
    void paintLengthScore(std::size_t column) const;
    void paintPassLines() const;
    void paintInterval(const QPointF& low, const QPointF& high, const QPointF& point,
                       bool isComplete) const;

    // sweep_map_summary.cpp
    void paintSummary() const;
    void paintRow(const SweepSummaryRow& row, const SummaryRowPlace& place) const;
    void paintTitle(QRectF& line, const QString& title, const QString& note) const;
    void paintWrongAnswers() const;
    void paintKindLegend(const QRectF& area) const;

    void write(const QRectF& area, int alignment, const QString& text, const QFont& font,
               const QColor& color) const;
    /// Limits drawing to what is seen, where that differs from the whole.
    void clipTo(const QRectF& area) const;
    bool isShown(const QRectF& area) const;

    QPainter& m_painter;
    const SweepReport& m_report;
    const SweepMapLayout& m_layout;
    SweepMapMode m_mode;
    const Theme& m_theme;
};

/// One stretch of a stacked bar of answer kinds.
struct KindSegment
{
    AnswerKind kind = AnswerKind::Found;
    std::int64_t count = 0;
};

/// Draws kinds beside each other as a bar that is `pixelsPerAnswer` wide an answer.
/// Empty answers are an outline. Counts are written where they fit.
void paintKindBar(QPainter& painter, const QRectF& area, double pixelsPerAnswer,
                  const std::vector<KindSegment>& segments, const Theme& theme);
/// The kinds that a cell has, found ones first or left out.
std::vector<KindSegment> kindSegments(const SweepCell& cell, bool withFound);
/// Fill of a kind; transparent for empty ones, which are outlines.
QColor kindColor(AnswerKind kind, const Theme& theme);
/// 45 degree lines that end at the rectangle's edges, without clipping.
void paintHatch(QPainter& painter, const QRectF& area, const QColor& color, double spacing);

} // namespace kvscope
