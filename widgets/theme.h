#pragma once

#include <QBrush>
#include <QColor>

#include <array>

class QApplication;

namespace kvscope {

enum class ThemeChoice { System, Light, Dark };

/// The colour tokens. A widget names a token, never a hex; what a token stands for is fixed across
/// all views (a windowed layer is orange everywhere).
///
/// Contrast against `panel`: text at least 4.5:1 (ink3 is the palest text allowed), marks at least
/// 3:1.
struct Theme
{
    bool isDark = false;

    QColor window;       ///< between panels
    QColor panel;        ///< behind every view
    QColor alternateRow; ///< every other table row
    QColor dockTitle;
    QColor line; ///< edges of panels and controls
    QColor grid; ///< inside plots and tables

    QColor ink;  ///< values, titles, the head
    QColor ink2; ///< labels
    QColor ink3; ///< secondary text, empty slots

    QColor highlight; ///< Qt's selection, keyboard focus, the active choice, progress
    QColor highlightBackground;

    QColor global;     ///< growing arrays, live cache
    QColor windowed;   ///< rings, the extent of windows
    QColor evicted;    ///< tokens that left: outline only
    QColor weights;    ///< memory held by weights
    QColor scratch;    ///< memory of buffers and logits
    QColor growthCopy; ///< memory held twice while an array grows

    QColor selection; ///< the pinned token or cell, and nothing else
    QColor selectionBackground;

    QColor good; ///< always beside a tick, never alone; so are the next two
    QColor caution;
    QColor bad;
    QColor goodBackground;
    QColor cautionBackground;
    QColor badBackground;

    std::array<QColor, 6> age;      ///< newest to oldest, one hue
    std::array<QColor, 5> accuracy; ///< 0 to 1, never stretched to the data
    /// Wrong answers: a bare number, a sentence with a number, no number. Empty ones are outlines.
    std::array<QColor, 3> wrongKinds;

    static const Theme& light();
    static const Theme& dark();
    /// The theme in force: that of the last applyTheme(), or by the application palette's
    /// lightness. Views read it while painting and repaint on QEvent::PaletteChange.
    static const Theme& current();

    /// \param fraction  0 newest, 1 oldest; clamped
    QColor ageColor(double fraction) const;
    /// \param share  of answers that were right, 0 to 1; clamped
    QColor accuracyColor(double share) const;
    /// Allocated and unused: a 45 degree hatch in `global`, never a flat tint. 6 px apart, on
    /// `panel`.
    QBrush slackBrush() const;
    /// Ink or white, whichever contrasts more with `fill`.
    QColor textOn(const QColor& fill) const;
};

/// WCAG 2 contrast ratio, 1 to 21.
double contrastRatio(const QColor& first, const QColor& second);

/// Dresses the application: Fusion style, palette and a small style sheet in the theme's tokens.
/// System follows the desktop's palette, also when it changes later. Call on the GUI thread, any
/// time.
///
/// The sheet knows a few dynamic properties: `kind` = "primary" or "danger" on a QPushButton,
/// "segment" on a QToolButton in a row of choices.
void applyTheme(QApplication& application, ThemeChoice choice);

} // namespace kvscope
