#include "widgets/report_card_text.h"

#include "widgets/fonts.h"

#include <QFontMetricsF>
#include <QGuiApplication>
#include <QPainter>
#include <QTextLayout>
#include <QTextOption>

#include <array>

namespace kvscope {
namespace {

int pixelsOf(CardTextSize size)
{
    constexpr std::array<int, 6> kPixels{11, 12, 13, 15, 21, 25};
    return kPixels.at(static_cast<std::size_t>(size));
}

/// The lines of a text of that width, laid out from the top.
void layOut(QTextLayout& layout, double width, double height)
{
    layout.beginLayout();
    double y = 0.0;
    for (QTextLine line = layout.createLine(); line.isValid(); line = layout.createLine()) {
        line.setLineWidth(width);
        line.setPosition(QPointF(0, y));
        y += line.height() * 1.12;
        if (y > height)
            break;
    }
    layout.endLayout();
}

} // namespace

QFont cardFont(CardTextSize size, QFont::Weight weight)
{
    QFont font(QGuiApplication::font());
    font.setPixelSize(pixelsOf(size));
    font.setWeight(weight);
    return font;
}

QFont cardDigitFont(CardTextSize size, QFont::Weight weight)
{
    QFont font = digitFont();
    font.setPixelSize(pixelsOf(size) - 1);
    font.setWeight(weight);
    return font;
}

double drawWrapped(QPainter& painter, const QRectF& area, const QString& text, const QFont& font,
                   int boldLength)
{
    QTextLayout layout(text, font);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere); // a path has no spaces
    layout.setTextOption(option);
    QFont bold = font;
    bold.setWeight(QFont::Bold);
    QTextLayout::FormatRange beginning;
    beginning.start = 0;
    beginning.length = boldLength;
    beginning.format.setFont(bold);
    if (boldLength > 0)
        layout.setFormats({beginning});
    layOut(layout, area.width(), area.height());
    double bottom = 0.0;
    for (int i = 0; i < layout.lineCount(); ++i) {
        const QTextLine line = layout.lineAt(i);
        const bool isNextCut =
            i + 1 == layout.lineCount() && line.textStart() + line.textLength() < text.size();
        const bool isOutside = line.y() + line.height() > area.height() + 0.5;
        if (isOutside)
            break;
        const bool isLast =
            isNextCut || (i + 1 < layout.lineCount() &&
                          layout.lineAt(i + 1).y() + line.height() > area.height() + 0.5);
        bottom = line.y() + line.height() * 1.12;
        if (!isLast) {
            line.draw(&painter, area.topLeft());
            continue;
        }
        painter.setFont(font);
        painter.drawText(QRectF(area.left(), area.top() + line.y(), area.width(), line.height()),
                         Qt::AlignLeft | Qt::AlignVCenter | Qt::TextSingleLine,
                         QFontMetricsF(font).elidedText(text.mid(line.textStart()), Qt::ElideRight,
                                                        area.width()));
        break;
    }
    return bottom;
}

} // namespace kvscope
