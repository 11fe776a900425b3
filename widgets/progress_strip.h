#pragma once

#include "engine/generate/generation.h"
#include "engine/session/session_event.h"

#include <QElapsedTimer>
#include <QString>
#include <QTimer>
#include <QWidget>

class QPushButton;

namespace kvscope {

/// What is being waited for: a model that opens, or a prompt that is read. Shown once it has taken
/// half a second; figures change at most four times a second, the bar as they arrive.
class ProgressStrip : public QWidget
{
    Q_OBJECT
public:
    explicit ProgressStrip(QWidget* parent = nullptr);

    void showOpening(const OpeningProgress& progress);
    void showPrefill(const PrefillProgress& progress, double tokensPerSecond);
    void finish();
    bool isActive() const { return m_what != What::Nothing; }
    bool isPrefill() const { return m_what == What::Prefill; }
    /// The two lines as shown, left and right text each.
    QStringList texts() const { return {m_title, m_left, m_detail, m_rate}; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

Q_SIGNALS:
    void cancelRequested(); ///< of opening; a prefill is stopped where an answer is

protected:
    void paintEvent(QPaintEvent* event) override;
    void resizeEvent(QResizeEvent* event) override;

private:
    enum class What { Nothing, Opening, Prefill };
    void begin(What what);
    bool takesNewTexts();
    void placeButton();

    What m_what = What::Nothing;
    double m_reusedShare = 0.0; ///< of the whole prompt
    double m_doneShare = 0.0;   ///< reused ones included
    QString m_title;
    QString m_left; ///< time
    QString m_detail;
    QString m_rate;
    QPushButton* m_cancel;
    QTimer m_delay;
    QElapsedTimer m_textAge;
};

} // namespace kvscope
