#include "widgets/ring_legend.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::RingsPanel", text);
}

} // namespace

void paintRingLegend(QPainter& painter, const QRectF& area, std::int64_t oldestAge, bool hasSlack,
                     const Theme& theme)
{
    const QFont small = uiFont(TextSize::Secondary);
    const double line = QFontMetricsF(small).height();
    const double width = std::min(area.width(), 150.0);
    const int rows = hasSlack ? 4 : 3;
    const double height = line + 2 + 10 + 2 + line + 2 + rows * (line + 1);
    double y = std::round(area.center().y() - height / 2);
    painter.setFont(uiFont(TextSize::Secondary, QFont::Bold));
    painter.setPen(theme.ink);
    paintElided(painter, {area.left(), y, width, line}, Qt::AlignLeft, tr("Slot colour: age"));
    y += line + 2;

    const int steps = static_cast<int>(std::min(width, 120.0));
    for (int x = 0; x < steps; ++x)
        painter.fillRect(QRectF(area.left() + x, y, 1.2, 10),
                         theme.ageColor(1.0 - x / (steps - 1.0)));
    y += 12;
    painter.setFont(uiFont(TextSize::Axis));
    painter.setPen(theme.ink2);
    const QRectF scale(area.left(), y, steps, line);
    painter.drawText(scale, Qt::AlignLeft | Qt::TextDontClip,
                     tr("%1 tokens").arg(countText(oldestAge)));
    painter.drawText(scale, Qt::AlignRight | Qt::TextDontClip, tr("newest"));
    y += line + 2;

    painter.setFont(small);
    const auto entry = [&](const QString& text, const auto& mark) {
        painter.save();
        mark(QRectF(area.left(), y + std::round((line - 9) / 2), 9, 9));
        painter.restore();
        painter.setPen(theme.ink2);
        paintElided(painter, {area.left() + 16, y, width - 16, line},
                    Qt::AlignLeft | Qt::AlignVCenter, text);
        y += line + 1;
    };
    entry(tr("head: next slot written"), [&](const QRectF& box) {
        painter.fillRect(QRectF(box.center().x() - 1, box.top() - 1, 2, 11), theme.ink);
    });
    entry(tr("token that left"), [&](const QRectF& box) {
        painter.setPen(QPen(theme.evicted, 1.0));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(0.5, 0.5, -0.5, -0.5));
    });
    entry(tr("selected token"), [&](const QRectF& box) {
        painter.setPen(QPen(theme.selection, 1.8, Qt::SolidLine, Qt::FlatCap, Qt::MiterJoin));
        painter.setBrush(Qt::NoBrush);
        painter.drawRect(box.adjusted(1, 1, -1, -1));
    });
    if (hasSlack)
        entry(tr("outside the window"),
              [&](const QRectF& box) { paintSlack(painter, box, theme); });
}

} // namespace kvscope
