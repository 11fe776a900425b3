#pragma once

#include "widgets/chat_message.h"

#include <QAbstractListModel>

#include <vector>

namespace kvscope {

/// The messages of a chat, one a row. Views that follow an answer word by word connect to
/// textAppended, which is said instead of dataChanged while a text only grows.
class ChatModel : public QAbstractListModel
{
    Q_OBJECT
public:
    enum DataRole { RoleNameRole = Qt::UserRole, RangeRole };

    explicit ChatModel(QObject* parent = nullptr);

    int rowCount(const QModelIndex& parent = {}) const override;
    /// DisplayRole: the text. AccessibleTextRole: who says it and the text. RangeRole: "15–1,825".
    QVariant data(const QModelIndex& index, int role) const override;

    const ChatRow& row(int index) const { return m_rows[static_cast<std::size_t>(index)]; }
    const std::vector<ChatRow>& rows() const { return m_rows; }

    void clear();
    void insertMessage(int index, ChatRow row); ///< 0 <= index <= rowCount()
    void appendMessage(ChatRow row) { insertMessage(rowCount(), std::move(row)); }
    void removeMessage(int index);
    /// Replaces a message. Views are told whether its text changed, or only what is drawn around it
    /// (dataChanged with Qt::DecorationRole alone).
    void setMessage(int index, ChatRow row);
    /// Adds a token's text to the last row. Constant time.
    void appendToken(const QString& text, const ChatTokenSpan& span);
    /// Losses of the tokens from `firstPosition` on, in whichever rows hold them.
    void setLosses(std::int64_t firstPosition, const std::vector<double>& nll);

Q_SIGNALS:
    void textAppended(int row);

private:
    std::vector<ChatRow> m_rows;
};

/// "System", "You", "Model".
QString speakerName(ChatRole role);
/// "15–1,825"; empty where the message has no tokens.
QString tokenRangeText(const ChatRow& row);

} // namespace kvscope
