#pragma once

#include "engine/session/engine_snapshot.h"
#include "widgets/export_menu.h"
#include "widgets/snapshot_table.h"
#include "widgets/token_readout.h"

#include <QPointer>
#include <QString>
#include <QTimer>
#include <QWidget>

#include <cstdint>
#include <optional>

class QCPPainter;
class QMenu;

namespace kvscope {

class PlotCanvas;
class PlotHeader;
class PlotView;
class TokenSelectionModel;

/// What says what a plot shows.
struct PlotTexts
{
    QString exportName; ///< file name without ending
    QString title;
    QString question; ///< the one question it answers, in grey after the title
    QString tag;      ///< "measured", "arithmetic"
};

/// A plot with its header, its readout and what both plots do alike: marks of the pinned and the
/// hovered token, following the newest one, and export of picture and data. GUI thread.
class PlotPanel : public QWidget
{
    Q_OBJECT
public:
    ~PlotPanel() override;

    /// Whose tokens are marked and picked.
    void setSelection(TokenSelectionModel* selection);
    /// For the recipe under exports, and the trained length.
    void setModel(const ModelDescription& model);
    /// The header repeats what a dock's title says; a dock that shows it switches it off.
    void setHeaderVisible(bool isVisible);
    /// Gives the header away, to stand in a dock's title bar; the panel then begins with its plot.
    QWidget* takeHeader();
    QString title() const;
    QString description() const; ///< the question; also the accessible description

    PlotCanvas* canvas() const { return m_canvas; }
    const ReadoutTable& readout() const { return m_readout->table(); }

    /// The data shown, after comment lines with the recipe.
    QString csv() const;
    ExportSource exportSource();
    /// Header, plot and readout in `area`, with the pinned token and without hover.
    void paintTo(QPainter& painter, const QRectF& area, const Theme& theme);

    QSize minimumSizeHint() const override { return {260, 130}; }
    QSize sizeHint() const override { return {700, 262}; }

Q_SIGNALS:
    void exported(const QString& path);
    void exportFailed(const QString& message);

protected:
    PlotPanel(const PlotTexts& texts, QWidget* parent);

    /// Every number of what is in view, for CSV.
    virtual SnapshotTable exportTable() const = 0;
    virtual ReadoutTable readoutTable() const = 0;
    /// Where a token's mark stands on the x axis; nothing where it has no place there.
    virtual std::optional<double> xOfToken(std::int64_t position) const = 0;
    /// The token that a click or the pointer at x means.
    virtual std::optional<std::int64_t> tokenAt(const QPointF& pixel) const = 0;
    /// What to do while there is nothing to show; empty where there is something.
    virtual QString emptyText() const = 0;
    virtual void modelChanged() {}
    /// Adds the plot's own actions above the export actions.
    virtual void extendContextMenu(QMenu&) {}

    TokenSelectionModel* selection() const;
    const ModelDescription& model() const { return m_model; }
    PlotHeader* header() const { return m_header; }
    /// Lets the view follow the head together with the selection, both ways.
    void linkFollowing(PlotView* view);
    /// The readout's figures changed: writes them at once, or four times a second at most.
    void updateReadout();
    void updateReadoutSoon();

    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;

private:
    void arrange();
    void pick(const QPointF& pixel, Qt::KeyboardModifiers modifiers);
    void drawMarks(QCPPainter& painter, const QRectF& area, const Theme& theme) const;
    void drawFlag(QCPPainter& painter, const QRectF& area, const Theme& theme, double x,
                  const QString& text) const;
    void drawEmptyText(QCPPainter& painter, const QRectF& area, const Theme& theme) const;

    PlotTexts m_texts;
    PlotHeader* m_header;
    bool m_isHeaderTaken = false;
    PlotCanvas* m_canvas;
    TokenReadout* m_readout;
    QPointer<TokenSelectionModel> m_selection; ///< null once it is gone, as on closing the window
    ModelDescription m_model;
    QTimer m_readoutTimer;
};

} // namespace kvscope
