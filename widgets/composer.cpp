#include "widgets/composer.h"

#include "widgets/composer_chip.h"
#include "widgets/composer_edit.h"
#include "widgets/elided_label.h"
#include "widgets/fonts.h"
#include "widgets/theme.h"

#include <QFrame>
#include <QHBoxLayout>
#include <QPainter>
#include <QPushButton>
#include <QScreen>
#include <QShortcut>
#include <QStyle>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kPopoverWidth = 320;

/// The style sheet looks at `kind` only when the style is applied.
void setKind(QWidget& widget, const char* kind)
{
    widget.setProperty("kind", QString::fromLatin1(kind));
    widget.style()->unpolish(&widget);
    widget.style()->polish(&widget);
}

} // namespace

Composer::Composer(QWidget* parent)
    : QWidget(parent)
    , m_edit(new ComposerEdit)
    , m_chips(new QWidget)
{
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::kWide, spacing::kStep, spacing::kWide, spacing::kStep);
    column->setSpacing(6);
    auto* chips = new QVBoxLayout(m_chips);
    chips->setContentsMargins(0, 0, 0, 0);
    chips->setSpacing(spacing::kTight);
    column->addWidget(m_chips);
    column->addWidget(m_edit);
    buildButtons(*column);
    buildPopover();
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    connect(m_edit, &ComposerEdit::submitted, this, &Composer::submit);
    connect(m_edit, &ComposerEdit::textChanged, this, &Composer::refresh);
    connect(m_edit, &ComposerEdit::fileDropped, this, &Composer::fileDropped);
    connect(m_edit, &ComposerEdit::escapePressed, this,
            [this] { m_isRunning ? Q_EMIT stopRequested() : Q_EMIT escapePressed(); });
    showChips();
    refresh();
}

void Composer::buildButtons(QVBoxLayout& column)
{
    m_send = new QPushButton;
    m_again = new QPushButton(tr("Again"));
    m_summary = new ElidedLabel;
    m_summary->setAlignment(Qt::AlignRight);
    m_summary->setInk(&Theme::ink2);
    m_summary->setFont(uiFont(TextSize::Secondary));
    m_gear = new QToolButton;
    m_gear->setText(QStringLiteral("⚙"));
    m_gear->setToolTip(tr("Sampling, context and system prompt"));
    m_gear->setAccessibleName(tr("Chat settings"));
    m_gear->setFixedSize(spacing::kButton, spacing::kButton);
    for (QPushButton* button : {m_send, m_again}) {
        button->setFixedHeight(spacing::kButton);
        button->setAutoDefault(false);
    }
    auto* line = new QHBoxLayout;
    line->setSpacing(spacing::kStep);
    line->addWidget(m_send);
    line->addWidget(m_again);
    line->addWidget(m_summary, 1);
    line->addWidget(m_gear);
    column.addLayout(line);
    connect(m_send, &QPushButton::clicked, this, [this] {
        if (m_isRunning)
            Q_EMIT stopRequested();
        else
            submit();
    });
    connect(m_again, &QPushButton::clicked, this, &Composer::regenerateRequested);
    connect(m_gear, &QToolButton::clicked, this, &Composer::showSettings);
}

void Composer::buildPopover()
{
    auto* frame = new QFrame(this, Qt::Popup);
    frame->setFrameShape(QFrame::StyledPanel);
    m_popover = frame;
    m_editor = new SamplingSettingsEditor;
    auto* column = new QVBoxLayout(m_popover);
    column->setContentsMargins(0, 0, 0, 0);
    column->addWidget(m_editor);
    m_popover->setFixedWidth(kPopoverWidth);
    auto* close = new QShortcut(QKeySequence(Qt::Key_Escape), m_popover);
    connect(close, &QShortcut::activated, m_popover, &QWidget::hide);
    connect(m_editor, &SamplingSettingsEditor::settingsChanged, this,
            [this](const ChatSettings& settings) {
                refresh();
                Q_EMIT settingsChanged(settings);
            });
}

void Composer::setSettings(const ChatSettings& settings)
{
    m_editor->setSettings(settings);
    refresh();
}

void Composer::showSettings()
{
    m_popover->adjustSize();
    const QSize size = m_popover->sizeHint().expandedTo(m_popover->size());
    QPoint corner = m_gear->mapToGlobal(
        QPoint(m_gear->width() - size.width(), -size.height() - spacing::kTight));
    const QRect room = screen()->availableGeometry();
    corner.setX(
        std::clamp(corner.x(), room.left(), std::max(room.left(), room.right() - size.width())));
    corner.setY(std::max(room.top(), corner.y()));
    m_popover->move(corner);
    m_popover->show();
    m_editor->setFocus();
}

void Composer::addAttachment(const ChatAttachment& attachment)
{
    m_attachments.push_back(attachment);
    showChips();
    refresh();
}

void Composer::putBack(const QString& text, const std::vector<ChatAttachment>& attachments)
{
    const QString since = m_edit->typedText();
    m_edit->setPlainText(since.isEmpty() || text.isEmpty() ? text + since : text + u'\n' + since);
    m_edit->moveCursor(QTextCursor::End);
    m_attachments.insert(m_attachments.begin(), attachments.begin(), attachments.end());
    showChips();
    refresh();
}

void Composer::clear()
{
    m_edit->clear();
    m_attachments.clear();
    showChips();
    refresh();
}

QString Composer::text() const
{
    return m_edit->typedText();
}

void Composer::focusText()
{
    m_edit->setFocus();
}

void Composer::showChips()
{
    const auto old = m_chips->findChildren<ComposerChip*>(QString(), Qt::FindDirectChildrenOnly);
    for (ComposerChip* chip : old) {
        chip->hide();
        chip->setParent(nullptr); // out of the layout now; it may be the sender of what called us
        chip->deleteLater();
    }
    for (std::size_t i = 0; i < m_attachments.size(); ++i) {
        auto* chip = new ComposerChip(m_attachments[i]);
        m_chips->layout()->addWidget(chip);
        connect(chip, &ComposerChip::removed, this, [this, i] {
            m_attachments.erase(m_attachments.begin() + static_cast<std::ptrdiff_t>(i));
            showChips();
            refresh();
        });
    }
    m_chips->setVisible(!m_attachments.empty());
}

void Composer::setBlockedReason(const QString& reason)
{
    m_blockedReason = reason;
    refresh();
}

void Composer::setRunning(bool isRunning)
{
    m_isRunning = isRunning;
    refresh();
}

void Composer::setCanRegenerate(bool canRegenerate)
{
    m_canRegenerate = canRegenerate;
    refresh();
}

void Composer::refresh()
{
    const bool isBlocked = !m_blockedReason.isEmpty();
    const bool hasMessage = !m_attachments.empty() || !m_edit->typedText().trimmed().isEmpty();
    m_edit->setPlaceholderText(isBlocked ? m_blockedReason
                                         : tr("Write a message. Enter sends, Shift+Enter breaks."));
    // Qt 6.4 repaints when a placeholder comes or goes, not when it changes.
    m_edit->viewport()->update();
    // One place and one width for Send and Stop, so that the pointer finds it without looking.
    const QString stop = tr("■ Stop  Esc");
    m_send->setText(m_isRunning ? stop : tr("Send"));
    QFont bold = m_send->font();
    bold.setBold(true);
    m_send->setFixedWidth(QFontMetrics(bold).horizontalAdvance(stop) + 26);
    const char* kind = m_isRunning ? "danger" : "primary";
    if (m_send->property("kind").toString() != QLatin1String(kind))
        setKind(*m_send, kind);
    m_send->setEnabled(m_isRunning || (!isBlocked && hasMessage));
    m_send->setToolTip(m_isRunning  ? tr("Stop the answer; what is written stays")
                       : isBlocked  ? m_blockedReason
                       : hasMessage ? tr("Send the message (Enter)")
                                    : tr("There is nothing to send yet"));
    m_again->setEnabled(!m_isRunning && !isBlocked && m_canRegenerate);
    m_again->setToolTip(m_isRunning        ? tr("The answer is still being written")
                        : isBlocked        ? m_blockedReason
                        : !m_canRegenerate ? tr("There is no answer yet")
                                           : tr("Write the last answer again (Ctrl+R)"));
    m_summary->setText(settingsSummary(m_editor->settings()));
}

void Composer::submit()
{
    if (!m_isRunning && m_send->isEnabled())
        Q_EMIT submitted();
}

void Composer::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
}

} // namespace kvscope
