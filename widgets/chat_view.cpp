#include "widgets/chat_view.h"

#include "widgets/chat_accessible.h"
#include "widgets/chat_painter.h"
#include "widgets/painted_panel.h"
#include "widgets/theme.h"

#include <QPaintEvent>
#include <QPainter>
#include <QScrollBar>

#include <algorithm>

namespace kvscope {
namespace {

/// Streamed tokens are gathered for one frame at 60 Hz.
constexpr int kFrameMilliseconds = 16;

} // namespace

ChatView::ChatView(QWidget* parent)
    : QAbstractScrollArea(parent)
{
    installChatAccessibility();
    setFrameShape(QFrame::NoFrame);
    setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    setFocusPolicy(Qt::StrongFocus);
    viewport()->setMouseTracking(true);
    viewport()->setCursor(Qt::IBeamCursor);
    setAccessibleName(tr("Conversation"));
    setAccessibleDescription(
        tr("Messages with their token positions, and which layers still reach them"));
    m_metrics = ChatMetrics::forWidth(viewport()->width());
    m_frame.setSingleShot(true);
    m_frame.setInterval(kFrameMilliseconds);
    connect(&m_frame, &QTimer::timeout, this, &ChatView::followText);
}

void ChatView::setModel(ChatModel* model)
{
    if (m_model != nullptr)
        m_model->disconnect(this);
    m_model = model;
    if (m_model != nullptr) {
        connect(m_model, &ChatModel::modelReset, this, &ChatView::rebuildAll);
        connect(m_model, &ChatModel::textAppended, this, &ChatView::textAppended);
        connect(m_model, &ChatModel::rowsInserted, this,
                [this](const QModelIndex&, int first, int last) {
                    // What is above moves what is read, what is marked and what is current.
                    const int count = last - first + 1;
                    m_anchor.row += first <= m_anchor.row && !m_entries.empty() ? count : 0;
                    m_currentRow += first <= m_currentRow ? count : 0;
                    if (first <= m_pressed.row)
                        forgetPress();
                    m_markFrom = m_markTo = {};
                    for (int i = first; i <= last; ++i) {
                        m_entries.emplace(m_entries.begin() + i);
                        rebuild(i);
                    }
                    settle();
                });
        connect(m_model, &ChatModel::rowsRemoved, this,
                [this](const QModelIndex&, int first, int last) {
                    m_entries.erase(m_entries.begin() + first, m_entries.begin() + last + 1);
                    if (first <= m_pressed.row)
                        forgetPress();
                    m_markFrom = m_markTo = {};
                    settle();
                });
        connect(m_model, &ChatModel::dataChanged, this,
                [this](const QModelIndex& first, const QModelIndex& last, const QList<int>& roles) {
                    if (roles == QList<int>{Qt::DecorationRole}) {
                        viewport()->update();
                        return;
                    }
                    for (int i = first.row(); i <= last.row(); ++i)
                        rebuild(i);
                    settle();
                });
    }
    rebuildAll();
}

void ChatView::setSelectionModel(TokenSelectionModel* selection)
{
    if (m_selection != nullptr)
        m_selection->disconnect(this);
    m_selection = selection;
    if (m_selection == nullptr)
        return;
    connect(m_selection, &TokenSelectionModel::hoverChanged, viewport(),
            qOverload<>(&QWidget::update));
    connect(m_selection, &TokenSelectionModel::pinChanged, this, &ChatView::pinChanged);
}

void ChatView::setReach(const ChatReach& reach)
{
    if (reach == m_reach)
        return;
    m_reach = reach;
    viewport()->update();
}

void ChatView::setEmptyText(const QString& title, const QString& detail)
{
    m_emptyTitle = title;
    m_emptyDetail = detail;
    viewport()->update();
}

QRect ChatView::messageRect(int row) const
{
    const Entry& entry = m_entries[static_cast<std::size_t>(row)];
    return {viewport()->mapToGlobal(QPoint(0, entry.top - scroll())),
            QSize(viewport()->width(), entry.layout.height())};
}

void ChatView::scrollToEnd()
{
    m_followsEnd = true;
    settle();
}

void ChatView::showToken(std::int64_t position)
{
    for (int i = 0; m_model != nullptr && i < m_model->rowCount(); ++i) {
        const auto [first, end] = m_model->row(i).charactersOf(position);
        if (first == end)
            continue;
        Entry& entry = m_entries[static_cast<std::size_t>(i)];
        const auto& blocks = entry.layout.blocks();
        const auto found =
            std::find_if(blocks.begin(), blocks.end(), [at = end - 1](const ChatBlock& each) {
                return each.isText() && at >= each.first && at < each.first + each.length;
            });
        if (found == blocks.end())
            return;
        const auto index = static_cast<std::size_t>(found - blocks.begin());
        entry.layout.layOut(m_model->row(i), m_metrics, index);
        const auto cursor = static_cast<int>(end - 1 - found->first + found->before.size());
        const QTextLine line = found->layout->lineForTextPosition(cursor);
        const int inBlock = line.isValid() ? static_cast<int>(line.y()) : 0;
        const int top = entry.top + found->top + inBlock;
        if (top >= scroll() && top + m_metrics.linePitch <= scroll() + viewport()->height())
            return;
        m_followsEnd = false;
        m_anchor = {i, index, inBlock - viewport()->height() / 3};
        settle();
        return;
    }
}

void ChatView::toggleAttachment(int row, std::size_t part)
{
    Entry& entry = m_entries[static_cast<std::size_t>(row)];
    entry.expanded.resize(std::max(entry.expanded.size(), part + 1), false);
    entry.expanded[part] = !entry.expanded[part];
    m_followsEnd = false; // what was clicked stays where it is
    rebuild(row);
    settle();
}

void ChatView::rebuildAll()
{
    m_entries.clear();
    forgetPress();
    m_markFrom = m_markTo = {};
    m_currentRow = -1;
    m_followsEnd = true;
    m_entries.resize(m_model == nullptr ? 0 : static_cast<std::size_t>(m_model->rowCount()));
    for (std::size_t i = 0; i < m_entries.size(); ++i)
        rebuild(static_cast<int>(i));
    settle();
}

void ChatView::rebuild(int row)
{
    Entry& entry = m_entries[static_cast<std::size_t>(row)];
    entry.layout.build(m_model->row(row), m_metrics, entry.expanded, entry.excerptAt);
}

void ChatView::textAppended(int row)
{
    Entry& entry = m_entries[static_cast<std::size_t>(row)];
    if (!m_frame.isActive()) {
        const auto& blocks = entry.layout.blocks();
        m_tailTop = entry.top + (blocks.empty() ? 0 : blocks.back().top);
        m_frame.start();
    }
    entry.layout.textAppended(m_model->row(row), m_metrics);
}

void ChatView::pinChanged()
{
    const auto pinned = m_selection->selection().pinned;
    for (std::size_t i = 0; i < m_entries.size(); ++i) {
        Entry& entry = m_entries[i];
        const ChatRow& row = m_model->row(static_cast<int>(i));
        if (row.parts.empty())
            continue;
        const bool isHere = pinned && row.charactersOf(*pinned).second > 0;
        const std::int64_t excerptAt = isHere ? *pinned : -1;
        if (excerptAt == entry.excerptAt)
            continue;
        entry.excerptAt = excerptAt;
        rebuild(static_cast<int>(i));
    }
    settle();
    const bool isWriting = m_model != nullptr && m_model->rowCount() > 0 &&
                           m_model->rows().back().state == ChatRowState::Writing;
    if (pinned && !m_isPinning && !isWriting)
        showToken(*pinned);
}

void ChatView::scrollContentsBy(int, int)
{
    if (m_isPlacing || m_entries.empty())
        return;
    m_followsEnd = scroll() >= verticalScrollBar()->maximum() - 2;
    m_anchor = anchorAt(scroll());
    settle();
}

void ChatView::resizeEvent(QResizeEvent*)
{
    settle();
}

void ChatView::changeEvent(QEvent* event)
{
    QAbstractScrollArea::changeEvent(event);
    if (event->type() == QEvent::FontChange || event->type() == QEvent::StyleChange) {
        m_metrics.width = -1; // measured again
        settle();
    }
}

TextStretch ChatView::markedIn(int row) const
{
    const TextPlace from = std::min(m_markFrom, m_markTo);
    const TextPlace to = std::max(m_markFrom, m_markTo);
    if (from.row < 0 || row < from.row || row > to.row)
        return {};
    const qsizetype first = row == from.row ? from.offset : 0;
    const qsizetype end = row == to.row ? to.offset : m_model->row(row).text.size();
    return {first, std::max<qsizetype>(0, end - first)};
}

QString ChatView::selectedText() const
{
    if (m_model == nullptr)
        return {};
    QStringList texts;
    const int last = std::min(m_model->rowCount() - 1, std::max(m_markFrom.row, m_markTo.row));
    for (int i = std::max(0, std::min(m_markFrom.row, m_markTo.row)); i <= last; ++i) {
        const TextStretch marked = markedIn(i);
        if (marked.length > 0)
            texts << m_model->row(i).text.mid(marked.first, marked.length);
    }
    return texts.join(QStringLiteral("\n\n"));
}

void ChatView::paintEvent(QPaintEvent* event)
{
    const Theme& theme = Theme::current();
    QPainter painter(viewport());
    painter.fillRect(event->rect(), theme.panel);
    painter.setRenderHint(QPainter::TextAntialiasing);
    if (m_entries.empty()) {
        paintEmptyState(painter, viewport()->rect(), theme, m_emptyTitle, m_emptyDetail);
        return;
    }
    ChatPainter rows(painter, theme);
    ChatPaintOptions options;
    options.metrics = m_metrics;
    options.reach = m_reach;
    if (m_selection != nullptr)
        options.selection = m_selection->selection();
    for (const QRect& dirty : event->region())
        paintRows(rows, options, dirty);
    if (hasFocus()) {
        painter.setPen(QPen(theme.highlight, 2));
        painter.drawRect(viewport()->rect().adjusted(1, 1, -1, -1));
    }
}

void ChatView::paintRows(ChatPainter& rows, ChatPaintOptions& options, const QRect& dirty)
{
    // From the line above on, which tells whether the windows begin at the first line.
    const QRect clip = dirty.adjusted(0, -2 * m_metrics.linePitch, 0, 0);
    options.above = Reach::NotCached;
    for (auto i = static_cast<std::size_t>(rowAt(scroll() + clip.top())); i < m_entries.size();
         ++i) {
        const int top = m_entries[i].top - scroll();
        if (top > clip.bottom())
            break;
        const int row = static_cast<int>(i);
        options.expanded = m_entries[i].expanded;
        options.marked = markedIn(row);
        options.above = rows.paint(m_model->row(row), m_entries[i].layout, top, clip, options);
    }
}

} // namespace kvscope
