#include "widgets/chat_model.h"

#include "widgets/number_format.h"

#include <QCoreApplication>

#include <algorithm>
#include <utility>

namespace kvscope {

ChatModel::ChatModel(QObject* parent)
    : QAbstractListModel(parent)
{
}

int ChatModel::rowCount(const QModelIndex& parent) const
{
    return parent.isValid() ? 0 : static_cast<int>(m_rows.size());
}

QVariant ChatModel::data(const QModelIndex& index, int role) const
{
    if (!checkIndex(index, CheckIndexOption::IndexIsValid))
        return {};
    const ChatRow& message = row(index.row());
    switch (role) {
    case Qt::DisplayRole:
        return message.text;
    case Qt::AccessibleTextRole:
        return QStringLiteral("%1: %2").arg(speakerName(message.role), message.text);
    case RoleNameRole:
        return speakerName(message.role);
    case RangeRole:
        return tokenRangeText(message);
    default:
        return {};
    }
}

void ChatModel::clear()
{
    beginResetModel();
    m_rows.clear();
    endResetModel();
}

void ChatModel::insertMessage(int index, ChatRow row)
{
    beginInsertRows({}, index, index);
    m_rows.insert(m_rows.begin() + index, std::move(row));
    endInsertRows();
}

void ChatModel::removeMessage(int index)
{
    beginRemoveRows({}, index, index);
    m_rows.erase(m_rows.begin() + index);
    endRemoveRows();
}

void ChatModel::setMessage(int index, ChatRow row)
{
    ChatRow& old = m_rows[static_cast<std::size_t>(index)];
    if (row == old)
        return;
    const bool keepsShape = row.text == old.text && row.parts == old.parts &&
                            row.droppedAbove == old.droppedAbove && row.isDropped == old.isDropped;
    old = std::move(row);
    const QModelIndex changed = this->index(index);
    if (keepsShape)
        Q_EMIT dataChanged(changed, changed, {Qt::DecorationRole});
    else
        Q_EMIT dataChanged(changed, changed);
}

void ChatModel::appendToken(const QString& text, const ChatTokenSpan& span)
{
    if (m_rows.empty())
        return;
    ChatRow& last = m_rows.back();
    last.text += text;
    last.spans.push_back({last.text.size(), span.position, span.nll});
    last.lastToken = span.position;
    ++last.newTokens;
    Q_EMIT textAppended(rowCount() - 1);
}

void ChatModel::setLosses(std::int64_t firstPosition, const std::vector<double>& nll)
{
    const auto end = firstPosition + static_cast<std::int64_t>(nll.size());
    for (int i = 0; i < rowCount(); ++i) {
        ChatRow& message = m_rows[static_cast<std::size_t>(i)];
        auto span = std::lower_bound(
            message.spans.begin(), message.spans.end(), firstPosition,
            [](const ChatTokenSpan& each, std::int64_t at) { return each.position < at; });
        if (span == message.spans.end() || span->position >= end)
            continue;
        for (; span != message.spans.end() && span->position < end; ++span)
            span->nll = nll[static_cast<std::size_t>(span->position - firstPosition)];
        Q_EMIT dataChanged(index(i), index(i), {Qt::DecorationRole});
    }
}

QString speakerName(ChatRole role)
{
    switch (role) {
    case ChatRole::System:
        return QCoreApplication::translate("ChatModel", "System");
    case ChatRole::User:
        return QCoreApplication::translate("ChatModel", "You");
    case ChatRole::Assistant:
        break;
    }
    return QCoreApplication::translate("ChatModel", "Model");
}

QString tokenRangeText(const ChatRow& row)
{
    if (row.firstToken < 0 || row.lastToken < row.firstToken)
        return {};
    return rangeText(row.firstToken, row.lastToken);
}

} // namespace kvscope
