#pragma once

#include <QString>
#include <QWidget>

#include <map>

class QPushButton;

namespace kvscope {

/// What one click begins while there is no conversation: a button each. One that cannot be done is
/// disabled and says why. Knows neither models nor experiments.
class StartActions : public QWidget
{
    Q_OBJECT
public:
    enum class Action { PasskeySweep, OpenDemo, OpenSmolLm2 };

    explicit StartActions(QWidget* parent = nullptr);

    /// \param reason  why it cannot be done, a short phrase ("not installed"); empty: it can
    void setRefusal(Action action, const QString& reason);
    /// Leaves it out, as for the model that is open.
    void setOffered(Action action, bool isOffered);
    QPushButton* button(Action action) const { return m_buttons.at(action); }

Q_SIGNALS:
    void wanted(kvscope::StartActions::Action action);

private:
    void add(Action action);

    std::map<Action, QPushButton*> m_buttons;
};

} // namespace kvscope
