#include "widgets/chat_legend.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QFontMetrics>
#include <QPainter>

#include <vector>

namespace kvscope {

ChatLegend::ChatLegend(QWidget* parent)
    : QWidget(parent)
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setAccessibleName(tr("Legend"));
    refresh();
}

QSize ChatLegend::sizeHint() const
{
    return {320, spacing::kListRow};
}

void ChatLegend::setReach(const ChatReach& reach)
{
    if (reach == m_reach)
        return;
    m_reach = reach;
    refresh();
}

void ChatLegend::setHasLosses(bool hasLosses)
{
    if (hasLosses == m_hasLosses)
        return;
    m_hasLosses = hasLosses;
    refresh();
}

void ChatLegend::refresh()
{
    setVisible(m_reach.contextLength > 0);
    QStringList texts;
    for (const Item& item : items())
        texts << item.text;
    setToolTip(plainTooltip(texts.join(u'\n')));
    setAccessibleDescription(texts.join(QStringLiteral(", ")));
    update();
}

std::vector<ChatLegend::Item> ChatLegend::items() const
{
    using Mark = Item::Mark;
    std::vector<Item> items;
    if (m_reach.windowedLayers > 0 && m_reach.globalLayers > 0) {
        items.push_back({Mark::Both, tr("windows and global")});
        if (m_reach.hasEdge())
            items.push_back({Mark::Global, tr("global only")});
    } else if (m_reach.windowedLayers > 0) {
        items.push_back({Mark::Windowed, tr("in the windows")});
    } else {
        items.push_back({Mark::Global, tr("global layers")});
    }
    if (m_hasLosses)
        items.push_back({Mark::Loss, tr("loss")});
    if (m_reach.hasEdge())
        items.push_back({Mark::Edge, tr("windows from %1").arg(countText(m_reach.firstInWindows))});
    return items;
}

void ChatLegend::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    painter.setFont(uiFont(TextSize::Secondary));
    const QFontMetrics metrics = painter.fontMetrics();
    const int middle = height() / 2;
    int x = spacing::kWide;
    for (const Item& item : items()) {
        const bool isBars = item.mark != Item::Mark::Edge && item.mark != Item::Mark::Loss;
        const int markWidth = isBars ? 6 : 14;
        if (x + markWidth + 4 + metrics.horizontalAdvance(item.text) > width() - spacing::kTight)
            return;
        if (item.mark == Item::Mark::Both || item.mark == Item::Mark::Windowed)
            painter.fillRect(x, middle - 6, 3, 12, theme.windowed);
        if (item.mark == Item::Mark::Both || item.mark == Item::Mark::Global)
            painter.fillRect(x + 3, middle - 6, 3, 12, theme.global);
        if (item.mark == Item::Mark::Loss)
            painter.fillRect(x, middle + 3, markWidth, 2, theme.global);
        if (item.mark == Item::Mark::Edge) {
            painter.setPen(QPen(theme.windowed, 1, Qt::DashLine));
            painter.drawLine(x, middle, x + markWidth, middle);
        }
        painter.setPen(theme.ink2);
        painter.drawText(QRect(x + markWidth + 4, 0, width(), height()), Qt::AlignVCenter,
                         item.text);
        x += markWidth + 4 + metrics.horizontalAdvance(item.text) + spacing::kWide;
    }
}

} // namespace kvscope
