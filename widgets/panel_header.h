#pragma once

#include <QWidget>

class QDockWidget;
class QHBoxLayout;
class QLabel;
class QToolButton;

namespace kvscope {

/// A dock's title bar: title in bold, what the view shows in grey (elided, whole in its tooltip),
/// the view's own controls, then float and close. Dragging and double click stay the dock's.
class PanelHeader : public QWidget
{
    Q_OBJECT
public:
    /// Installs itself as the dock's title bar; the title follows the dock's window title.
    explicit PanelHeader(QDockWidget* dock);

    void setDescription(const QString& description);
    QString description() const { return m_description; }
    /// Puts a control at the right, before float and close. Takes ownership.
    void addControl(QWidget* control);

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override;

protected:
    void paintEvent(QPaintEvent* event) override;
    void changeEvent(QEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    void showDescription();
    void setIcons();
    void showFeatures();

    QDockWidget* m_dock = nullptr;
    QHBoxLayout* m_box = nullptr;
    QLabel* m_title = nullptr;
    QLabel* m_text = nullptr;
    QToolButton* m_float = nullptr;
    QToolButton* m_close = nullptr;
    QString m_description;
};

} // namespace kvscope
