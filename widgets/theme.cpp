#include "widgets/theme.h"

#include <QGuiApplication>
#include <QImage>
#include <QPainter>
#include <QPalette>
#include <QTransform>

#include <algorithm>
#include <cmath>
#include <cstddef>

namespace kvscope {
namespace {

Theme makeLight()
{
    Theme theme;
    theme.window = 0xECEEF0;
    theme.panel = 0xFFFFFF;
    theme.alternateRow = 0xF6F7F9;
    theme.dockTitle = 0xE4E7EA;
    theme.line = 0xCDD3D8;
    theme.grid = 0xE9ECEF;
    theme.ink = 0x1A2026;
    theme.ink2 = 0x46505A;
    theme.ink3 = 0x66717C;
    theme.highlight = 0x2F6FB0;
    theme.highlightBackground = 0xDCE8F4;
    theme.global = 0x1F6BAE;
    theme.windowed = 0xB65410;
    theme.evicted = 0x7F8994;
    theme.weights = 0xA3ACB6;
    theme.scratch = 0xD8C372;
    theme.growthCopy = 0x064E46;
    theme.selection = 0xB3127F;
    theme.selectionBackground = 0xFBE3F2;
    theme.good = 0x147A5C;
    theme.caution = 0x8F6400;
    theme.bad = 0xAE2A1E;
    theme.goodBackground = 0xE0F1EA;
    theme.cautionBackground = 0xFBF1D9;
    theme.badBackground = 0xFBE4E1;
    theme.age = {0x662604, 0xA9480E, 0xD87A34, 0xEFAE74, 0xF8D8B8, 0xFBEEE0};
    theme.accuracy = {0xF3EFE4, 0xCFE0E4, 0x8BBBD3, 0x3A86B8, 0x0C4A80};
    theme.wrongKinds = {0x6C3F94, 0xB794D3, 0x8A94A0};
    return theme;
}

Theme makeDark()
{
    Theme theme;
    theme.isDark = true;
    theme.window = 0x1A1E23;
    theme.panel = 0x21262C;
    theme.alternateRow = 0x262C33;
    theme.dockTitle = 0x2A3037;
    theme.line = 0x3C454E;
    theme.grid = 0x2D343B;
    theme.ink = 0xE6EAEE;
    theme.ink2 = 0xB8C1CA;
    theme.ink3 = 0x8E99A4;
    theme.highlight = 0x3F82C8;
    theme.highlightBackground = 0x29405A;
    theme.global = 0x62ABEA;
    theme.windowed = 0xF09A50;
    theme.evicted = 0x727D88;
    theme.weights = 0x59636D;
    theme.scratch = 0x8A7A35;
    theme.growthCopy = 0xB7F5E6;
    theme.selection = 0xFF4FB0;
    theme.selectionBackground = 0x4A2340;
    theme.good = 0x4CC79D;
    theme.caution = 0xE3B34B;
    theme.bad = 0xF2836F;
    theme.goodBackground = 0x1F3D34;
    theme.cautionBackground = 0x40361E;
    theme.badBackground = 0x472B28;
    theme.age = {0xFFD2A1, 0xF09A50, 0xB5672C, 0x75452A, 0x47332A, 0x332B28};
    theme.accuracy = {0x23292F, 0x274257, 0x2D6490, 0x4C93CB, 0xA5D5F8};
    theme.wrongKinds = {0xBB8FE0, 0x7F5DA6, 0x8A94A0};
    return theme;
}

template <std::size_t N>
QColor interpolated(const std::array<QColor, N>& stops, double at)
{
    const double scaled = std::clamp(at, 0.0, 1.0) * (N - 1);
    const auto lower = std::min(static_cast<std::size_t>(scaled), N - 2);
    const double share = scaled - static_cast<double>(lower);
    const auto mixed = [share](int from, int to) {
        return static_cast<int>(std::lround(from + (to - from) * share));
    };
    const QColor& from = stops[lower];
    const QColor& to = stops[lower + 1];
    return {mixed(from.red(), to.red()), mixed(from.green(), to.green()),
            mixed(from.blue(), to.blue())};
}

// WCAG 2.1, "relative luminance".
double relativeLuminance(const QColor& color)
{
    const auto linear = [](double channel) {
        return channel <= 0.03928 ? channel / 12.92 : std::pow((channel + 0.055) / 1.055, 2.4);
    };
    return 0.2126 * linear(color.redF()) + 0.7152 * linear(color.greenF()) +
           0.0722 * linear(color.blueF());
}

constexpr int kPeriod = 6;
constexpr int kDensity = 4; ///< drawn larger, so that the brush stays crisp at 200 % and in print

/// One period of the hatch. Qt's own patterns cannot be spaced and shimmer when a bar grows.
QImage makeHatch(const QColor& ink, const QColor& paper)
{
    QImage tile(kPeriod * kDensity, kPeriod * kDensity, QImage::Format_ARGB32_Premultiplied);
    tile.fill(paper);
    QPainter painter(&tile);
    painter.scale(kDensity, kDensity);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(ink, 1.6));
    for (int shift = -kPeriod; shift <= kPeriod; shift += kPeriod)
        painter.drawLine(QPointF(shift - 1, kPeriod + 1), QPointF(shift + kPeriod + 1, -1));
    return tile;
}

} // namespace

const Theme& Theme::light()
{
    static const Theme kTheme = makeLight();
    return kTheme;
}

const Theme& Theme::dark()
{
    static const Theme kTheme = makeDark();
    return kTheme;
}

const Theme& Theme::current()
{
    return QGuiApplication::palette().color(QPalette::Window).lightness() < 128 ? dark() : light();
}

QColor Theme::ageColor(double fraction) const
{
    return interpolated(age, fraction);
}

QColor Theme::accuracyColor(double share) const
{
    return interpolated(accuracy, share);
}

QBrush Theme::slackBrush() const
{
    QBrush brush(makeHatch(global, panel));
    brush.setTransform(QTransform::fromScale(1.0 / kDensity, 1.0 / kDensity));
    return brush;
}

QColor Theme::textOn(const QColor& fill) const
{
    const QColor darkInk = light().ink;
    return contrastRatio(fill, darkInk) >= contrastRatio(fill, Qt::white) ? darkInk
                                                                          : QColor(Qt::white);
}

double contrastRatio(const QColor& first, const QColor& second)
{
    const double a = relativeLuminance(first);
    const double b = relativeLuminance(second);
    return (std::max(a, b) + 0.05) / (std::min(a, b) + 0.05);
}

} // namespace kvscope
