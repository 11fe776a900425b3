#pragma once

#include <QFont>

namespace kvscope {

/// Steps of the type scale, relative to the interface font (12 px in the drawings): axis 10,
/// secondary 11, body 12, heading 15, headline 19. Nothing is drawn smaller than 10 px.
enum class TextSize { Axis, Secondary, Body, Heading, Headline };

/// The interface font.
QFont uiFont(TextSize size = TextSize::Body, QFont::Weight weight = QFont::Normal);

/// For digits in columns, ids and positions: JetBrains Mono, or the system's fixed font, one pixel
/// smaller than the interface font. Its default digits are tabular, which Qt 6.4 cannot switch on.
QFont digitFont(TextSize size = TextSize::Body, QFont::Weight weight = QFont::Normal);

/// Spacing steps and fixed heights in device-independent pixels.
namespace spacing {
constexpr int kHair = 2;
constexpr int kTight = 4;
constexpr int kStep = 8;
constexpr int kWide = 12;
constexpr int kBlock = 16;
constexpr int kDenseRow = 18;
constexpr int kListRow = 22; ///< also the smallest hit target
constexpr int kDockTitle = 24;
constexpr int kToolBar = 38;
constexpr int kButton = 26;
constexpr int kRadius = 3;
} // namespace spacing

} // namespace kvscope
