#pragma once

#include <QString>
#include <QWidget>

namespace kvscope {

/// How far an experiment is, by time: a bar, gone and left, and what runs now. Figures change at
/// most four times a second (the engine tells ten), the bar as it is told.
class LabProgress : public QWidget
{
    Q_OBJECT
public:
    explicit LabProgress(QWidget* parent = nullptr);

    /// \param left  seconds; 0: not known
    void setProgress(double share, double gone, double left, const QString& what);
    void setPaused(const QString& why); ///< empty: it goes on
    void clear();
    /// The lines as shown: share, times, and what runs.
    QStringList texts() const { return {m_share, m_times, m_what}; }

    QSize sizeHint() const override;
    QSize minimumSizeHint() const override { return {160, sizeHint().height()}; }

protected:
    void paintEvent(QPaintEvent* event) override;

private:
    double m_done = 0.0;
    QString m_share;
    QString m_times;
    QString m_what;
    QString m_paused;
};

} // namespace kvscope
