#include "widgets/dock_title.h"

#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QDockWidget>
#include <QHBoxLayout>
#include <QLabel>
#include <QPainter>
#include <QStyle>
#include <QToolButton>

namespace kvscope {
namespace {

constexpr int kHeight = 26;

QToolButton* titleButton(QDockWidget* dock, QStyle::StandardPixmap icon, const QString& name)
{
    auto* button = new QToolButton;
    button->setAutoRaise(true);
    button->setIcon(dock->style()->standardIcon(icon));
    button->setIconSize({11, 11});
    button->setFixedSize(22, 22);
    button->setToolTip(name);
    button->setAccessibleName(name + " " + dock->windowTitle());
    button->setFocusPolicy(Qt::NoFocus);
    return button;
}

} // namespace

DockTitle::DockTitle(QDockWidget* dock)
    : QWidget(dock)
    , m_layout(new QHBoxLayout(this))
{
    setFixedHeight(kHeight);
    m_layout->setContentsMargins(spacing::kStep, 0, 2, 0);
    m_layout->setSpacing(spacing::kStep);
    auto* title = new QLabel(dock->windowTitle());
    title->setFont(uiFont(TextSize::Body, QFont::Bold));
    m_title = title;
    m_description = new ElidedLabel;
    m_description->setInk(&Theme::ink2);
    m_description->setFont(uiFont(TextSize::Secondary));
    m_layout->addWidget(m_title);
    m_layout->addWidget(m_description, 1);

    auto* floats = titleButton(dock, QStyle::SP_TitleBarNormalButton, tr("Float"));
    connect(floats, &QToolButton::clicked, dock,
            [dock] { dock->setFloating(!dock->isFloating()); });
    auto* closes = titleButton(dock, QStyle::SP_TitleBarCloseButton, tr("Close"));
    connect(closes, &QToolButton::clicked, dock, &QDockWidget::close);
    m_layout->addWidget(floats);
    m_layout->addWidget(closes);
}

void DockTitle::setDescription(const QString& description)
{
    m_description->setText(description);
}

QString DockTitle::description() const
{
    return m_description->text();
}

void DockTitle::setHeader(QWidget* header)
{
    m_title->hide();
    m_description->hide();
    m_layout->setContentsMargins(0, 0, 2, 0);
    m_layout->insertWidget(0, header, 1);
    header->show();
}

void DockTitle::paintEvent(QPaintEvent*)
{
    QPainter painter(this);
    const Theme& theme = Theme::current();
    painter.fillRect(rect(), theme.dockTitle);
    painter.fillRect(QRect(0, height() - 1, width(), 1), theme.line);
}

} // namespace kvscope
