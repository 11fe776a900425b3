#pragma once

#include "widgets/chat_message.h"
#include "widgets/sampling_settings.h"

#include <QWidget>

#include <vector>

class QPushButton;
class QToolButton;
class QVBoxLayout;

namespace kvscope {

class ComposerEdit;
class ElidedLabel;

/// Where a message is written and sent: the field, files to go with it, Send or Stop, Again, and
/// the sampling settings behind ⚙.
class Composer : public QWidget
{
    Q_OBJECT
public:
    explicit Composer(QWidget* parent = nullptr);

    /// A file dropped here was read: it goes with the next message.
    void addAttachment(const ChatAttachment& attachment);
    /// Text and files of a message that was not answered, ahead of what was typed since.
    void putBack(const QString& text, const std::vector<ChatAttachment>& attachments);
    /// Empties the field once its message is on its way.
    void clear();
    QString text() const;
    const std::vector<ChatAttachment>& attachments() const { return m_attachments; }

    /// Why nothing can be sent ("No model is open"), said by placeholder and tooltips; empty: all
    /// is well.
    void setBlockedReason(const QString& reason);
    /// An answer is on its way: the Send button is Stop.
    void setRunning(bool isRunning);
    void setCanRegenerate(bool canRegenerate);

    const ChatSettings& settings() const { return m_editor->settings(); }
    void setSettings(const ChatSettings& settings);
    SamplingSettingsEditor& settingsEditor() { return *m_editor; }
    void focusText();

Q_SIGNALS:
    void submitted(); ///< there is a message, and it may be sent
    void stopRequested();
    void regenerateRequested();
    void settingsChanged(const kvscope::ChatSettings& settings);
    void fileDropped(const QString& path); ///< the app reads it and calls addAttachment()
    void escapePressed();                  ///< while nothing runs

public Q_SLOTS:
    void showSettings();

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    void buildButtons(QVBoxLayout& column);
    void buildPopover();
    void refresh();
    void showChips();
    void submit();

    ComposerEdit* m_edit;
    QWidget* m_chips;
    QPushButton* m_send;
    QPushButton* m_again;
    ElidedLabel* m_summary;
    QToolButton* m_gear;
    QWidget* m_popover;
    SamplingSettingsEditor* m_editor;
    std::vector<ChatAttachment> m_attachments;
    QString m_blockedReason;
    bool m_isRunning = false;
    bool m_canRegenerate = false;
};

} // namespace kvscope
