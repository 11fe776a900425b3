#pragma once

#include "widgets/chat_layout.h"
#include "widgets/chat_model.h"
#include "widgets/chat_reach.h"
#include "widgets/token_history.h"
#include "widgets/token_selection.h"

#include <QAbstractScrollArea>
#include <QPointer>
#include <QTimer>

#include <optional>
#include <vector>

namespace kvscope {

class ChatPainter;
struct ChatPaintOptions;

/// The conversation, drawn from a ChatModel without a widget a message. It follows the end until
/// the user scrolls up, and again once they are back at the end. Pointing at a word hovers its
/// token, a click pins it, Shift+click or dragging makes a range; dragging also selects text for
/// Ctrl+C.
class ChatView : public QAbstractScrollArea
{
    Q_OBJECT
public:
    explicit ChatView(QWidget* parent = nullptr);

    void setModel(ChatModel* model);
    const ChatModel* model() const { return m_model; }
    /// Shared with the other views; may be null.
    void setSelectionModel(TokenSelectionModel* selection);
    /// Where tooltips find pieces and ids; may be null.
    void setHistory(const TokenHistory* history) { m_history = history; }
    void setReach(const ChatReach& reach);
    /// What is said while there is no message: a bold line, and what to do.
    void setEmptyText(const QString& title, const QString& detail);

    bool followsEnd() const { return m_followsEnd; }
    void scrollToEnd();
    /// Brings a token's word into view; nothing where it has none.
    void showToken(std::int64_t position);
    /// Text selected with the mouse.
    QString selectedText() const;
    /// The middle of a token's first character in the viewport; nothing where it is not in view.
    std::optional<QPoint> pointOfToken(std::int64_t position);
    /// A message's place on the screen, also where it is scrolled out of view.
    QRect messageRect(int row) const;
    /// Opens or closes an attachment of a message.
    void toggleAttachment(int row, std::size_t part);
    /// Lays out what is in view, now rather than with the next frame.
    void settle();
    /// Shows streamed tokens now rather than with the next frame, drawing only what they changed.
    void followText();

    QSize sizeHint() const override { return {340, 400}; }
    QSize minimumSizeHint() const override { return {200, 80}; }

public Q_SLOTS:
    /// The selected text, otherwise the message under the keyboard (the last clicked, or the
    /// newest).
    void copy();

protected:
    bool viewportEvent(QEvent* event) override;
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;
    void scrollContentsBy(int dx, int dy) override;
    void mousePressEvent(QMouseEvent* event) override;
    void mouseMoveEvent(QMouseEvent* event) override;
    void mouseReleaseEvent(QMouseEvent* event) override;
    void contextMenuEvent(QContextMenuEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Entry
    {
        ChatRowLayout layout;
        std::vector<bool> expanded;
        std::int64_t excerptAt = -1;
        int top = 0;
    };
    /// A place in a message's text.
    struct TextPlace
    {
        int row = -1;
        qsizetype offset = 0;

        auto operator<=>(const TextPlace&) const = default;
    };
    struct Hit
    {
        int row = -1;
        int boxPart = -1;      ///< over an attachment's title
        qsizetype offset = -1; ///< of the character under the point; -1: none
        qsizetype nearest = 0; ///< the nearest place between characters, for dragging
    };
    struct Anchor
    {
        int row = 0;
        std::size_t block = 0;
        int below = 0; ///< pixels from the block's top to the viewport's
    };

    void layOut();
    void rebuildAll();
    void rebuild(int row);
    void textAppended(int row);
    void pinChanged();
    void stack();
    bool layOutFrom(Anchor anchor);
    bool layOutFromEnd();
    bool layOutVisible();
    void place();
    Anchor anchorAt(int y) const;
    int rowAt(int y) const;
    int scroll() const;
    int contentHeight() const;
    Hit hitAt(QPoint point) const;
    const ChatTokenSpan* tokenAt(const Hit& hit) const;
    /// What was pressed is no longer there: moving on drags nothing, letting go is no click.
    void forgetPress();
    QString tooltipAt(QPoint point) const;
    TextStretch markedIn(int row) const;

    void paintRows(ChatPainter& rows, ChatPaintOptions& options, const QRect& dirty);

    QPointer<ChatModel> m_model;
    QPointer<TokenSelectionModel> m_selection;
    QPointer<const TokenHistory> m_history;
    ChatReach m_reach;
    ChatMetrics m_metrics;
    std::vector<Entry> m_entries;
    QTimer m_frame; ///< gathers streamed tokens into one relayout
    Anchor m_anchor;
    bool m_followsEnd = true;
    int m_tailTop = 0; ///< of what textAppended() changed, in the content
    bool m_isPlacing = false;
    bool m_isPinning = false; ///< the pin that changes is our own
    QString m_emptyTitle;
    QString m_emptyDetail;
    Hit m_pressed;
    QPoint m_pressedAt;
    bool m_isDragging = false;
    TextPlace m_markFrom;
    TextPlace m_markTo;
    int m_currentRow = -1;
};

} // namespace kvscope
