#include "widgets/fonts.h"

#include <QFontDatabase>
#include <QFontInfo>
#include <QGuiApplication>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kSmallestPixels = 10;

int offsetOf(TextSize size)
{
    switch (size) {
    case TextSize::Axis:
        return -2;
    case TextSize::Secondary:
        return -1;
    case TextSize::Body:
        return 0;
    case TextSize::Heading:
        return 3;
    case TextSize::Headline:
        return 7;
    }
    return 0;
}

QFont scaled(QFont font, TextSize size, int correction, QFont::Weight weight)
{
    const int body = QFontInfo(QGuiApplication::font()).pixelSize();
    font.setPixelSize(std::max(kSmallestPixels, body + offsetOf(size) + correction));
    font.setWeight(weight);
    return font;
}

QString fixedFamily()
{
    static const QString kFamily = [] {
        const QString preferred = QStringLiteral("JetBrains Mono");
        if (QFontDatabase::hasFamily(preferred))
            return preferred;
        return QFontDatabase::systemFont(QFontDatabase::FixedFont).family();
    }();
    return kFamily;
}

} // namespace

QFont uiFont(TextSize size, QFont::Weight weight)
{
    return scaled(QGuiApplication::font(), size, 0, weight);
}

QFont digitFont(TextSize size, QFont::Weight weight)
{
    QFont font(fixedFamily());
    font.setStyleHint(QFont::Monospace);
    return scaled(font, size, -1, weight);
}

} // namespace kvscope
