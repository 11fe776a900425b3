#include "widgets/progress_strip.h"

#include "engine/base/units.h"
#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QFontMetrics>
#include <QPainter>
#include <QPushButton>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kDelayMilliseconds = 500;
constexpr int kTextMilliseconds = 250;
constexpr int kMargin = spacing::kWide;

QString fileSize(std::uint64_t bytes)
{
    return QString::fromStdString(formatFileSize(bytes));
}

int lineHeight()
{
    return QFontMetrics(uiFont()).height();
}

} // namespace

ProgressStrip::ProgressStrip(QWidget* parent)
    : QWidget(parent)
    , m_cancel(new QPushButton(tr("Cancel"), this))
{
    setSizePolicy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    setAccessibleName(tr("Progress"));
    m_delay.setSingleShot(true);
    m_delay.setInterval(kDelayMilliseconds);
    connect(&m_delay, &QTimer::timeout, this, &QWidget::show);
    connect(m_cancel, &QPushButton::clicked, this, &ProgressStrip::cancelRequested);
    hide();
}

QSize ProgressStrip::sizeHint() const
{
    return {320, 2 * lineHeight() + 5 + 2 * spacing::kTight + 2 * spacing::kStep};
}

void ProgressStrip::begin(What what)
{
    if (m_what == what)
        return;
    m_what = what;
    m_textAge.invalidate();
    m_cancel->setVisible(what == What::Opening);
    placeButton();
    if (!isVisible())
        m_delay.start();
}

/// The first figures at once, later ones so that they can be read.
bool ProgressStrip::takesNewTexts()
{
    if (m_textAge.isValid() && m_textAge.elapsed() < kTextMilliseconds)
        return false;
    m_textAge.start();
    return true;
}

void ProgressStrip::showOpening(const OpeningProgress& progress)
{
    begin(What::Opening);
    m_reusedShare = 0.0;
    m_doneShare = progress.totalBytes == 0 ? 0.0
                                           : static_cast<double>(progress.doneBytes) /
                                                 static_cast<double>(progress.totalBytes);
    if (takesNewTexts()) {
        m_title = tr("Opening the model");
        m_left = progress.secondsLeft > 0.0 ? tr("%1 left").arg(secondsText(progress.secondsLeft))
                                            : QString();
        m_detail = tr("%1 of %2").arg(fileSize(progress.doneBytes), fileSize(progress.totalBytes));
        m_rate.clear();
        setAccessibleDescription(m_detail);
    }
    update();
}

void ProgressStrip::showPrefill(const PrefillProgress& progress, double tokensPerSecond)
{
    begin(What::Prefill);
    const auto whole = static_cast<double>(
        std::max<std::int64_t>(1, progress.reusedTokens + progress.totalTokens));
    m_reusedShare = static_cast<double>(progress.reusedTokens) / whole;
    m_doneShare = static_cast<double>(progress.reusedTokens + progress.doneTokens) / whole;
    if (takesNewTexts()) {
        m_title = tr("Reading the prompt");
        m_left = progress.secondsLeft > 0.0 ? tr("%1 left").arg(secondsText(progress.secondsLeft))
                                            : QString();
        m_detail = tr("%1 of %2 tokens")
                       .arg(countText(progress.doneTokens), countText(progress.totalTokens));
        if (progress.reusedTokens > 0)
            m_detail += tr(", %1 reused").arg(countText(progress.reusedTokens));
        m_rate =
            tokensPerSecond > 0.0
                ? tr("%1 tok/s").arg(countText(static_cast<std::int64_t>(tokensPerSecond + 0.5)))
                : QString();
        setAccessibleDescription(m_detail);
    }
    update();
}

void ProgressStrip::finish()
{
    m_delay.stop();
    m_what = What::Nothing;
    hide();
}

void ProgressStrip::placeButton()
{
    const QSize size = m_cancel->sizeHint();
    m_cancel->setGeometry(width() - kMargin - size.width(), (height() - size.height()) / 2,
                          size.width(), size.height());
}

void ProgressStrip::resizeEvent(QResizeEvent*)
{
    placeButton();
}

void ProgressStrip::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    painter.fillRect(0, 0, width(), 1, theme.line);
    const int right =
        m_cancel->isVisibleTo(this) ? m_cancel->x() - spacing::kWide : width() - kMargin;
    const int room = right - kMargin;
    int y = spacing::kStep;
    const auto line = [&](const QString& left, const QString& end, const QFont& font,
                          const QColor& ink) {
        painter.setFont(uiFont(TextSize::Secondary));
        painter.setPen(theme.ink3);
        const int endWidth = painter.fontMetrics().horizontalAdvance(end);
        painter.drawText(QRect(kMargin, y, room, lineHeight()), Qt::AlignRight | Qt::AlignVCenter,
                         end);
        painter.setFont(font);
        painter.setPen(ink);
        paintElided(painter,
                    QRectF(kMargin, y, std::max(0, room - endWidth - spacing::kStep), lineHeight()),
                    Qt::AlignLeft | Qt::AlignVCenter, left);
        y += lineHeight();
    };
    line(m_title, m_left, uiFont(TextSize::Body, QFont::Bold), theme.ink);
    y += spacing::kTight;
    painter.fillRect(kMargin, y, room, 5, theme.line);
    const int reused = static_cast<int>(room * std::clamp(m_reusedShare, 0.0, 1.0));
    const int done = static_cast<int>(room * std::clamp(m_doneShare, 0.0, 1.0));
    painter.fillRect(kMargin, y, done, 5, theme.highlight);
    if (reused > 0 && reused < done) // where the part that needed no reading ends
        painter.fillRect(kMargin + reused, y, 1, 5, theme.panel);
    y += 5 + spacing::kTight;
    line(m_detail, m_rate, uiFont(TextSize::Secondary), theme.ink2);
}

} // namespace kvscope
