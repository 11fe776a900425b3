#include "widgets/chat_view.h"
#include "widgets/elided_label.h"
#include "widgets/number_format.h"
#include "widgets/token_keys.h"
#include "widgets/token_text.h"

#include <QApplication>
#include <QClipboard>
#include <QHelpEvent>
#include <QMenu>
#include <QMouseEvent>
#include <QScrollBar>
#include <QToolTip>

#include <algorithm>

// The part of ChatView that the pointer and the keyboard drive.
namespace kvscope {
ChatView::Hit ChatView::hitAt(QPoint point) const
{
    Hit hit;
    if (m_entries.empty())
        return hit;
    const int y = point.y() + scroll();
    hit.row = rowAt(y);
    const Entry& entry = m_entries[static_cast<std::size_t>(hit.row)];
    const auto& blocks = entry.layout.blocks();
    if (blocks.empty())
        return hit;
    const ChatBlock& block = blocks[entry.layout.blockAt(y - entry.top)];
    hit.nearest = block.first;
    const int inBlock = y - entry.top - block.top;
    const bool isInside = inBlock >= 0 && inBlock < block.height;
    if (block.kind == ChatBlock::Kind::BoxHead) {
        if (isInside && point.x() >= textLeft(block))
            hit.boxPart = block.part;
        return hit;
    }
    if (block.layout == nullptr || block.layout->lineCount() == 0)
        return hit;
    int lineIndex = 0;
    while (lineIndex + 1 < block.layout->lineCount() &&
           block.layout->lineAt(lineIndex + 1).y() <= inBlock)
        ++lineIndex;
    const QTextLine line = block.layout->lineAt(lineIndex);
    const double x = point.x() - textLeft(block);
    const auto inText = [&](int cursor) {
        return block.first + std::clamp<qsizetype>(cursor - block.before.size(), 0, block.length);
    };
    hit.nearest = inBlock < 0 ? block.first : inText(line.xToCursor(x));
    const int cursor = line.xToCursor(x, QTextLine::CursorOnCharacter);
    const qsizetype inShown = cursor - block.before.size();
    if (isInside && x >= 0 && x < line.naturalTextWidth() && inShown >= 0 && inShown < block.length)
        hit.offset = block.first + inShown;
    return hit;
}

const ChatTokenSpan* ChatView::tokenAt(const Hit& hit) const
{
    const bool isText =
        m_model != nullptr && hit.row >= 0 && hit.row < m_model->rowCount() && hit.offset >= 0;
    return isText ? m_model->row(hit.row).spanAt(hit.offset) : nullptr;
}

void ChatView::forgetPress()
{
    m_pressed = {};
    m_isDragging = false;
}

std::optional<QPoint> ChatView::pointOfToken(std::int64_t position)
{
    settle();
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        auto [first, end] = m_model->row(static_cast<int>(i)).charactersOf(position);
        while (first + 1 < end && m_model->row(static_cast<int>(i)).text[first].isSpace())
            ++first;
        if (first == end)
            continue;
        for (const ChatBlock& block : m_entries[i].layout.blocks()) {
            if (block.layout == nullptr || first < block.first ||
                first >= block.first + block.length)
                continue;
            const int cursor = static_cast<int>(first - block.first + block.before.size());
            const QTextLine line = block.layout->lineForTextPosition(cursor);
            const double x = (line.cursorToX(cursor) + line.cursorToX(cursor + 1)) / 2.0;
            const QPoint point(textLeft(block) + static_cast<int>(x),
                               m_entries[i].top + block.top - scroll() +
                                   static_cast<int>(line.y() + line.height() / 2.0));
            if (viewport()->rect().contains(point))
                return point;
        }
    }
    return std::nullopt;
}

void ChatView::mousePressEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton)
        return;
    m_pressed = hitAt(event->position().toPoint());
    m_pressedAt = event->position().toPoint();
    m_isDragging = false;
    m_currentRow = m_pressed.row;
    m_markFrom = m_markTo = {};
    viewport()->update();
}

void ChatView::mouseMoveEvent(QMouseEvent* event)
{
    const QPoint point = event->position().toPoint();
    const Hit hit = hitAt(point);
    viewport()->setCursor(hit.boxPart >= 0 ? Qt::PointingHandCursor : Qt::IBeamCursor);
    const ChatTokenSpan* token = tokenAt(hit);
    if (m_selection != nullptr) {
        if (token != nullptr)
            m_selection->hover(token->position);
        else
            m_selection->clearHover();
    }
    if (!(event->buttons() & Qt::LeftButton) || m_pressed.row < 0)
        return;
    if ((point - m_pressedAt).manhattanLength() >= QApplication::startDragDistance() / 2)
        m_isDragging = true;
    if (!m_isDragging || hit.row < 0)
        return;
    if (point.y() < 0 || point.y() > viewport()->height())
        verticalScrollBar()->setValue(scroll() + (point.y() < 0 ? -1 : 1) * m_metrics.linePitch);
    m_markFrom = {m_pressed.row, m_pressed.nearest};
    m_markTo = {hit.row, hit.nearest};
    const ChatTokenSpan* from = tokenAt(m_pressed);
    if (m_selection != nullptr && from != nullptr && token != nullptr) {
        m_isPinning = true;
        if (m_selection->selection().pinned != from->position)
            m_selection->pin(from->position);
        m_selection->extendTo(token->position);
        m_isPinning = false;
    }
    viewport()->update();
}

void ChatView::mouseReleaseEvent(QMouseEvent* event)
{
    if (event->button() != Qt::LeftButton || m_isDragging || m_pressed.row < 0) {
        m_pressed = {};
        return;
    }
    const Hit hit = hitAt(event->position().toPoint());
    if (hit.boxPart >= 0 && hit.boxPart == m_pressed.boxPart && hit.row == m_pressed.row) {
        toggleAttachment(hit.row, static_cast<std::size_t>(hit.boxPart));
    } else if (const ChatTokenSpan* token = tokenAt(hit);
               token != nullptr && m_selection != nullptr) {
        m_isPinning = true;
        if (event->modifiers() & Qt::ShiftModifier)
            m_selection->extendTo(token->position);
        else
            m_selection->pin(token->position);
        m_selection->setFollowsHead(false);
        m_isPinning = false;
    }
    m_pressed = {};
}

bool ChatView::viewportEvent(QEvent* event)
{
    if (event->type() == QEvent::Leave && m_selection != nullptr)
        m_selection->clearHover();
    if (event->type() == QEvent::ToolTip) {
        const auto* help = static_cast<QHelpEvent*>(event);
        const QString text = tooltipAt(help->pos());
        if (text.isEmpty())
            QToolTip::hideText();
        else
            QToolTip::showText(help->globalPos(), text, viewport());
        return true;
    }
    return QAbstractScrollArea::viewportEvent(event);
}

QString ChatView::tooltipAt(QPoint point) const
{
    const Hit hit = hitAt(point);
    if (hit.row < 0)
        return {};
    const ChatRow& row = m_model->row(hit.row);
    const ChatTokenSpan* token = tokenAt(hit);
    if (token == nullptr) {
        if (hit.boxPart >= 0)
            return plainTooltip(row.parts[static_cast<std::size_t>(hit.boxPart)].name);
        if (row.role == ChatRole::Assistant && row.newTokens > 0)
            return tr("%1 tokens written, seed %2").arg(countText(row.newTokens)).arg(row.seed);
        return {};
    }
    QStringList lines{tr("position %1").arg(countText(token->position))};
    switch (m_reach.at(token->position)) {
    case Reach::NotCached:
        lines << tr("not cached yet");
        break;
    case Reach::WindowedOnly:
        lines << tr("in the windows");
        break;
    case Reach::WindowsAndGlobal:
        lines << tr("windows and global layers reach it");
        break;
    case Reach::GlobalOnly:
        lines << (m_reach.windowedLayers > 0
                      ? tr("only the %1 global layers still reach it").arg(m_reach.globalLayers)
                      : tr("all %1 layers reach it").arg(m_reach.globalLayers));
        break;
    case Reach::Gone:
        lines << tr("no layer reaches it any more");
        break;
    }
    return tokenTooltip(m_history, token->position, lines);
}

void ChatView::copy()
{
    if (m_model == nullptr || m_model->rowCount() == 0)
        return;
    const QString marked = selectedText();
    const int row = m_currentRow >= 0 && m_currentRow < m_model->rowCount()
                        ? m_currentRow
                        : m_model->rowCount() - 1;
    QApplication::clipboard()->setText(marked.isEmpty() ? m_model->row(row).text : marked);
}

void ChatView::contextMenuEvent(QContextMenuEvent* event)
{
    if (m_model == nullptr || m_model->rowCount() == 0)
        return;
    const Hit hit = hitAt(viewport()->mapFromGlobal(event->globalPos()));
    m_currentRow = hit.row;
    auto* menu = new QMenu(this);
    menu->setAttribute(Qt::WA_DeleteOnClose);
    QAction* selection =
        menu->addAction(tr("Copy selection"), QKeySequence::Copy, this, &ChatView::copy);
    selection->setEnabled(!selectedText().isEmpty());
    const int row = hit.row;
    menu->addAction(tr("Copy message"), this, [this, row] {
        if (row >= 0 && row < m_model->rowCount())
            QApplication::clipboard()->setText(m_model->row(row).text);
    });
    menu->addAction(tr("Copy conversation"), this, [this] {
        QStringList texts;
        for (const ChatRow& each : m_model->rows())
            texts << QStringLiteral("%1:\n%2").arg(speakerName(each.role), each.text);
        QApplication::clipboard()->setText(texts.join(QStringLiteral("\n\n")));
    });
    const auto& parts = m_entries[static_cast<std::size_t>(row)].layout.parts();
    for (std::size_t p = 0; p < parts.size(); ++p) {
        if (parts[p].kind != ChatPart::Kind::Attachment)
            continue;
        const auto& expanded = m_entries[static_cast<std::size_t>(row)].expanded;
        const bool isOpen = p < expanded.size() && expanded[p];
        menu->addAction((isOpen ? tr("Fold %1") : tr("Show all of %1")).arg(parts[p].name), this,
                        [this, row, p] {
                            if (row < m_model->rowCount())
                                toggleAttachment(row, p);
                        });
    }
    menu->popup(event->globalPos());
}

void ChatView::keyPressEvent(QKeyEvent* event)
{
    if (event->matches(QKeySequence::Copy)) {
        copy();
        return;
    }
    QScrollBar* bar = verticalScrollBar();
    switch (event->key()) {
    case Qt::Key_Up:
        bar->triggerAction(QAbstractSlider::SliderSingleStepSub);
        return;
    case Qt::Key_Down:
        bar->triggerAction(QAbstractSlider::SliderSingleStepAdd);
        return;
    case Qt::Key_PageUp:
        bar->triggerAction(QAbstractSlider::SliderPageStepSub);
        return;
    case Qt::Key_PageDown:
        bar->triggerAction(QAbstractSlider::SliderPageStepAdd);
        return;
    default:
        if (m_selection == nullptr || !handleTokenKey(*event, *m_selection))
            QAbstractScrollArea::keyPressEvent(event);
    }
}

} // namespace kvscope
