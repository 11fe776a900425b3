#pragma once

#include "widgets/export_menu.h"
#include "widgets/snapshot_table.h"

#include <QString>
#include <QWidget>

class QMenu;
class QPainter;

namespace kvscope {

struct Theme;

/// A view drawn by QPainter, with what all of them share: a one-line description (grey after the
/// dock's title, and what a screen reader says), its numbers as a table, export from the context
/// menu, a focus ring, and new colours when the palette changes.
class PaintedPanel : public QWidget
{
    Q_OBJECT
public:
    /// What the view shows right now, in one line: "6 windowed layers, slots in physical order".
    QString description() const { return m_description; }

    /// Draws the whole view into `area` on any device, without hover. For export.
    virtual void paintTo(QPainter& painter, const QRectF& area, const Theme& theme) const = 0;
    /// Every number of the drawing, for CSV.
    virtual SnapshotTable exportTable() const = 0;
    /// The numbers that a screen reader walks through; by default all.
    virtual SnapshotTable accessibleTable() const { return exportTable(); }

    QString csv() const { return csvText(exportTable()); }
    /// The recipe drawn under exported pictures.
    void setExportCaption(const QString& caption) { m_exportCaption = caption; }
    ExportSource exportSource() const;

Q_SIGNALS:
    void descriptionChanged(const QString& description);
    void exported(const QString& path);
    void exportFailed(const QString& message);

protected:
    /// \param exportName  file name of exports without ending; \param title  accessible name
    PaintedPanel(const QString& exportName, const QString& title, QWidget* parent);

    void setDescription(const QString& description);
    /// Drops whatever was drawn in the old colours or fonts. Repaints by itself.
    virtual void forgetDrawn() {}
    /// Adds what else this view exports, or changes the picture's size.
    virtual void extendExport(ExportSource&) const {}
    /// Adds the view's own actions above the export actions.
    virtual void extendContextMenu(QMenu&) {}
    /// The 2 px ring in `highlight` around a view that has the keyboard. Call last in paintEvent.
    void paintFocus(QPainter& painter) const;

    void contextMenuEvent(QContextMenuEvent* event) override;
    void changeEvent(QEvent* event) override;
    void focusInEvent(QFocusEvent* event) override;
    void focusOutEvent(QFocusEvent* event) override;

private:
    QString m_exportName;
    QString m_description;
    QString m_exportCaption;
};

/// An empty view: one bold line and what to do, wrapped and centred in `area`.
void paintEmptyState(QPainter& painter, const QRectF& area, const Theme& theme,
                     const QString& title, const QString& advice);
/// Text elided to its rectangle.
void paintElided(QPainter& painter, const QRectF& area, int alignment, const QString& text,
                 Qt::TextElideMode mode = Qt::ElideRight);
/// Allocated and unused: the 45 degree hatch as lines, crisp on screen and vectors in print.
void paintSlack(QPainter& painter, const QRectF& area, const Theme& theme);

} // namespace kvscope
