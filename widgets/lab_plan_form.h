#pragma once

#include "engine/session/experiment_request.h"
#include "widgets/lab_experiment_list.h"
#include "widgets/lab_form.h"

#include <QTimer>
#include <QWidget>

#include <map>

class QStackedWidget;

namespace kvscope {

/// What an experiment is to do, as a person fills it in: one form a kind. Tells of changes when
/// typing rests.
class LabPlanForm : public QWidget
{
    Q_OBJECT
public:
    explicit LabPlanForm(QWidget* parent = nullptr);

    void showKind(LabKind kind);
    LabKind kind() const { return m_kind; }
    LabForm& form(LabKind kind) const { return *m_forms.at(kind); }

    /// The experiment of that form, as typed.
    Experiment experiment(LabKind kind) const;
    std::uint64_t seed(LabKind kind) const;
    /// What is wrong with what was typed in the form shown; empty: nothing.
    QString problem() const;
    /// Rotary schemes that may be compared with the model's own: "linear:2", "dynamic:2".
    void setRotaryChoices(const QStringList& choices);
    /// The sweep that one click starts: 512, 1,024 and 4,096 tokens, the key at 0, 50 and 100 %, 20
    /// keys a cell, everything else as usual.
    void fillPasskeySweep();
    /// Lengths that suit the model: up to its trained positions.
    void suggestLengths(std::int64_t trainedPositions);

Q_SIGNALS:
    void changed();

private:
    LabForm* add(LabKind kind);
    void buildLosses();
    void buildCosts();
    void buildSweeps();
    void buildCard();

    LabKind m_kind = LabKind::Limits;
    std::map<LabKind, LabForm*> m_forms;
    QStackedWidget* m_stack;
    QTimer m_rest;
};

/// Doublings from 1,024 to the trained length, or fewer and shorter ones of a small model; the last
/// a sixteenth below it, so that answers fit. Of an unknown one (0) to 4,096.
QString suggestedLengths(std::int64_t trainedPositions);

} // namespace kvscope
