#pragma once

#include <QDialog>

class QLabel;
class QPlainTextEdit;

namespace kvscope {

class ControlTokenHighlighter;

/// The prompt exactly as the model was given it, control tokens marked, with the template that
/// rendered it. It does not block the window.
class PromptViewer : public QDialog
{
    Q_OBJECT
public:
    explicit PromptViewer(QWidget* parent = nullptr);

    /// \param templateName  "ChatML"; \param note  why the file's own template is not used, or
    /// empty
    void setTemplate(const QString& templateName, const QString& note);
    /// \param controlTokens  texts to mark; \param tokenCount  of the whole prompt
    void setPrompt(const QString& text, const QStringList& controlTokens, qint64 tokenCount);
    const QString& prompt() const { return m_prompt; }

private:
    QLabel* m_summary;
    QLabel* m_note;
    QPlainTextEdit* m_text;
    ControlTokenHighlighter* m_highlighter;
    QString m_prompt; ///< the edit itself would give no-break spaces back as spaces
    QString m_templateName;
    qint64 m_tokenCount = 0;
    void showSummary();
};

} // namespace kvscope
