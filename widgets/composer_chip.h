#pragma once

#include "widgets/chat_message.h"

#include <QWidget>

class QToolButton;

namespace kvscope {

class ElidedLabel;

/// A file that goes with the message being typed: its name, its size, and a button to leave it out.
class ComposerChip : public QWidget
{
    Q_OBJECT
public:
    explicit ComposerChip(const ChatAttachment& attachment, QWidget* parent = nullptr);

Q_SIGNALS:
    void removed();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    ElidedLabel* m_label;
    QToolButton* m_remove;
};

} // namespace kvscope
