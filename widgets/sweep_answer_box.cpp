#include "widgets/sweep_answer_box.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/sweep_cells.h"
#include "widgets/sweep_trials_model.h"
#include "widgets/theme.h"

#include <QEvent>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr double kPadding = 8.0;
constexpr double kBarHeight = 18.0;
constexpr double kFullBar = 6.0; ///< nats of the tallest bar; more is cut
constexpr int kMostLines = 4;    ///< of the answer
constexpr int kMostTokenRows = 3;
constexpr double kRowGap = 4.0;

QFont answerFont()
{
    return digitFont(TextSize::Heading, QFont::Bold);
}

QString kindSentence(AnswerKind kind)
{
    switch (kind) {
    case AnswerKind::Found:
        return SweepAnswerBox::tr("found");
    case AnswerKind::BareWrong:
        return SweepAnswerBox::tr("a bare wrong number");
    case AnswerKind::RestatedWrong:
        return SweepAnswerBox::tr("a sentence with another number");
    case AnswerKind::NoNumber:
        return SweepAnswerBox::tr("words without a number");
    case AnswerKind::Empty:
        return SweepAnswerBox::tr("an empty answer");
    }
    return {};
}

/// Short answers stand large, sentences as text.
QFont fontOf(const QString& answer)
{
    return answer.size() <= 12 ? answerFont() : uiFont(TextSize::Body, QFont::Bold);
}

QString answerText(const SweepTrial& trial)
{
    const QString answer = oneLine(trial.answer);
    return answer.isEmpty() ? SweepAnswerBox::tr("(empty)") : answer;
}

double lineHeight(const QFont& font)
{
    return std::ceil(QFontMetricsF(font).height());
}

QString tokensTitle()
{
    return SweepAnswerBox::tr("right answer, nats");
}

double tokensTitleWidth()
{
    return std::ceil(QFontMetricsF(uiFont(TextSize::Axis)).horizontalAdvance(tokensTitle())) + 8;
}

/// Bar, piece and loss beneath each other.
double tokenHeight()
{
    return kBarHeight + 2 + 2 * lineHeight(digitFont(TextSize::Axis));
}

} // namespace

SweepAnswerBox::SweepAnswerBox(QWidget* parent)
    : QWidget(parent)
{
    QSizePolicy policy(QSizePolicy::Preferred, QSizePolicy::Fixed);
    policy.setHeightForWidth(true);
    setSizePolicy(policy);
    setVisible(false);
}

void SweepAnswerBox::setTrial(const SweepTrial& trial)
{
    m_trial = trial;
    setAccessibleName(tr("Answer: %1").arg(answerText(trial)));
    setAccessibleDescription(verdict() + u'\n' + losses());
    setVisible(true);
    updateGeometry();
    update();
}

void SweepAnswerBox::clear()
{
    m_trial.reset();
    setVisible(false);
}

QString SweepAnswerBox::verdict() const
{
    if (!m_trial)
        return {};
    const QString glyph = m_trial->isCorrect() ? QStringLiteral("✓ ") : QStringLiteral("✕ ");
    return glyph +
           tr("expected %1, %2").arg(oneLine(m_trial->expected), kindSentence(m_trial->kind));
}

QString SweepAnswerBox::losses() const
{
    if (!m_trial || m_trial->answerTokens.empty())
        return {};
    QStringList tokens;
    for (const AnswerToken& token : m_trial->answerTokens)
        tokens.append(QStringLiteral("%1 %2").arg(quotedPiece(token.piece), lossText(token.nll)));
    return tr("loss of the right answer: %1 nats").arg(tokens.join(QStringLiteral(", ")));
}

double SweepAnswerBox::answerHeight(double width) const
{
    const QString answer = answerText(*m_trial);
    const QFont font = fontOf(answer);
    const QRectF box = QFontMetricsF(font).boundingRect(
        QRectF(0, 0, width - 2 * kPadding, 1e5), Qt::TextWordWrap | Qt::TextWrapAnywhere, answer);
    return std::min(std::ceil(box.height()), kMostLines * lineHeight(font));
}

int SweepAnswerBox::heightForWidth(int width) const
{
    if (!m_trial)
        return 0;
    double height = answerHeight(width) + lineHeight(uiFont()) + 2 * kPadding + 2;
    if (!m_trial->answerTokens.empty())
        height += 8 + tokensHeight(width - 2 * kPadding);
    return static_cast<int>(std::ceil(height));
}

QSize SweepAnswerBox::sizeHint() const
{
    return {300, heightForWidth(300)};
}

QSize SweepAnswerBox::minimumSizeHint() const
{
    return {200, heightForWidth(std::max(200, width()))};
}

std::vector<QRectF> SweepAnswerBox::tokenColumns(double width) const
{
    const QFontMetricsF metrics(digitFont(TextSize::Axis));
    const double left = std::min(width / 2, tokensTitleWidth());
    std::vector<QRectF> columns;
    double x = left;
    int row = 0;
    for (const AnswerToken& token : m_trial->answerTokens) {
        const double wide = std::max(metrics.horizontalAdvance(quotedPiece(token.piece)),
                                     metrics.horizontalAdvance(lossText(token.nll)));
        const double column = std::min(std::ceil(wide) + 6, std::max(1.0, width - left));
        if (x + column > width && x > left) {
            x = left;
            ++row;
        }
        if (row == kMostTokenRows)
            break; // the tooltip has them all
        columns.emplace_back(x, row * (tokenHeight() + kRowGap), column, tokenHeight());
        x += column + 2;
    }
    return columns;
}

double SweepAnswerBox::tokensHeight(double width) const
{
    const std::vector<QRectF> columns = tokenColumns(width);
    return columns.empty() ? 0.0 : columns.back().bottom();
}

std::size_t SweepAnswerBox::numShownTokens(int width) const
{
    return m_trial ? tokenColumns(width - 2 * kPadding).size() : 0;
}

void SweepAnswerBox::paintTokens(QPainter& painter, const QRectF& area, const Theme& theme) const
{
    const std::vector<QRectF> columns = tokenColumns(area.width());
    painter.setFont(uiFont(TextSize::Axis));
    painter.setPen(theme.ink2);
    const double words = std::min(area.width() / 2, tokensTitleWidth());
    const double line = lineHeight(painter.font());
    paintElided(painter,
                QRectF(area.left(), area.top() + tokenHeight() - 2 * line, words - 4, line),
                Qt::AlignLeft | Qt::AlignVCenter, tokensTitle());
    for (std::size_t i = 0; i < columns.size(); ++i)
        paintToken(painter, columns[i].translated(area.topLeft()), m_trial->answerTokens[i], theme);
    if (columns.size() == m_trial->answerTokens.size() || columns.empty())
        return;
    painter.setPen(theme.ink2);
    painter.drawText(QPointF(area.left(), area.top() + columns.back().bottom() - 3),
                     QStringLiteral("… %1").arg(m_trial->answerTokens.size()));
}

void SweepAnswerBox::paintToken(QPainter& painter, const QRectF& column, const AnswerToken& token,
                                const Theme& theme) const
{
    const QFont font = digitFont(TextSize::Axis);
    const double line = lineHeight(font);
    const double share = std::clamp(token.nll / kFullBar, 0.0, 1.0);
    const double height = std::max(1.0, std::round(kBarHeight * share));
    const double foot = column.top() + kBarHeight;
    const double left = std::round(column.left()) + 2;
    const double width = std::round(column.width()) - 6;
    painter.fillRect(QRectF(left, foot - height, width, height), theme.global);
    painter.fillRect(QRectF(left, foot, width, 1), theme.line);
    painter.setFont(font);
    painter.setPen(theme.ink);
    const QRectF text(column.left(), foot + 2, column.width() - 2, line);
    paintElided(painter, text, Qt::AlignCenter, quotedPiece(token.piece));
    paintElided(painter, text.translated(0, line), Qt::AlignCenter, lossText(token.nll));
}

void SweepAnswerBox::paintEvent(QPaintEvent*)
{
    if (!m_trial)
        return;
    const Theme& theme = Theme::current();
    const bool isFound = m_trial->isCorrect();
    QPainter painter(this);
    painter.setRenderHint(QPainter::Antialiasing);
    painter.setPen(QPen(isFound ? theme.good : theme.bad, 1));
    painter.setBrush(isFound ? theme.goodBackground : theme.badBackground);
    painter.drawRoundedRect(QRectF(rect()).adjusted(0.5, 0.5, -0.5, -0.5), spacing::kRadius,
                            spacing::kRadius);
    QRectF area = QRectF(rect()).adjusted(kPadding, kPadding, -kPadding, -kPadding);
    const QString answer = answerText(*m_trial);
    painter.setFont(fontOf(answer));
    painter.setPen(theme.ink);
    const double height = answerHeight(width());
    painter.drawText(QRectF(area.left(), area.top(), area.width(), height),
                     Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap | Qt::TextWrapAnywhere,
                     answer);
    const double line = lineHeight(uiFont());
    painter.setFont(uiFont());
    painter.setPen(isFound ? theme.good : theme.bad);
    paintElided(painter, QRectF(area.left(), area.top() + height + 2, area.width(), line),
                Qt::AlignLeft | Qt::AlignVCenter, verdict());
    area.setTop(area.top() + height + 2 + line + 8);
    if (!m_trial->answerTokens.empty())
        paintTokens(painter, area, theme);
}

void SweepAnswerBox::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange || event->type() == QEvent::FontChange) {
        updateGeometry();
        update();
    }
    QWidget::changeEvent(event);
}

} // namespace kvscope
