#include "widgets/chat_accessible.h"

#include "widgets/chat_model.h"
#include "widgets/chat_view.h"

#include <QAccessible>
#include <QAccessibleWidget>

#include <map>

namespace kvscope {
namespace {

/// One message. It holds no text: a row that is gone answers nothing.
class AccessibleMessage : public QAccessibleInterface
{
public:
    AccessibleMessage(ChatView& view, int row)
        : m_view(&view)
        , m_row(row)
    {
    }

    bool isValid() const override
    {
        return m_view != nullptr && m_view->model() != nullptr &&
               m_row < m_view->model()->rowCount();
    }
    QObject* object() const override { return nullptr; }
    QAccessibleInterface* childAt(int, int) const override { return nullptr; }
    QAccessibleInterface* parent() const override
    {
        return QAccessible::queryAccessibleInterface(m_view);
    }
    QAccessibleInterface* child(int) const override { return nullptr; }
    int childCount() const override { return 0; }
    int indexOfChild(const QAccessibleInterface*) const override { return -1; }
    QAccessible::Role role() const override { return QAccessible::ListItem; }
    QAccessible::State state() const override
    {
        QAccessible::State state;
        state.readOnly = true;
        state.busy = isValid() && m_view->model()->row(m_row).state == ChatRowState::Writing;
        return state;
    }
    QString text(QAccessible::Text kind) const override
    {
        if (!isValid())
            return {};
        const ChatModel& model = *m_view->model();
        if (kind == QAccessible::Name)
            return model.data(model.index(m_row), Qt::AccessibleTextRole).toString();
        if (kind == QAccessible::Description)
            return model.data(model.index(m_row), ChatModel::RangeRole).toString();
        return {};
    }
    void setText(QAccessible::Text, const QString&) override {}
    QRect rect() const override { return isValid() ? m_view->messageRect(m_row) : QRect(); }

private:
    QPointer<ChatView> m_view;
    int m_row;
};

class AccessibleChat : public QAccessibleWidget
{
public:
    explicit AccessibleChat(ChatView* view)
        : QAccessibleWidget(view, QAccessible::List)
        , m_view(view)
    {
    }
    ~AccessibleChat() override
    {
        for (const auto& [row, id] : m_ids)
            QAccessible::deleteAccessibleInterface(id);
    }

    int childCount() const override
    {
        return m_view->model() == nullptr ? 0 : m_view->model()->rowCount();
    }
    QAccessibleInterface* child(int index) const override
    {
        if (index < 0 || index >= childCount())
            return nullptr;
        if (const auto known = m_ids.find(index); known != m_ids.end())
            return QAccessible::accessibleInterface(known->second);
        auto* message = new AccessibleMessage(*m_view, index); // the registry owns it
        m_ids[index] = QAccessible::registerAccessibleInterface(message);
        return message;
    }
    int indexOfChild(const QAccessibleInterface* child) const override
    {
        for (const auto& [row, id] : m_ids)
            if (QAccessible::accessibleInterface(id) == child)
                return row;
        return -1;
    }
    QAccessibleInterface* childAt(int x, int y) const override
    {
        for (int row = 0; row < childCount(); ++row)
            if (m_view->messageRect(row).contains(x, y))
                return child(row);
        return nullptr;
    }

private:
    ChatView* m_view;
    mutable std::map<int, QAccessible::Id> m_ids; ///< of the messages asked for so far, by row
};

QAccessibleInterface* makeAccessible(const QString&, QObject* object)
{
    auto* view = qobject_cast<ChatView*>(object);
    return view == nullptr ? nullptr : new AccessibleChat(view);
}

} // namespace

void installChatAccessibility()
{
    QAccessible::installFactory(makeAccessible); // the same factory is kept once
}

} // namespace kvscope
