#include "widgets/sweep_prompt_panel.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/painted_panel.h"
#include "widgets/plot_header.h"
#include "widgets/sweep_answer_box.h"
#include "widgets/sweep_cells.h"
#include "widgets/theme.h"

#include <QButtonGroup>
#include <QEvent>
#include <QFontDatabase>
#include <QLabel>
#include <QPainter>
#include <QTextCharFormat>
#include <QTextCursor>
#include <QTextEdit>
#include <QToolButton>
#include <QVBoxLayout>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kLeastText = 40; ///< px of the prompt, before lines below the answer go

QString textOf(const ShownPrompt& prompt, const TextRange& range)
{
    return QString::fromUtf8(prompt.text.data() + range.begin,
                             static_cast<qsizetype>(range.end - range.begin));
}

QTextCharFormat plainFormat(const Theme& theme)
{
    QTextCharFormat format;
    format.setFont(uiFont());
    format.setForeground(theme.ink);
    return format;
}

/// JetBrains Mono has ligatures that draw <| and |> as other signs; the system's fixed font has
/// none.
QTextCharFormat controlFormat(const Theme& theme)
{
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPixelSize(digitFont().pixelSize());
    QTextCharFormat format;
    format.setFont(font);
    format.setForeground(theme.ink3);
    return format;
}

/// "token 2,031 of 4,084 (49.7 %)", or several.
QString positionsText(const SweepTrial& trial)
{
    QStringList places;
    for (const std::int64_t position : trial.needleTokens)
        places.append(countText(position));
    QString text =
        places.size() == 1
            ? SweepPromptPanel::tr("token %1").arg(places.front())
            : SweepPromptPanel::tr("tokens %1").arg(places.join(QStringLiteral(" and ")));
    if (trial.promptTokens > 0) {
        text += SweepPromptPanel::tr(" of %1").arg(countText(trial.promptTokens));
        if (places.size() == 1)
            text +=
                QStringLiteral(" (%1 %)").arg(100.0 * static_cast<double>(trial.needleTokens[0]) /
                                                  static_cast<double>(trial.promptTokens),
                                              0, 'f', 1);
    }
    return text;
}

QString placeLine(const SweepTrial& trial)
{
    if (trial.role == TrialRole::Oracle)
        return SweepPromptPanel::tr("Oracle: the question after the statement alone, %1 tokens.")
            .arg(countText(trial.promptTokens));
    if (trial.role == TrialRole::Control)
        return SweepPromptPanel::tr("Control at %1: the same question, the statement left out; %2 "
                                    "tokens.")
            .arg(countText(trial.tokens), countText(trial.promptTokens));
    const QString asked = SweepPromptPanel::tr("Asked for %1 of %2")
                              .arg(depthText(trial.depth), countText(trial.tokens));
    if (trial.needleTokens.empty())
        return asked + u'.';
    return asked + SweepPromptPanel::tr("; placed at %1.").arg(positionsText(trial));
}

} // namespace

SweepPromptPanel::SweepPromptPanel(QWidget* parent)
    : QWidget(parent)
    , m_header(new PlotHeader({}, this))
    , m_choice(m_header->addChoice({tr("Excerpt"), tr("Whole")}, tr("How much of the prompt")))
    , m_text(new QTextEdit)
    , m_answer(new SweepAnswerBox)
    , m_placement(new QLabel)
{
    m_text->setReadOnly(true);
    m_text->setUndoRedoEnabled(false);
    m_text->setFrameShape(QFrame::NoFrame);
    m_text->setTabChangesFocus(true);
    m_text->setAccessibleName(tr("The trial's prompt"));
    m_text->setMinimumHeight(1); // it gives way first: it scrolls
    m_placement->setWordWrap(true);
    m_placement->setTextFormat(Qt::PlainText);
    m_placement->setTextInteractionFlags(Qt::TextSelectableByMouse);
    m_placement->setFont(uiFont(TextSize::Secondary));
    auto* below = new QVBoxLayout;
    below->setContentsMargins(spacing::kStep, spacing::kTight, spacing::kStep, spacing::kStep);
    below->setSpacing(spacing::kTight);
    below->addWidget(m_answer);
    below->addWidget(m_placement);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_header);
    column->addWidget(m_text, 1);
    column->addLayout(below);
    column->addStretch(0); // keeps the header at the top while no trial is shown
    setFocusProxy(m_text);
    connect(m_choice, &QButtonGroup::idClicked, this, [this] { showPrompt(); });
    clear();
}

void SweepPromptPanel::setTrial(const SweepTrial& trial, int number)
{
    m_trial = trial;
    m_number = number;
    m_prompt.reset();
    m_missing.clear();
    m_answer->setTrial(trial);
    m_answer->setToolTip(m_answer->losses());
    describe();
    showPrompt();
}

void SweepPromptPanel::setPrompt(const ShownPrompt& prompt)
{
    m_prompt = prompt;
    m_missing.clear();
    showPrompt();
}

void SweepPromptPanel::setPromptMissing(const QString& reason)
{
    m_prompt.reset();
    m_missing = reason;
    showPrompt();
}

void SweepPromptPanel::clear()
{
    m_trial.reset();
    m_prompt.reset();
    m_missing.clear();
    m_answer->clear();
    describe();
    showPrompt();
}

void SweepPromptPanel::setWhole(bool isWhole)
{
    m_choice->button(isWhole ? 1 : 0)->setChecked(true);
    showPrompt();
}

bool SweepPromptPanel::isWhole() const
{
    return m_choice->checkedId() == 1;
}

QString SweepPromptPanel::placement() const
{
    if (!m_trial)
        return {};
    QStringList lines{placeLine(*m_trial)};
    lines.append(tr("The length counts the template and the room for the answer."));
    if (m_trial->isLoose && !m_trial->isCorrect())
        lines.append(tr("A plain substring search would have counted this answer."));
    if (m_trial->seconds > 0)
        lines.append(tr("%1 in all, %2 of it prefill.")
                         .arg(secondsText(m_trial->seconds), secondsText(m_trial->prefillSeconds)));
    if (m_trial->reusedTokens > 0)
        lines.append(tr("%1 tokens were prefilled for an earlier trial and not again.")
                         .arg(countText(m_trial->reusedTokens)));
    if (m_trial->isDisturbed)
        lines.append(tr("! Other load ran meanwhile: its times are left out of estimates."));
    return lines.join(u'\n');
}

QString SweepPromptPanel::shownText() const
{
    return m_text->toPlainText();
}

QWidget* SweepPromptPanel::takeHeader()
{
    m_isHeaderTaken = true;
    layout()->removeWidget(m_header);
    m_header->setSurface(&Theme::dockTitle);
    return m_header;
}

void SweepPromptPanel::describe()
{
    QString question = tr("no trial chosen");
    if (m_trial) {
        QStringList parts;
        if (m_number > 0)
            parts << tr("trial %1").arg(m_number);
        if (!m_trial->itemName.empty())
            parts << QString::fromStdString(m_trial->itemName).simplified();
        if (m_trial->promptTokens > 0)
            parts << tr("%1 tokens").arg(countText(m_trial->promptTokens));
        question = parts.join(QStringLiteral(", "));
    }
    m_header->setTexts({tr("Prompt and answer"), question, tr("measured")});
    setAccessibleName(tr("Prompt and answer"));
    setAccessibleDescription(question);
    m_placement->setVisible(m_trial.has_value());
    m_placement->setToolTip(placement());
    arrange();
}

void SweepPromptPanel::arrange()
{
    if (!m_trial)
        return;
    const int inside = width() - 2 * spacing::kStep;
    const int answer = m_answer->heightForWidth(inside);
    m_answer->setFixedHeight(answer); // nothing in it is cut
    const int header = m_isHeaderTaken ? 0 : m_header->height();
    const int room = height() - header - kLeastText - answer - 2 * spacing::kTight - spacing::kStep;
    QStringList lines = placement().split(u'\n');
    m_placement->setText(lines.join(u'\n'));
    while (lines.size() > 1 && m_placement->heightForWidth(inside) > room) {
        lines.removeLast();
        m_placement->setText(lines.join(u'\n'));
    }
}

QString SweepPromptPanel::shownPlacement() const
{
    return m_trial ? m_placement->text() : QString();
}

void SweepPromptPanel::resizeEvent(QResizeEvent* event)
{
    QWidget::resizeEvent(event);
    arrange();
}

void SweepPromptPanel::insertText(QTextCursor& cursor, const QString& text,
                                  const QTextCharFormat& format) const
{
    // Each token is looked for onwards from where it was found last, so a text full of one of them
    // is still read once a token.
    struct Wanted
    {
        QString token;
        qsizetype next = 0;
    };
    std::vector<Wanted> wanted;
    const auto find = [&](Wanted& token, qsizetype from) {
        const qsizetype found = text.indexOf(token.token, from);
        token.next = found < 0 ? text.size() : found;
    };
    for (const std::string& token : m_prompt->controlTokens)
        if (!token.empty())
            find(wanted.emplace_back(Wanted{QString::fromStdString(token)}), 0);
    const QTextCharFormat control = controlFormat(Theme::current());
    qsizetype at = 0;
    while (at < text.size()) {
        const Wanted* first = nullptr;
        for (Wanted& token : wanted) {
            if (token.next < at)
                find(token, at);
            if (token.next < text.size() && (!first || token.next < first->next))
                first = &token;
        }
        const qsizetype next = first ? first->next : text.size();
        const qsizetype length = first ? first->token.size() : 0;
        if (next > at)
            cursor.insertText(text.mid(at, next - at), format);
        if (length > 0)
            cursor.insertText(text.mid(next, length), control);
        at = next + length;
    }
}

void SweepPromptPanel::insert(QTextCursor& cursor, const PromptPiece& piece) const
{
    const Theme& theme = Theme::current();
    QTextCharFormat format = plainFormat(theme);
    switch (piece.kind) {
    case PromptPiece::Kind::Text:
        break;
    case PromptPiece::Kind::Question:
        format.setFontWeight(QFont::Bold);
        break;
    case PromptPiece::Kind::Statement:
        format.setFontWeight(QFont::Bold);
        format.setBackground(theme.selectionBackground);
        format.setUnderlineStyle(QTextCharFormat::SingleUnderline);
        format.setUnderlineColor(theme.selection);
        break;
    case PromptPiece::Kind::Elided: {
        format.setForeground(theme.ink3);
        const QString about = piece.isExact ? QString() : QStringLiteral("≈ ");
        cursor.insertText(tr(" … (%1%2 tokens) … ").arg(about, countText(piece.tokens)), format);
        return;
    }
    }
    insertText(cursor, textOf(*m_prompt, piece.range), format);
}

void SweepPromptPanel::showPrompt()
{
    m_text->clear();
    m_text->setVisible(m_trial.has_value());
    m_choice->button(1)->setEnabled(!m_prompt || m_prompt->text.size() <= kLongestWhole);
    update();
    if (!m_trial)
        return;
    QTextCursor cursor(m_text->document());
    if (!m_prompt) {
        QTextCharFormat format = plainFormat(Theme::current());
        format.setForeground(Theme::current().ink3);
        cursor.insertText(m_missing.isEmpty() ? tr("The prompt is being made again.") : m_missing,
                          format);
        return;
    }
    const bool showsWhole = isWhole() && m_prompt->text.size() <= kLongestWhole;
    cursor.beginEditBlock();
    for (const PromptPiece& piece : showsWhole ? wholeOf(*m_prompt) : excerptOf(*m_prompt))
        insert(cursor, piece);
    cursor.endEditBlock();
    m_text->moveCursor(QTextCursor::Start);
}

void SweepPromptPanel::paintEvent(QPaintEvent*)
{
    const Theme& theme = Theme::current();
    QPainter painter(this);
    painter.fillRect(rect(), theme.panel);
    if (!m_trial)
        paintEmptyState(painter, QRectF(rect()).adjusted(0, m_header->height(), 0, 0), theme,
                        tr("No trial chosen"), tr("Choose one in the table of trials."));
}

void SweepPromptPanel::changeEvent(QEvent* event)
{
    if (event->type() == QEvent::PaletteChange)
        showPrompt();
    if (event->type() == QEvent::FontChange)
        arrange();
    QWidget::changeEvent(event);
}

} // namespace kvscope
