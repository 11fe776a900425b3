#include "widgets/chat_layout.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"

#include <QCoreApplication>
#include <QFontMetrics>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

/// Characters shown on either side of a token in a closed attachment.
constexpr qsizetype kExcerptReach = 120;

/// The end of a piece of a long line that begins at `first`: after its last space, else where it
/// must.
qsizetype cutOf(QStringView text, qsizetype first, qsizetype end)
{
    const qsizetype limit = first + kLongestBlock;
    if (limit >= end)
        return end;
    for (qsizetype at = limit; at > first + kLongestBlock / 2; --at)
        if (text[at - 1] == u' ')
            return at;
    return text[limit].isLowSurrogate() ? limit - 1 : limit;
}

QString tokensText(std::int64_t count)
{
    return QCoreApplication::translate("ChatView", "(%1 tokens)").arg(countText(count));
}

/// Line feeds would start a new line in an excerpt; carriage returns and the like show as boxes.
QString shown(const ChatRow& row, const ChatBlock& block)
{
    QString text = row.text.mid(block.first, block.length);
    for (QChar& each : text)
        if (each < u' ' && each != u'\t')
            each = u' ';
    return block.before + text + block.after;
}

} // namespace

ChatMetrics ChatMetrics::forWidth(int width)
{
    ChatMetrics metrics;
    metrics.width = width;
    metrics.textFont = uiFont();
    const QFontMetrics font(metrics.textFont);
    metrics.linePitch = font.height() + 1;
    metrics.averageChar = std::max(1, font.averageCharWidth());
    return metrics;
}

std::vector<TextStretch> splitIntoBlocks(QStringView text, qsizetype first, qsizetype length)
{
    std::vector<TextStretch> stretches;
    const qsizetype end = first + length;
    qsizetype at = first;
    while (true) {
        qsizetype lineEnd = text.indexOf(u'\n', at);
        if (lineEnd < 0 || lineEnd > end)
            lineEnd = end;
        do {
            const qsizetype cut = cutOf(text, at, lineEnd);
            stretches.push_back({at, cut - at});
            at = cut;
        } while (at < lineEnd);
        if (lineEnd == end)
            return stretches;
        at = lineEnd + 1;
    }
}

int textLeft(const ChatBlock& block)
{
    return ChatMetrics::kTextLeft + (block.isBoxed() ? ChatMetrics::kBoxPadding : 0);
}

int textWidth(const ChatBlock& block, const ChatMetrics& metrics)
{
    return std::max(40, metrics.textWidth() - (block.isBoxed() ? 2 * ChatMetrics::kBoxPadding : 0));
}

void ChatRowLayout::build(const ChatRow& row, const ChatMetrics& metrics,
                          const std::vector<bool>& expanded, std::int64_t excerptAt)
{
    m_blocks.clear();
    m_parts = row.parts;
    if (m_parts.empty())
        m_parts.push_back({ChatPart::Kind::Text, 0, row.text.size(), {}, 0});
    m_headerTop = ChatMetrics::kRowGap + (row.droppedAbove > 0 ? ChatMetrics::kDivider : 0);
    for (std::size_t p = 0; p < m_parts.size(); ++p) {
        const ChatPart& part = m_parts[p];
        const int index = static_cast<int>(p);
        if (part.kind == ChatPart::Kind::Text) {
            appendText(row, metrics, ChatBlock::Kind::Text, index, part.first, part.length);
            continue;
        }
        ChatBlock head;
        head.kind = ChatBlock::Kind::BoxHead;
        head.part = index;
        head.first = part.first;
        head.height = ChatMetrics::kBoxHead;
        m_blocks.push_back(std::move(head));
        if (p < expanded.size() && expanded[p])
            appendText(row, metrics, ChatBlock::Kind::BoxText, index, part.first, part.length);
        else if (excerptAt >= 0)
            appendExcerpt(row, metrics, index, excerptAt);
    }
    stackFrom(0);
}

void ChatRowLayout::textAppended(const ChatRow& row, const ChatMetrics& metrics)
{
    if (m_blocks.empty() || m_blocks.back().kind != ChatBlock::Kind::Text)
        return;
    const qsizetype first = m_blocks.back().first;
    const int part = m_blocks.back().part;
    m_blocks.pop_back();
    const std::size_t changed = m_blocks.size();
    m_parts.back().length = row.text.size() - m_parts.back().first;
    appendText(row, metrics, ChatBlock::Kind::Text, part, first, row.text.size() - first);
    stackFrom(changed);
}

bool ChatRowLayout::layOut(const ChatRow& row, const ChatMetrics& metrics, std::size_t index)
{
    ChatBlock& block = m_blocks[index];
    if (!block.isText() || block.layout != nullptr)
        return false;
    block.layout = std::make_unique<QTextLayout>(shown(row, block), metrics.textFont);
    QTextOption option;
    option.setWrapMode(QTextOption::WrapAtWordBoundaryOrAnywhere);
    option.setTabStopDistance(4.0 * metrics.averageChar);
    block.layout->setTextOption(option);
    block.layout->setCacheEnabled(true);
    int y = 0;
    block.layout->beginLayout();
    for (QTextLine line = block.layout->createLine(); line.isValid();
         line = block.layout->createLine()) {
        line.setLineWidth(textWidth(block, metrics));
        // Scripts from a fallback font may be taller than the pitch.
        const int pitch = std::max(metrics.linePitch, static_cast<int>(std::ceil(line.height())));
        line.setPosition(QPointF(0.0, y + std::floor((pitch - line.height()) / 2.0)));
        y += pitch;
    }
    block.layout->endLayout();
    const int height = std::max(y, metrics.linePitch);
    if (height == block.height)
        return false;
    block.height = height;
    stackFrom(index);
    return true;
}

std::size_t ChatRowLayout::blockAt(int y) const
{
    const auto after =
        std::upper_bound(m_blocks.begin(), m_blocks.end(), y,
                         [](int at, const ChatBlock& block) { return at < block.top; });
    return after == m_blocks.begin() ? 0 : static_cast<std::size_t>(after - m_blocks.begin()) - 1;
}

void ChatRowLayout::appendText(const ChatRow& row, const ChatMetrics& metrics, ChatBlock::Kind kind,
                               int part, qsizetype first, qsizetype length)
{
    for (const TextStretch& stretch : splitIntoBlocks(row.text, first, length)) {
        ChatBlock block;
        block.kind = kind;
        block.part = part;
        block.first = stretch.first;
        block.length = stretch.length;
        block.height = estimated(metrics, block);
        m_blocks.push_back(std::move(block));
    }
}

void ChatRowLayout::appendExcerpt(const ChatRow& row, const ChatMetrics& metrics, int part,
                                  std::int64_t excerptAt)
{
    const ChatPart& whole = m_parts[static_cast<std::size_t>(part)];
    const auto [begin, end] = row.charactersOf(excerptAt);
    if (begin == end || begin < whole.first || end > whole.first + whole.length)
        return;
    // Whole tokens, so that the counts on either side add up.
    const qsizetype from = std::max(whole.first, begin - kExcerptReach);
    const qsizetype to = std::min(whole.first + whole.length, end + kExcerptReach);
    const ChatTokenSpan* firstShown = row.spanAt(from);
    const ChatTokenSpan* lastShown = row.spanAt(to - 1);
    const ChatTokenSpan* firstOfFile = row.spanAt(whole.first);
    const ChatTokenSpan* lastOfFile = row.spanAt(whole.first + whole.length - 1);
    if (firstShown == nullptr || lastShown == nullptr || lastOfFile == nullptr)
        return;
    ChatBlock block;
    block.kind = ChatBlock::Kind::BoxExcerpt;
    block.part = part;
    block.first = std::max(whole.first, row.charactersOf(firstShown->position).first);
    block.length = std::min(whole.first + whole.length, lastShown->end) - block.first;
    if (const std::int64_t hidden = firstShown->position - firstOfFile->position; hidden > 0)
        block.before = QStringLiteral("… %1 ").arg(tokensText(hidden));
    if (const std::int64_t hidden = lastOfFile->position - lastShown->position; hidden > 0)
        block.after = QStringLiteral(" … %1").arg(tokensText(hidden));
    block.height = estimated(metrics, block);
    m_blocks.push_back(std::move(block));
}

void ChatRowLayout::stackFrom(std::size_t index)
{
    int y = m_headerTop + ChatMetrics::kHeader;
    if (index > 0) {
        const ChatBlock& above = m_blocks[index - 1];
        y = above.top + above.height;
    }
    for (std::size_t i = index; i < m_blocks.size(); ++i) {
        ChatBlock& block = m_blocks[i];
        const bool leavesBox = i > 0 && m_blocks[i - 1].isBoxed() &&
                               (!block.isBoxed() || block.part != m_blocks[i - 1].part);
        if (leavesBox)
            y += ChatMetrics::kBoxPadding;
        if (block.kind == ChatBlock::Kind::BoxHead)
            y += 4;
        block.top = y;
        y += block.height;
    }
    if (!m_blocks.empty() && m_blocks.back().isBoxed())
        y += ChatMetrics::kBoxPadding;
    m_height = y;
}

int ChatRowLayout::estimated(const ChatMetrics& metrics, const ChatBlock& block) const
{
    const qsizetype characters = block.length + block.before.size() + block.after.size();
    const qsizetype perLine = std::max(1, textWidth(block, metrics) / metrics.averageChar);
    return static_cast<int>(std::max<qsizetype>(1, (characters + perLine - 1) / perLine)) *
           metrics.linePitch;
}

} // namespace kvscope
