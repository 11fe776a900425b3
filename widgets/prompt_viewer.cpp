#include "widgets/prompt_viewer.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QApplication>
#include <QClipboard>
#include <QDialogButtonBox>
#include <QFontDatabase>
#include <QLabel>
#include <QPlainTextEdit>
#include <QPushButton>
#include <QSyntaxHighlighter>
#include <QVBoxLayout>

namespace kvscope {

/// Marks control tokens, which otherwise look like any text.
class ControlTokenHighlighter : public QSyntaxHighlighter
{
public:
    using QSyntaxHighlighter::QSyntaxHighlighter;
    QStringList tokens;

protected:
    void highlightBlock(const QString& text) override
    {
        const Theme& theme = Theme::current();
        QTextCharFormat format;
        format.setForeground(theme.global);
        format.setBackground(theme.highlightBackground);
        format.setFontWeight(QFont::Bold);
        for (const QString& token : tokens)
            for (qsizetype at = text.indexOf(token); at >= 0;
                 at = text.indexOf(token, at + token.size()))
                setFormat(static_cast<int>(at), static_cast<int>(token.size()), format);
    }
};

namespace {

/// The system's fixed font: JetBrains Mono has ligatures that draw <| and |> as other signs, and
/// Qt 6.4 cannot switch them off (QFont::setFeature came with 6.7).
QFont plainFixedFont()
{
    QFont font = QFontDatabase::systemFont(QFontDatabase::FixedFont);
    font.setPixelSize(digitFont().pixelSize());
    return font;
}

} // namespace

PromptViewer::PromptViewer(QWidget* parent)
    : QDialog(parent)
    , m_summary(new QLabel)
    , m_note(new QLabel)
    , m_text(new QPlainTextEdit)
    , m_highlighter(new ControlTokenHighlighter(m_text->document()))
{
    setWindowTitle(tr("Raw prompt"));
    setModal(false);
    m_note->setWordWrap(true);
    for (QLabel* label : {m_summary, m_note})
        label->setTextFormat(Qt::PlainText);
    m_text->setReadOnly(true);
    m_text->setFont(plainFixedFont());
    m_text->setUndoRedoEnabled(false);
    m_text->setAccessibleName(tr("The whole prompt"));
    m_text->setPlaceholderText(tr("Nothing was sent yet."));
    auto* buttons = new QDialogButtonBox(QDialogButtonBox::Close);
    QPushButton* copy = buttons->addButton(tr("Copy all"), QDialogButtonBox::ActionRole);
    copy->setAutoDefault(false);
    connect(copy, &QPushButton::clicked, this,
            [this] { QApplication::clipboard()->setText(prompt()); });
    connect(buttons, &QDialogButtonBox::rejected, this, &QDialog::close);
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::kWide, spacing::kWide, spacing::kWide, spacing::kWide);
    column->setSpacing(spacing::kStep);
    column->addWidget(m_summary);
    column->addWidget(m_note);
    column->addWidget(m_text, 1);
    column->addWidget(buttons);
    resize(640, 480);
    setTemplate({}, {});
}

void PromptViewer::setTemplate(const QString& templateName, const QString& note)
{
    m_templateName = templateName;
    m_note->setText(QStringLiteral("! ") + note);
    m_note->setVisible(!note.isEmpty());
    showSummary();
}

void PromptViewer::setPrompt(const QString& text, const QStringList& controlTokens,
                             qint64 tokenCount)
{
    m_highlighter->tokens = controlTokens;
    m_prompt = text;
    m_tokenCount = tokenCount;
    m_text->setPlainText(text);
    showSummary();
}

void PromptViewer::showSummary()
{
    QStringList parts;
    if (!m_templateName.isEmpty())
        parts << tr("Template: %1").arg(m_templateName);
    if (m_tokenCount > 0)
        parts << tr("%1 tokens, as the model was given them").arg(countText(m_tokenCount));
    m_summary->setText(parts.join(QStringLiteral(" · ")));
    m_summary->setVisible(!parts.isEmpty());
}

} // namespace kvscope
