#pragma once

#include <QFont>
#include <QString>

#include <string>

class QPainter;
class QRectF;

namespace kvscope {

// The card is a page of paper: its fonts have fixed sizes in the page's own units, whatever the
// window's are.

enum class CardTextSize { Axis, Small, Body, Heading, Headline, Title };

QFont cardFont(CardTextSize size, QFont::Weight weight = QFont::Normal);
/// For lengths, counts and commands.
QFont cardDigitFont(CardTextSize size, QFont::Weight weight = QFont::Normal);

/// Draws a text into the area, in the painter's pen, wrapped at words; what does not fit ends in an
/// ellipsis. No clipping, which SVG lacks.
/// \param boldLength  characters at the beginning that are bold
/// \returns the height used
double drawWrapped(QPainter& painter, const QRectF& area, const QString& text, const QFont& font,
                   int boldLength = 0);

inline QString fromUtf8(const std::string& text)
{
    return QString::fromStdString(text);
}

} // namespace kvscope
