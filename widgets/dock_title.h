#pragma once

#include <QWidget>

class QDockWidget;

namespace kvscope {

class ElidedLabel;

/// A dock's title bar: title, what the panel shows in grey, then whatever the panel adds, float and
/// close. Dragging and double clicks pass through to the dock.
class DockTitle : public QWidget
{
    Q_OBJECT
public:
    /// \param dock  whose title this is; also the parent
    explicit DockTitle(QDockWidget* dock);

    /// The line after the title; empty: none.
    void setDescription(const QString& description);
    QString description() const;
    /// Puts a panel's own header in the place of title and description.
    void setHeader(QWidget* header);

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    class QHBoxLayout* m_layout;
    QWidget* m_title;
    ElidedLabel* m_description;
};

} // namespace kvscope
