#pragma once

#include <QPlainTextEdit>

namespace kvscope {

/// The field a message is typed into: two to six lines high, Enter sends, Shift+Enter breaks the
/// line, Esc stops. Files that are dropped or pasted are reported, not inserted.
class ComposerEdit : public QPlainTextEdit
{
    Q_OBJECT
public:
    explicit ComposerEdit(QWidget* parent = nullptr);

    /// Exactly what was typed; toPlainText() turns no-break spaces into spaces.
    QString typedText() const;

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

Q_SIGNALS:
    void submitted();
    void escapePressed();
    void fileDropped(const QString& path);

protected:
    void keyPressEvent(QKeyEvent* event) override;
    bool canInsertFromMimeData(const QMimeData* source) const override;
    void insertFromMimeData(const QMimeData* source) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void adjustHeight();
    int heightFor(int lines) const;
    int shownLines() const;
};

} // namespace kvscope
