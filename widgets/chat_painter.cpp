#include "widgets/chat_painter.h"

#include "widgets/fonts.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFontMetrics>
#include <QPainter>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr int kBar = 3;

QString translated(const char* text)
{
    return QCoreApplication::translate("ChatView", text);
}

/// Offset into the row's text of a character of a block's layout.
qsizetype rowOffset(const ChatBlock& block, qsizetype character)
{
    return block.first + std::clamp<qsizetype>(character - block.before.size(), 0, block.length);
}

/// Where the character at an offset into the row's text begins in a line.
double xOf(const QTextLine& line, const ChatBlock& block, qsizetype offset)
{
    return line.cursorToX(static_cast<int>(offset - block.first + block.before.size()));
}

Reach reachOf(const ChatRow& row, const ChatReach& reach, qsizetype first, qsizetype last)
{
    const ChatTokenSpan* end = row.spanAt(last);
    if (end == nullptr)
        return Reach::NotCached;
    std::int64_t position = end->position;
    // The newest token is cached only with the next step; its line must not flicker until then.
    const ChatTokenSpan* begin = row.spanAt(first);
    if (position >= reach.contextLength && begin != nullptr &&
        begin->position < reach.contextLength)
        position = reach.contextLength - 1;
    return reach.at(position);
}

} // namespace

Reach ChatPainter::paint(const ChatRow& row, const ChatRowLayout& layout, int top,
                         const QRect& clip, const ChatPaintOptions& options)
{
    m_options = options;
    m_above = options.above;
    if (row.droppedAbove > 0)
        paintDivider(row, top + ChatMetrics::kRowGap);
    const int headerTop = top + layout.headerTop();
    m_gutterEnd = headerTop;
    if (headerTop + ChatMetrics::kHeader > clip.top() && headerTop < clip.bottom()) {
        const Reach reach = m_options.reach.at(row.firstToken);
        paintHeader(row, headerTop);
        paintGutter(reach, headerTop, headerTop + ChatMetrics::kHeader);
    }
    const std::vector<ChatBlock>& blocks = layout.blocks();
    for (std::size_t i = layout.blockAt(clip.top() - top); i < blocks.size(); ++i) {
        const ChatBlock& block = blocks[i];
        if (top + block.top > clip.bottom())
            break;
        if (block.isBoxed()) {
            std::size_t head = i;
            while (blocks[head].kind != ChatBlock::Kind::BoxHead)
                --head;
            if (i == head || top + blocks[i - 1].top + blocks[i - 1].height <= clip.top())
                paintBox(row, layout, head, top);
        }
        if (block.kind == ChatBlock::Kind::BoxHead) {
            const bool isClosed = i + 1 == blocks.size() || blocks[i + 1].part != block.part;
            paintBoxGutter(row, layout.parts()[static_cast<std::size_t>(block.part)],
                           top + block.top, isClosed);
        } else if (block.layout != nullptr) {
            paintLines(row, block, top + block.top, clip);
        }
    }
    const bool isLastLaidOut = !blocks.empty() && blocks.back().layout != nullptr;
    if (row.state == ChatRowState::Writing && isLastLaidOut)
        paintCaret(blocks.back(), QPointF(textLeft(blocks.back()), top + blocks.back().top));
    return m_above;
}

void ChatPainter::paintDivider(const ChatRow& row, int top)
{
    const QString text = row.droppedAbove == 1
                             ? translated("! The oldest message is no longer in the context")
                             : translated("! The %1 oldest messages are no longer in the context")
                                   .arg(countText(row.droppedAbove));
    const QFont font = uiFont(TextSize::Secondary);
    const QFontMetrics metrics(font);
    const QRect area(ChatMetrics::kTextLeft, top, m_options.metrics.textWidth(),
                     ChatMetrics::kDivider);
    const QString shown = metrics.elidedText(text, Qt::ElideRight, area.width());
    m_painter.setFont(font);
    m_painter.setPen(m_theme.caution);
    m_painter.drawText(area.adjusted(0, 0, 0, -4), Qt::AlignCenter, shown);
    const int side = (area.width() - metrics.horizontalAdvance(shown)) / 2 - spacing::kStep;
    if (side < spacing::kStep)
        return;
    m_painter.setPen(QPen(m_theme.caution, 1, Qt::DashLine));
    const int y = area.center().y() - 2;
    m_painter.drawLine(area.left(), y, area.left() + side, y);
    m_painter.drawLine(area.right() - side, y, area.right(), y);
}

void ChatPainter::paintHeader(const ChatRow& row, int top)
{
    std::vector<HeaderPiece> pieces = headerPieces(row, m_theme);
    const auto widthOf = [](const HeaderPiece& piece) {
        return QFontMetrics(piece.font).horizontalAdvance(piece.text);
    };
    constexpr int kGap = 7;
    const auto total = [&] {
        int width = -kGap;
        for (const HeaderPiece& piece : pieces)
            width += widthOf(piece) + kGap;
        return width;
    };
    while (pieces.size() > 2 && total() > m_options.metrics.textWidth())
        pieces.erase(std::max_element(
            pieces.begin(), pieces.end(),
            [](const HeaderPiece& a, const HeaderPiece& b) { return a.rank < b.rank; }));
    int x = ChatMetrics::kTextLeft;
    const int right = ChatMetrics::kTextLeft + m_options.metrics.textWidth();
    // One baseline for all fonts of the line.
    const int baseline = top + QFontMetrics(uiFont()).ascent() + 1;
    for (const HeaderPiece& piece : pieces) {
        m_painter.setFont(piece.font);
        m_painter.setPen(piece.color);
        const QString text =
            QFontMetrics(piece.font).elidedText(piece.text, Qt::ElideRight, std::max(0, right - x));
        m_painter.drawText(x, baseline, text);
        x += widthOf(piece) + kGap;
    }
}

void ChatPainter::paintBox(const ChatRow& row, const ChatRowLayout& layout, std::size_t head,
                           int top)
{
    const std::vector<ChatBlock>& blocks = layout.blocks();
    std::size_t last = head;
    while (last + 1 < blocks.size() && blocks[last + 1].isBoxed() &&
           blocks[last + 1].kind != ChatBlock::Kind::BoxHead)
        ++last;
    const ChatPart& part = layout.parts()[static_cast<std::size_t>(blocks[head].part)];
    const bool isClosed = last == head;
    const int bottom = blocks[last].top + blocks[last].height + (isClosed ? 2 : 4);
    const QRectF box(ChatMetrics::kTextLeft + 0.5, top + blocks[head].top + 0.5,
                     m_options.metrics.textWidth() - 1, bottom - blocks[head].top);
    m_painter.setPen(m_theme.line);
    m_painter.setBrush(m_theme.alternateRow);
    m_painter.drawRoundedRect(box, spacing::kRadius, spacing::kRadius);
    m_painter.setBrush(Qt::NoBrush);

    const bool isExpanded =
        static_cast<std::size_t>(blocks[head].part) < m_options.expanded.size() &&
        m_options.expanded[static_cast<std::size_t>(blocks[head].part)];
    const QFont nameFont = uiFont(TextSize::Body, QFont::Bold);
    const QFont noteFont = uiFont(TextSize::Secondary);
    QStringList notes{translated("plain text"), QString::fromStdString(formatFileSize(
                                                    static_cast<std::uint64_t>(part.fileBytes)))};
    const ChatTokenSpan* first = row.spanAt(part.first);
    const ChatTokenSpan* end = row.spanAt(part.first + part.length - 1);
    if (first != nullptr && end != nullptr)
        notes << translated("%1 tokens").arg(countText(end->position - first->position + 1));
    const int left = ChatMetrics::kTextLeft + ChatMetrics::kBoxPadding;
    int room = m_options.metrics.textWidth() - 2 * ChatMetrics::kBoxPadding;
    const int baseline = top + blocks[head].top + 4 + QFontMetrics(nameFont).ascent();
    const QString title = (isExpanded ? QStringLiteral("▾ ") : QStringLiteral("▸ ")) + part.name;
    const QString shownTitle = QFontMetrics(nameFont).elidedText(title, Qt::ElideMiddle, room);
    m_painter.setFont(nameFont);
    m_painter.setPen(m_theme.ink);
    m_painter.drawText(left, baseline, shownTitle);
    const int used = QFontMetrics(nameFont).horizontalAdvance(shownTitle) + spacing::kStep;
    room -= used;
    if (room < 40)
        return;
    m_painter.setFont(noteFont);
    m_painter.setPen(m_theme.ink3);
    // The most telling note last to go: its tokens.
    while (notes.size() > 1 &&
           QFontMetrics(noteFont).horizontalAdvance(notes.join(QStringLiteral(" · "))) > room)
        notes.removeFirst();
    m_painter.drawText(
        left + used, baseline,
        QFontMetrics(noteFont).elidedText(notes.join(QStringLiteral(" · ")), Qt::ElideRight, room));
}

/// A closed box stands for many tokens: the upper half for the first, the lower for the last.
void ChatPainter::paintBoxGutter(const ChatRow& row, const ChatPart& part, int top, bool isClosed)
{
    const qsizetype last = part.first + std::max<qsizetype>(0, part.length - 1);
    const Reach first = reachOf(row, m_options.reach, part.first, part.first);
    const int middle = top + ChatMetrics::kBoxHead / 2 + 2;
    const int bottom = top + ChatMetrics::kBoxHead;
    if (!isClosed) {
        paintGutter(first, top, bottom);
        return;
    }
    const Reach end = reachOf(row, m_options.reach, part.first, last);
    paintGutter(first, top, middle);
    m_above = end; // the edge lies within the box, where no line of text shows it
    paintGutter(end, middle, bottom);
}

void ChatPainter::paintLines(const ChatRow& row, const ChatBlock& block, int top, const QRect& clip)
{
    const QPointF at(textLeft(block), top);
    const int count = block.layout->lineCount();
    int lineTop = top;
    for (int i = 0; i < count; ++i) {
        const QTextLine line = block.layout->lineAt(i);
        const int bottom =
            i + 1 < count
                ? top + static_cast<int>(std::round(
                            (line.y() + line.height() + block.layout->lineAt(i + 1).y()) / 2.0))
                : top + block.height;
        if (bottom > clip.top() && lineTop < clip.bottom()) {
            const qsizetype first = rowOffset(block, line.textStart());
            const qsizetype last = rowOffset(block, line.textStart() + line.textLength() - 1);
            paintGutter(reachOf(row, m_options.reach, first, last), lineTop, bottom);
            paintLosses(row, block, line, at);
        }
        lineTop = bottom;
    }
    m_painter.setPen(textColor(row, block));
    const std::vector<QTextLayout::FormatRange> ranges = formats(row, block);
    block.layout->draw(&m_painter, at,
                       QVector<QTextLayout::FormatRange>(ranges.begin(), ranges.end()), clip);
    const TokenSelection& selection = m_options.selection;
    if (selection.hovered && selection.hovered != selection.pinned)
        paintToken(row, block, *selection.hovered, at);
}

void ChatPainter::paintLosses(const ChatRow& row, const ChatBlock& block, const QTextLine& line,
                              QPointF at)
{
    const qsizetype first = rowOffset(block, line.textStart());
    const qsizetype end = rowOffset(block, line.textStart() + line.textLength());
    const double y = std::floor(at.y() + line.y() + line.ascent()) + 3.0;
    const ChatTokenSpan* span = row.spanAt(first);
    const ChatTokenSpan* const spansEnd = row.spans.data() + row.spans.size();
    double left = xOf(line, block, first); // each boundary is measured once
    for (qsizetype from = first; span != nullptr && span != spansEnd && from < end; ++span) {
        const qsizetype to = std::min(span->end, end);
        if (to <= from)
            continue;
        const double right = xOf(line, block, to);
        if (span->nll >= 0.0) {
            // Six nats and more are drawn in full strength: a chance of 1 in 400.
            QColor color = m_theme.global;
            color.setAlphaF(static_cast<float>(std::clamp(span->nll / 6.0, 0.08, 1.0)));
            const double width = std::max(1.0, std::abs(right - left) - 1.0);
            m_painter.fillRect(QRectF(at.x() + std::min(left, right), y, width, 2.0), color);
        }
        from = to;
        left = right;
    }
}

void ChatPainter::paintToken(const ChatRow& row, const ChatBlock& block, std::int64_t position,
                             QPointF at)
{
    auto [first, end] = row.charactersOf(position);
    while (first < end && row.text[first].isSpace())
        ++first;
    first = std::max(first, block.first);
    end = std::min(end, block.first + block.length);
    if (first >= end)
        return;
    for (int i = 0; i < block.layout->lineCount(); ++i) {
        const QTextLine line = block.layout->lineAt(i);
        const qsizetype lineFirst = std::max(first, rowOffset(block, line.textStart()));
        const qsizetype lineEnd =
            std::min(end, rowOffset(block, line.textStart() + line.textLength()));
        if (lineFirst >= lineEnd)
            continue;
        const QRectF area = charactersIn(line, block, lineFirst, lineEnd, at);
        m_painter.setPen(m_theme.ink);
        m_painter.drawRoundedRect(QRectF(std::floor(area.left()) - 1.5,
                                         std::floor(area.top()) + 0.5,
                                         std::ceil(area.width()) + 3.0, std::floor(area.height())),
                                  2, 2);
    }
}

void ChatPainter::paintCaret(const ChatBlock& block, QPointF at)
{
    const QTextLine line = block.layout->lineAt(block.layout->lineCount() - 1);
    if (!line.isValid())
        return;
    const double x = at.x() + line.cursorToX(line.textStart() + line.textLength());
    const double right = ChatMetrics::kTextLeft + m_options.metrics.textWidth();
    m_painter.fillRect(QRectF(std::round(std::min(x + 1.0, right - 6.0)),
                              std::round(at.y() + line.y()) + 2.0, 6.0,
                              std::round(line.height()) - 4.0),
                       m_theme.ink);
}

void ChatPainter::paintGutter(Reach reach, int top, int bottom)
{
    const bool isInWindows = reach == Reach::WindowsAndGlobal || reach == Reach::WindowedOnly;
    const bool wasOutside = m_above == Reach::GlobalOnly || m_above == Reach::Gone;
    constexpr int kPadding = ChatMetrics::kBoxPadding + 4; // around a box the bars go on
    if (top > m_gutterEnd && top - m_gutterEnd <= kPadding)
        top = m_gutterEnd;
    m_gutterEnd = bottom;
    if (isInWindows)
        m_painter.fillRect(ChatMetrics::kGutter, top, kBar, bottom - top, m_theme.windowed);
    if (reach == Reach::WindowsAndGlobal || reach == Reach::GlobalOnly)
        m_painter.fillRect(ChatMetrics::kGutter + kBar, top, kBar, bottom - top, m_theme.global);
    if (isInWindows && wasOutside) {
        m_painter.setPen(QPen(m_theme.windowed, 1, Qt::DashLine));
        m_painter.drawLine(ChatMetrics::kGutter, top,
                           m_options.metrics.width - ChatMetrics::kTextRight, top);
    }
    if (reach != Reach::NotCached)
        m_above = reach;
}

QRectF ChatPainter::charactersIn(const QTextLine& line, const ChatBlock& block, qsizetype first,
                                 qsizetype end, QPointF at) const
{
    const double left = xOf(line, block, first);
    const double right = xOf(line, block, end);
    return {at.x() + std::min(left, right), at.y() + line.y(), std::abs(right - left),
            line.height()};
}

std::vector<QTextLayout::FormatRange> ChatPainter::formats(const ChatRow& row,
                                                           const ChatBlock& block) const
{
    std::vector<QTextLayout::FormatRange> ranges;
    const auto add = [&](qsizetype first, qsizetype end, const QColor& ink, const QColor& back) {
        first = std::max(first, block.first);
        end = std::min(end, block.first + block.length);
        if (first >= end)
            return;
        QTextLayout::FormatRange range;
        range.start = static_cast<int>(first - block.first + block.before.size());
        range.length = static_cast<int>(end - first);
        range.format.setForeground(ink);
        range.format.setBackground(back);
        ranges.push_back(std::move(range));
    };
    const TextStretch& marked = m_options.marked;
    add(marked.first, marked.first + marked.length, m_theme.ink, m_theme.highlightBackground);
    if (const auto range = m_options.selection.range()) {
        const auto begin = std::lower_bound(
            row.spans.begin(), row.spans.end(), range->first,
            [](const ChatTokenSpan& span, std::int64_t at) { return span.position < at; });
        const auto end = std::upper_bound(
            row.spans.begin(), row.spans.end(), range->last,
            [](std::int64_t at, const ChatTokenSpan& span) { return at < span.position; });
        if (begin < end)
            add(begin == row.spans.begin() ? 0 : std::prev(begin)->end, std::prev(end)->end,
                m_theme.ink, m_theme.selectionBackground);
    }
    if (m_options.selection.pinned) {
        auto [first, end] = row.charactersOf(*m_options.selection.pinned);
        while (first + 1 < end && row.text[first].isSpace())
            ++first;
        add(first, end, m_theme.textOn(m_theme.selection), m_theme.selection);
    }
    return ranges;
}

QColor ChatPainter::textColor(const ChatRow& row, const ChatBlock& block) const
{
    if (row.isDropped)
        return m_theme.ink3;
    return block.isBoxed() || row.role == ChatRole::System ? m_theme.ink2 : m_theme.ink;
}

} // namespace kvscope
