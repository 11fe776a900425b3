#pragma once

#include "widgets/chat_layout.h"
#include "widgets/chat_reach.h"
#include "widgets/token_selection.h"

#include <QRect>

#include <vector>

class QPainter;

namespace kvscope {

struct Theme;

/// What a message's picture depends on besides the message itself.
struct ChatPaintOptions
{
    ChatMetrics metrics;
    ChatReach reach;
    TokenSelection selection;
    TextStretch marked;             ///< text selected for copying, in this message
    std::vector<bool> expanded;     ///< attachments that are open
    Reach above = Reach::NotCached; ///< of the line drawn before this message
};

/// Draws one message: the role line, the lines within `clip`, marks and gutter bars. Model output
/// is drawn as it is; no markup in it is interpreted.
class ChatPainter
{
public:
    ChatPainter(QPainter& painter, const Theme& theme)
        : m_painter(painter)
        , m_theme(theme)
    {
    }

    /// \param top  of the row, in the viewport
    /// \returns the reach of the last line, for the next message's `above`
    Reach paint(const ChatRow& row, const ChatRowLayout& layout, int top, const QRect& clip,
                const ChatPaintOptions& options);

private:
    void paintDivider(const ChatRow& row, int top);
    void paintHeader(const ChatRow& row, int top);
    void paintBox(const ChatRow& row, const ChatRowLayout& layout, std::size_t head, int top);
    void paintBoxGutter(const ChatRow& row, const ChatPart& part, int top, bool isClosed);
    void paintLines(const ChatRow& row, const ChatBlock& block, int top, const QRect& clip);
    void paintLosses(const ChatRow& row, const ChatBlock& block, const QTextLine& line, QPointF at);
    void paintToken(const ChatRow& row, const ChatBlock& block, std::int64_t position, QPointF at);
    void paintCaret(const ChatBlock& block, QPointF at);
    void paintGutter(Reach reach, int top, int bottom);
    QRectF charactersIn(const QTextLine& line, const ChatBlock& block, qsizetype first,
                        qsizetype end, QPointF at) const;
    std::vector<QTextLayout::FormatRange> formats(const ChatRow& row, const ChatBlock& block) const;
    QColor textColor(const ChatRow& row, const ChatBlock& block) const;

    QPainter& m_painter;
    const Theme& m_theme;
    ChatPaintOptions m_options;
    Reach m_above = Reach::NotCached;
    int m_gutterEnd = 0; ///< where the row's bars end so far
};

/// The pieces of a role line, in the order shown; the ones with the highest `rank` give way first
/// where the line is narrow.
struct HeaderPiece
{
    QString text;
    QFont font;
    QColor color;
    int rank = 0;
};
std::vector<HeaderPiece> headerPieces(const ChatRow& row, const Theme& theme);

} // namespace kvscope
