#include "widgets/composer_edit.h"

#include <QAbstractTextDocumentLayout>
#include <QKeyEvent>
#include <QMimeData>
#include <QTextBlock>
#include <QUrl>

#include <algorithm>

namespace kvscope {
namespace {

constexpr int kFewestLines = 2;
constexpr int kMostLines = 6;
constexpr int kDocumentMargin = 3;

} // namespace

ComposerEdit::ComposerEdit(QWidget* parent)
    : QPlainTextEdit(parent)
{
    setSizePolicy(QSizePolicy::Expanding, QSizePolicy::Fixed);
    setTabChangesFocus(true);
    document()->setDocumentMargin(kDocumentMargin);
    setAcceptDrops(true);
    setAccessibleName(tr("Message"));
    setVerticalScrollBarPolicy(Qt::ScrollBarAsNeeded);
    connect(this, &QPlainTextEdit::textChanged, this, &ComposerEdit::adjustHeight);
    adjustHeight();
}

QString ComposerEdit::typedText() const
{
    QString text = document()->toRawText();
    text.replace(QChar::ParagraphSeparator, u'\n');
    text.replace(QChar::LineSeparator, u'\n');
    return text;
}

/// Lines on screen, wrapped ones counted, no more than are ever shown.
int ComposerEdit::shownLines() const
{
    int lines = 0;
    for (QTextBlock block = document()->begin(); block.isValid() && lines <= kMostLines;
         block = block.next()) {
        blockBoundingGeometry(block); // lays the block out
        lines += std::max(1, block.layout()->lineCount());
    }
    return lines;
}

int ComposerEdit::heightFor(int lines) const
{
    // Three margins and a pixel is what QPlainTextEdit leaves free before it shows a scroll bar;
    // the rest is the frame of the style sheet, 1 px and 2 px padding on either side.
    return lines * fontMetrics().lineSpacing() + 3 * kDocumentMargin + 1 + 6;
}

QSize ComposerEdit::sizeHint() const
{
    return {240, heightFor(kFewestLines)};
}

QSize ComposerEdit::minimumSizeHint() const
{
    return {80, heightFor(kFewestLines)};
}

void ComposerEdit::adjustHeight()
{
    setFixedHeight(heightFor(std::clamp(shownLines(), kFewestLines, kMostLines)));
}

void ComposerEdit::resizeEvent(QResizeEvent* event)
{
    QPlainTextEdit::resizeEvent(event);
    if (event->size().width() != event->oldSize().width())
        adjustHeight();
}

void ComposerEdit::keyPressEvent(QKeyEvent* event)
{
    const bool isEnter = event->key() == Qt::Key_Return || event->key() == Qt::Key_Enter;
    if (isEnter && !(event->modifiers() & Qt::ShiftModifier)) {
        Q_EMIT submitted();
        return;
    }
    if (isEnter) { // a paragraph, not the U+2028 that Shift+Enter would give
        textCursor().insertBlock();
        ensureCursorVisible();
        return;
    }
    if (event->key() == Qt::Key_Escape) {
        Q_EMIT escapePressed();
        return;
    }
    QPlainTextEdit::keyPressEvent(event);
}

bool ComposerEdit::canInsertFromMimeData(const QMimeData* source) const
{
    return source->hasUrls() || source->hasText();
}

void ComposerEdit::insertFromMimeData(const QMimeData* source)
{
    bool hasFile = false;
    for (const QUrl& url : source->urls()) {
        if (!url.isLocalFile())
            continue;
        hasFile = true;
        Q_EMIT fileDropped(url.toLocalFile());
    }
    if (!hasFile && source->hasText())
        insertPlainText(source->text()); // never the HTML beside it
}

} // namespace kvscope
