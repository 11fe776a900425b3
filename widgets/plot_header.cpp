#include "widgets/plot_header.h"

#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QButtonGroup>
#include <QFontMetricsF>
#include <QHBoxLayout>
#include <QPainter>
#include <QToolButton>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr int kHeight = 28;

} // namespace

void paintPlotHeader(QPainter& painter, const QRectF& area, const PlotHeaderTexts& texts,
                     const Theme& theme)
{
    double left = area.left() + spacing::kStep;
    double right = area.right();
    const auto write = [&](const QString& text, const QFont& font, const QColor& color) {
        const QFontMetricsF metrics(font);
        const QString shown = metrics.elidedText(text, Qt::ElideRight, std::max(right - left, 0.0));
        if (shown.size() < 4 && shown != text)
            return; // a letter and three dots tell nothing
        painter.setFont(font);
        painter.setPen(color);
        painter.drawText(QRectF(left, area.top(), right - left, area.height()),
                         Qt::AlignLeft | Qt::AlignVCenter, shown);
        left += metrics.horizontalAdvance(shown) + spacing::kStep;
    };
    painter.save();
    write(texts.title, uiFont(TextSize::Body, QFont::Bold), theme.ink);
    const QFont tagFont = uiFont(TextSize::Axis);
    const double tagWidth = std::ceil(QFontMetricsF(tagFont).horizontalAdvance(texts.tag)) + 10.0;
    if (left + tagWidth <= right) {
        right -= tagWidth + spacing::kStep;
        write(texts.question, uiFont(TextSize::Secondary), theme.ink2);
        const QRectF box(std::floor(left) + 0.5, std::floor(area.center().y() - 8) + 0.5, tagWidth,
                         15);
        painter.setRenderHint(QPainter::Antialiasing);
        painter.setBrush(Qt::NoBrush);
        painter.setPen(QPen(theme.line, 1));
        painter.drawRoundedRect(box, spacing::kRadius, spacing::kRadius);
        painter.setFont(tagFont);
        painter.setPen(theme.ink2);
        painter.drawText(box, Qt::AlignCenter, texts.tag);
    }
    painter.restore();
}

PlotHeader::PlotHeader(const PlotHeaderTexts& texts, QWidget* parent)
    : QWidget(parent)
    , m_texts(texts)
    , m_layout(new QHBoxLayout(this))
{
    setFixedHeight(kHeight);
    setTexts(texts);
    m_layout->setContentsMargins(0, 2, spacing::kStep, 2);
    m_layout->setSpacing(spacing::kStep);
    m_layout->addStretch(1);
}

void PlotHeader::setTexts(const PlotHeaderTexts& texts)
{
    m_texts = texts;
    setToolTip(texts.question + QStringLiteral(" (") + texts.tag + QLatin1Char(')'));
    update();
}

QButtonGroup* PlotHeader::addChoice(const QStringList& choices, const QString& accessibleName)
{
    auto* row = new QWidget(this);
    row->setAccessibleName(accessibleName);
    auto* rowLayout = new QHBoxLayout(row);
    rowLayout->setContentsMargins(0, 0, 0, 0);
    rowLayout->setSpacing(0);
    auto* group = new QButtonGroup(row);
    group->setExclusive(true);
    for (int i = 0; i < choices.size(); ++i) {
        auto* button = new QToolButton(row);
        button->setText(choices[i]);
        button->setCheckable(true);
        button->setChecked(i == 0);
        button->setProperty("kind", "segment");
        button->setFont(uiFont(TextSize::Secondary));
        group->addButton(button, i);
        rowLayout->addWidget(button);
    }
    m_layout->addWidget(row);
    return group;
}

void PlotHeader::hideBelow(QButtonGroup* choice, int width)
{
    m_hidden.emplace_back(choice->button(0)->parentWidget(), width);
}

void PlotHeader::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    for (const auto& [choice, needed] : m_hidden)
        choice->setVisible(width() >= needed);
}

void PlotHeader::setSurface(QColor Theme::*surface)
{
    m_surface = surface;
    update();
}

void PlotHeader::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), m_surface == nullptr ? theme.panel : theme.*m_surface);
    int right = width() - spacing::kStep;
    for (const QWidget* child : findChildren<QWidget*>(Qt::FindDirectChildrenOnly))
        if (child->isVisible())
            right = std::min(right, child->x() - spacing::kStep);
    paintPlotHeader(painter, QRectF(0, 0, right, height()), m_texts, theme);
}

} // namespace kvscope
