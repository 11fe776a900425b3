#include "widgets/panel_header.h"

#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QDockWidget>
#include <QEvent>
#include <QFontMetrics>
#include <QHBoxLayout>
#include <QIcon>
#include <QLabel>
#include <QPainter>
#include <QPixmap>
#include <QToolButton>

namespace kvscope {
namespace {

constexpr int kGlyph = 12;
constexpr int kGlyphDensity = 3; ///< drawn larger than shown, for fractional scales

enum class Glyph { Float, Close };

QIcon glyphIcon(Glyph glyph, const QColor& color)
{
    QPixmap pixmap(kGlyph * kGlyphDensity, kGlyph * kGlyphDensity);
    pixmap.setDevicePixelRatio(kGlyphDensity);
    pixmap.fill(Qt::transparent);
    QPainter painter(&pixmap);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(color, 1.1));
    if (glyph == Glyph::Close) {
        painter.drawLine(QPointF(3, 3), QPointF(9, 9));
        painter.drawLine(QPointF(9, 3), QPointF(3, 9));
    } else {
        painter.drawRect(QRectF(1.5, 1.5, 6.5, 6.5));
        painter.drawPolyline(
            QPolygonF({{8, 4.5}, {10.5, 4.5}, {10.5, 10.5}, {4.5, 10.5}, {4.5, 8}}));
    }
    return QIcon(pixmap);
}

QToolButton* glyphButton(QWidget* parent, const QString& name)
{
    auto* button = new QToolButton(parent);
    button->setProperty("kind", QStringLiteral("glyph"));
    button->setAutoRaise(true);
    button->setIconSize({kGlyph, kGlyph});
    button->setToolTip(name);
    button->setAccessibleName(name);
    button->setFocusPolicy(Qt::TabFocus);
    return button;
}

} // namespace

PanelHeader::PanelHeader(QDockWidget* dock)
    : QWidget(dock)
    , m_dock(dock)
    , m_box(new QHBoxLayout(this))
    , m_title(new QLabel(dock->windowTitle(), this))
    , m_text(new QLabel(this))
    , m_float(glyphButton(this, tr("Float or dock")))
    , m_close(glyphButton(this, tr("Close")))
{
    m_box->setContentsMargins(spacing::kStep, 0, spacing::kTight, 0);
    m_box->setSpacing(spacing::kStep);
    m_box->addWidget(m_title);
    m_box->addWidget(m_text, 1);
    m_box->addWidget(m_float);
    m_box->addWidget(m_close);
    m_box->setAlignment(m_float, Qt::AlignVCenter);
    m_text->setMinimumWidth(0);
    m_text->setSizePolicy(QSizePolicy::Ignored, QSizePolicy::Preferred);
    // The dock is dragged by its title bar, so labels let the mouse through.
    m_title->setAttribute(Qt::WA_TransparentForMouseEvents);
    connect(m_float, &QToolButton::clicked, this,
            [this] { m_dock->setFloating(!m_dock->isFloating()); });
    connect(m_close, &QToolButton::clicked, m_dock, &QWidget::close);
    connect(m_dock, &QWidget::windowTitleChanged, m_title, &QLabel::setText);
    connect(m_dock, &QDockWidget::featuresChanged, this, &PanelHeader::showFeatures);
    showFeatures();
    setIcons();
    dock->setTitleBarWidget(this);
}

void PanelHeader::setDescription(const QString& description)
{
    m_description = description;
    setToolTip(description);
    showDescription();
}

void PanelHeader::addControl(QWidget* control)
{
    m_box->insertWidget(m_box->indexOf(m_float), control, 0, Qt::AlignVCenter);
}

QSize PanelHeader::sizeHint() const
{
    return {200, spacing::kDockTitle};
}

QSize PanelHeader::minimumSizeHint() const
{
    return {m_title->sizeHint().width() + 64, spacing::kDockTitle};
}

void PanelHeader::showDescription()
{
    m_text->setText(
        QFontMetrics(m_text->font()).elidedText(m_description, Qt::ElideRight, m_text->width()));
}

void PanelHeader::showFeatures()
{
    m_float->setVisible(m_dock->features().testFlag(QDockWidget::DockWidgetFloatable));
    m_close->setVisible(m_dock->features().testFlag(QDockWidget::DockWidgetClosable));
}

void PanelHeader::setIcons()
{
    const Theme& theme = Theme::current();
    m_title->setFont(uiFont(TextSize::Body, QFont::Bold));
    m_text->setFont(uiFont());
    QPalette grey = palette();
    grey.setColor(QPalette::WindowText, theme.ink3);
    m_text->setPalette(grey);
    m_float->setIcon(glyphIcon(Glyph::Float, theme.ink2));
    m_close->setIcon(glyphIcon(Glyph::Close, theme.ink2));
}

void PanelHeader::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.dockTitle);
    painter.setPen(theme.line);
    painter.drawLine(rect().bottomLeft(), rect().bottomRight());
}

void PanelHeader::changeEvent(QEvent* event)
{
    QWidget::changeEvent(event);
    if (event->type() == QEvent::PaletteChange)
        setIcons();
}

void PanelHeader::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    m_box->activate();
    showDescription();
}

} // namespace kvscope
