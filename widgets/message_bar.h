#pragma once

#include <QString>
#include <QWidget>

#include <deque>

class QLabel;
class QToolButton;

namespace kvscope {

class ElidedLabel;

/// What went wrong or must be known, in at most three lines over a panel: glyph, text, Copy,
/// dismiss. Several wait for each other, newest first; hidden while there are none.
class MessageBar : public QWidget
{
    Q_OBJECT
public:
    enum class Kind { Failure, Caution };

    explicit MessageBar(QWidget* parent = nullptr);

    /// Adds a message, unless the same one waits already.
    /// \param detail  for Copy and the tooltip; may be empty
    void add(Kind kind, const QString& text, const QString& detail = {});
    void clear();
    int count() const { return static_cast<int>(m_messages.size()); }
    /// The text shown; empty while there is none.
    QString text() const;

public Q_SLOTS:
    void dismiss(); ///< the message shown
    void copy() const;

Q_SIGNALS:
    void emptied();

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;

private:
    struct Message
    {
        Kind kind = Kind::Failure;
        QString text;
        QString detail;

        bool operator==(const Message&) const = default;
    };
    void showFirst();

    std::deque<Message> m_messages;
    QLabel* m_glyph;
    ElidedLabel* m_text;
    QLabel* m_count;
    QToolButton* m_copy;
    QToolButton* m_dismiss;
};

} // namespace kvscope
