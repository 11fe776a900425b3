#pragma once

#include "widgets/chat_message.h"

#include <QFont>
#include <QTextLayout>

#include <memory>
#include <vector>

namespace kvscope {

/// Sizes of the chat's text, in device-independent pixels, for one width of the view.
struct ChatMetrics
{
    int width = 0; ///< of the viewport
    QFont textFont;
    int linePitch = 0;   ///< from one line of text to the next
    int averageChar = 0; ///< for estimates of what is not laid out yet; at least 1

    static constexpr int kGutter = 12; ///< left edge of the bars that say what still reaches a line
    static constexpr int kTextLeft = 24;
    static constexpr int kTextRight = 12;
    static constexpr int kRowGap = 10;    ///< above every message
    static constexpr int kHeader = 18;    ///< the role line
    static constexpr int kDivider = 24;   ///< the line about messages left out
    static constexpr int kBoxPadding = 8; ///< inside an attachment's box
    static constexpr int kBoxHead = 24;   ///< an attachment's title

    static ChatMetrics forWidth(int width);
    int textWidth() const { return width - kTextLeft - kTextRight; }
};

/// A paragraph, or a piece of a very long one, or an attachment's title line.
struct ChatBlock
{
    enum class Kind { Text, BoxHead, BoxText, BoxExcerpt } kind = Kind::Text;
    int part = 0;        ///< index of the shown part
    qsizetype first = 0; ///< offset into ChatRow::text
    qsizetype length = 0;
    QString before; ///< shown ahead of the text itself: "… (572 tokens) "
    QString after;
    int top = 0;                         ///< within the row
    int height = 0;                      ///< an estimate until `layout` is there
    std::unique_ptr<QTextLayout> layout; ///< only of blocks that were in view

    bool isText() const { return kind != Kind::BoxHead; }
    bool isBoxed() const { return kind != Kind::Text; }
};

/// A stretch of a text, in UTF-16 units.
struct TextStretch
{
    qsizetype first = 0;
    qsizetype length = 0;

    bool operator==(const TextStretch&) const = default;
};

/// Cuts at line feeds (which belong to no stretch) and, within lines of over kLongestBlock
/// characters, after a space, so that no single layout is ever large. Never cuts a surrogate pair.
std::vector<TextStretch> splitIntoBlocks(QStringView text, qsizetype first, qsizetype length);
constexpr qsizetype kLongestBlock = 1500;

/// One message broken into lines. Only blocks that come into view are laid out; the rest have
/// estimated heights, so a message of any length costs what is seen of it.
class ChatRowLayout
{
public:
    /// \param expanded  which parts' attachments are open; shorter lists mean closed
    /// \param excerptAt  position of a token to show an excerpt around, in a closed attachment; -1:
    /// none
    void build(const ChatRow& row, const ChatMetrics& metrics, const std::vector<bool>& expanded,
               std::int64_t excerptAt);
    /// The row's text has grown at its end: only the last block is cut and laid out again.
    void textAppended(const ChatRow& row, const ChatMetrics& metrics);
    /// Breaks a block into lines, if it is not yet.
    /// \returns whether that changed the row's height
    bool layOut(const ChatRow& row, const ChatMetrics& metrics, std::size_t block);

    int height() const { return m_height; }
    int headerTop() const { return m_headerTop; }
    const std::vector<ChatBlock>& blocks() const { return m_blocks; }
    /// The block that covers `y` (within the row), or the nearest.
    std::size_t blockAt(int y) const;
    /// Parts shown: those of the row, or its whole text as one.
    const std::vector<ChatPart>& parts() const { return m_parts; }

private:
    void appendText(const ChatRow& row, const ChatMetrics& metrics, ChatBlock::Kind kind, int part,
                    qsizetype first, qsizetype length);
    void appendExcerpt(const ChatRow& row, const ChatMetrics& metrics, int part,
                       std::int64_t excerptAt);
    void stackFrom(std::size_t block);
    int estimated(const ChatMetrics& metrics, const ChatBlock& block) const;

    std::vector<ChatPart> m_parts;
    std::vector<ChatBlock> m_blocks;
    int m_headerTop = 0;
    int m_height = 0;
};

/// Left edge and width of a block's text in the view.
int textLeft(const ChatBlock& block);
int textWidth(const ChatBlock& block, const ChatMetrics& metrics);

} // namespace kvscope
