#pragma once

#include "widgets/theme.h"

#include <QRectF>
#include <QSize>
#include <QString>
#include <QWidget>

#include <array>
#include <vector>

class QPainter;

namespace kvscope {

/// How a row's mark repeats what the plot draws.
enum class Swatch { None, Line, Fill, Hatch, Dot };

/// One quantity at up to three tokens.
struct ReadoutRow
{
    QString name;
    Swatch swatch = Swatch::None;
    QColor Theme::*color = nullptr; ///< of the swatch; unused where there is none
    std::array<QString, 3> values;  ///< pinned, hovered, now; a dash where missing
    QString hint;                   ///< tooltip: what is counted in it
};

/// A cursor table as on an oscilloscope: the same quantities at the pinned, the hovered and the
/// newest token. An empty heading leaves its column blank.
struct ReadoutTable
{
    QString title; ///< with the unit: "MiB at token"
    std::array<QString, 3> headings;
    std::vector<ReadoutRow> rows;
};

/// How many of the columns are shown: at narrow widths hovered goes first, then pinned.
enum class ReadoutColumns { Now, PinnedAndNow, All };

/// The readout's width in pixels.
int readoutWidth(ReadoutColumns columns);
/// The columns that fit beside a plot in a panel this wide.
ReadoutColumns readoutColumnsFor(int panelWidth);

/// Draws the table; rows that do not fit the height are left out from the end.
void paintReadout(QPainter& painter, const QRectF& area, const ReadoutTable& table,
                  ReadoutColumns columns, const Theme& theme);

/// The table as a widget. Screen readers get it as the accessible description.
class TokenReadout : public QWidget
{
    Q_OBJECT
public:
    explicit TokenReadout(QWidget* parent = nullptr);
    void setTable(ReadoutTable table);
    const ReadoutTable& table() const { return m_table; }
    void setColumns(ReadoutColumns columns);
    ReadoutColumns columns() const { return m_columns; }
    QSize sizeHint() const override;

protected:
    bool event(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    ReadoutTable m_table;
    ReadoutColumns m_columns = ReadoutColumns::All;
};

} // namespace kvscope
