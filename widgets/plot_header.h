#pragma once

#include <QRectF>
#include <QString>
#include <QWidget>

#include <utility>
#include <vector>

class QButtonGroup;
class QHBoxLayout;
class QPainter;

namespace kvscope {

struct Theme;

/// The texts of a header: title, the question in grey, and the tag in a box.
struct PlotHeaderTexts
{
    QString title;
    QString question;
    QString tag;
};

/// Draws them; where the room is short the question is cut first, then the tag left out.
void paintPlotHeader(QPainter& painter, const QRectF& area, const PlotHeaderTexts& texts,
                     const Theme& theme);

/// The line above a plot: its title, the one question it answers in grey, how its numbers came
/// about ("measured"), and the switches that belong to it. The question is cut short where it does
/// not fit; the tooltip has it whole.
class PlotHeader : public QWidget
{
    Q_OBJECT
public:
    explicit PlotHeader(const PlotHeaderTexts& texts, QWidget* parent = nullptr);

    /// Other words, as when another choice asks another question.
    void setTexts(const PlotHeaderTexts& texts);

    /// The surface it stands on: a panel by default.
    void setSurface(QColor Theme::*surface);

    /// Adds a row of two or more exclusive choices at the right; the first is on.
    /// \returns the group; ids are 0, 1, ... in the order given
    QButtonGroup* addChoice(const QStringList& choices, const QString& accessibleName);

    /// Below this width of the header the choice is hidden; the context menu has it too.
    void hideBelow(QButtonGroup* choice, int width);

protected:
    void resizeEvent(QResizeEvent* event) override;
    void paintEvent(QPaintEvent* event) override;

private:
    PlotHeaderTexts m_texts;
    QColor Theme::*m_surface = nullptr; ///< null: the panel's
    QHBoxLayout* m_layout;
    std::vector<std::pair<QWidget*, int>> m_hidden; ///< a choice and the width it needs
};

} // namespace kvscope
