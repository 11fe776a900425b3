#include "widgets/chat_view.h"

#include <QScrollBar>

#include <algorithm>

// The part of ChatView that breaks messages into lines, as far as they are seen, and keeps their
// place.
namespace kvscope {
namespace {

constexpr int kBottomPad = 10;

} // namespace

void ChatView::settle()
{
    m_frame.stop();
    layOut();
    viewport()->update();
}

void ChatView::followText()
{
    m_frame.stop();
    const int before = scroll();
    layOut();
    if (scroll() != before || m_entries.empty()) {
        viewport()->update();
        return;
    }
    // Only the role line, which counts, and the tail differ.
    const Entry& last = m_entries.back();
    const int width = viewport()->width();
    const int header = last.top + last.layout.headerTop() - before;
    viewport()->update(0, header, width, ChatMetrics::kHeader);
    viewport()->update(0, m_tailTop - before, width, contentHeight() - m_tailTop);
}

void ChatView::layOut()
{
    if (m_metrics.width != viewport()->width()) {
        m_metrics = ChatMetrics::forWidth(viewport()->width());
        for (std::size_t i = 0; i < m_entries.size(); ++i)
            rebuild(static_cast<int>(i));
    }
    if (m_followsEnd)
        layOutFromEnd();
    else
        layOutFrom(m_anchor);
    stack();
    place();
    // Near the ends the bar clamps, which brings blocks into view that the anchor did not reach.
    while (layOutVisible()) {
        stack();
        place();
    }
    if (!m_entries.empty())
        m_anchor = anchorAt(scroll());
}

/// Lays out downwards until the viewport is full.
bool ChatView::layOutFrom(Anchor anchor)
{
    int height = -anchor.below;
    bool changed = false;
    for (auto row = static_cast<std::size_t>(anchor.row); row < m_entries.size(); ++row) {
        ChatRowLayout& layout = m_entries[row].layout;
        const std::size_t begin = row == static_cast<std::size_t>(anchor.row) ? anchor.block : 0;
        for (std::size_t i = begin; i < layout.blocks().size(); ++i) {
            changed |= layout.layOut(m_model->row(static_cast<int>(row)), m_metrics, i);
            height += layout.blocks()[i].height;
            if (height > viewport()->height())
                return changed;
        }
    }
    return changed;
}

/// Lays out upwards from the end until the viewport is full.
bool ChatView::layOutFromEnd()
{
    int height = 0;
    bool changed = false;
    for (std::size_t row = m_entries.size(); row-- > 0;) {
        ChatRowLayout& layout = m_entries[row].layout;
        for (std::size_t i = layout.blocks().size(); i-- > 0;) {
            changed |= layout.layOut(m_model->row(static_cast<int>(row)), m_metrics, i);
            height += layout.blocks()[i].height;
            if (height > viewport()->height())
                return changed;
        }
    }
    return changed;
}

bool ChatView::layOutVisible()
{
    const int top = scroll();
    const int bottom = top + viewport()->height();
    for (auto row = static_cast<std::size_t>(rowAt(top)); row < m_entries.size(); ++row) {
        Entry& entry = m_entries[row];
        if (entry.top > bottom)
            break;
        for (std::size_t i = entry.layout.blockAt(top - entry.top);
             i < entry.layout.blocks().size(); ++i) {
            if (entry.top + entry.layout.blocks()[i].top > bottom)
                break;
            if (entry.layout.layOut(m_model->row(static_cast<int>(row)), m_metrics, i))
                return true;
        }
    }
    return false;
}

void ChatView::stack()
{
    int y = 0;
    for (Entry& entry : m_entries) {
        entry.top = y;
        y += entry.layout.height();
    }
}

/// Sets the scroll bar so that the anchor, or the end, stays where it is.
void ChatView::place()
{
    m_isPlacing = true;
    const int most = std::max(0, contentHeight() - viewport()->height());
    verticalScrollBar()->setRange(0, most);
    verticalScrollBar()->setPageStep(viewport()->height());
    verticalScrollBar()->setSingleStep(3 * m_metrics.linePitch);
    int value = most;
    if (!m_followsEnd && !m_entries.empty()) {
        const auto row = std::min(static_cast<std::size_t>(m_anchor.row), m_entries.size() - 1);
        const Entry& entry = m_entries[row];
        const auto& blocks = entry.layout.blocks();
        const int block =
            blocks.empty() || m_anchor.block >= blocks.size() ? 0 : blocks[m_anchor.block].top;
        value = entry.top + block + m_anchor.below;
    }
    verticalScrollBar()->setValue(value);
    m_isPlacing = false;
}

ChatView::Anchor ChatView::anchorAt(int y) const
{
    const int row = rowAt(y);
    const Entry& entry = m_entries[static_cast<std::size_t>(row)];
    const std::size_t block = entry.layout.blockAt(y - entry.top);
    const auto& blocks = entry.layout.blocks();
    return {row, block, y - entry.top - (blocks.empty() ? 0 : blocks[block].top)};
}

int ChatView::rowAt(int y) const
{
    const auto after = std::upper_bound(m_entries.begin(), m_entries.end(), y,
                                        [](int at, const Entry& entry) { return at < entry.top; });
    return after == m_entries.begin() ? 0 : static_cast<int>(after - m_entries.begin()) - 1;
}

int ChatView::scroll() const
{
    return verticalScrollBar()->value();
}

int ChatView::contentHeight() const
{
    return m_entries.empty() ? 0
                             : m_entries.back().top + m_entries.back().layout.height() + kBottomPad;
}

} // namespace kvscope
