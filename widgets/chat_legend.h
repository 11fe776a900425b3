#pragma once

#include "widgets/chat_reach.h"

#include <QWidget>

#include <vector>

namespace kvscope {

/// What the chat's gutter bars and underlines mean, on one line; entries that do not fit give way
/// from the right and stay in the tooltip.
class ChatLegend : public QWidget
{
    Q_OBJECT
public:
    explicit ChatLegend(QWidget* parent = nullptr);

    /// Hidden while nothing is cached.
    void setReach(const ChatReach& reach);
    void setHasLosses(bool hasLosses);
    bool hasLosses() const { return m_hasLosses; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {80, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    struct Item
    {
        enum class Mark { Both, Windowed, Global, Edge, Loss } mark;
        QString text;
    };
    std::vector<Item> items() const;
    void refresh();

    ChatReach m_reach;
    bool m_hasLosses = false;
};

} // namespace kvscope
