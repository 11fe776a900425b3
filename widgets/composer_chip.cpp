#include "widgets/composer_chip.h"

#include "engine/base/units.h"
#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QHBoxLayout>
#include <QPainter>
#include <QToolButton>

namespace kvscope {

ComposerChip::ComposerChip(const ChatAttachment& attachment, QWidget* parent)
    : QWidget(parent)
    , m_label(new ElidedLabel)
    , m_remove(new QToolButton)
{
    const auto bytes = static_cast<std::uint64_t>(attachment.fileBytes);
    m_label->setText(
        tr("%1 · %2").arg(attachment.name, QString::fromStdString(formatFileSize(bytes))));
    m_label->setFont(uiFont(TextSize::Secondary));
    m_remove->setText(QStringLiteral("✕"));
    m_remove->setAutoRaise(true);
    m_remove->setToolTip(tr("Leave this file out"));
    m_remove->setAccessibleName(tr("Leave out %1").arg(attachment.name));
    m_remove->setFixedSize(spacing::kListRow, spacing::kListRow);
    auto* line = new QHBoxLayout(this);
    line->setContentsMargins(spacing::kStep, 1, 2, 1);
    line->setSpacing(spacing::kTight);
    line->addWidget(m_label, 1);
    line->addWidget(m_remove);
    setSizePolicy(QSizePolicy::Maximum, QSizePolicy::Fixed);
    connect(m_remove, &QToolButton::clicked, this, &ComposerChip::removed);
}

void ComposerChip::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.setPen(theme.line);
    painter.setBrush(theme.alternateRow);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), spacing::kRadius,
                            spacing::kRadius);
}

} // namespace kvscope
