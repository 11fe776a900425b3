#pragma once

#include "engine/session/lab_event.h"
#include "widgets/lab_experiment_list.h"
#include "widgets/lab_notes.h"

#include <QWidget>

class QCheckBox;
class QLabel;
class QLineEdit;
class QPushButton;

namespace kvscope {

class LabCommandLine;
class LabPlanForm;
class LabPlanTable;
class LabProgress;

/// Where experiments are chosen, planned, started, paused and ended: the list, the form of the one
/// chosen, what a run would do, how far it is, and the same on the command line. Progress and
/// buttons stay where they are while the plan scrolls. Knows no session; says what the person
/// wants.
class LabPanel : public QWidget
{
    Q_OBJECT
public:
    explicit LabPanel(QWidget* parent = nullptr);

    LabExperimentList& list() { return *m_list; }
    LabPlanForm& form() { return *m_form; }
    LabPlanTable& planTable() { return *m_plan; }
    LabProgress& progress() { return *m_progress; }
    LabCommandLine& commandLine() { return *m_command; }
    const std::vector<LabNote>& notes() const;

    /// The request as it stands in the form, for planning and running.
    ExperimentRequest request() const;
    /// Where the record of a run goes by itself; a path that was typed stays.
    void setUsualRecord(const QString& path);
    /// \param reason  why nothing can be run; empty: a model is open
    void setUnavailable(const QString& reason);

    void setPlan(const ExperimentPlan& plan); ///< of the form shown
    bool hasPlan() const { return m_hasPlan; }
    void setNotes(std::vector<LabNote> notes);
    /// Which buttons there are, and whether the form may be edited.
    void setState(LabState state);
    LabState state() const { return m_state; }

    QPushButton* startButton() const { return m_start; }
    QPushButton* pauseButton() const { return m_pause; }
    QPushButton* cancelButton() const { return m_cancel; }
    QPushButton* passkeyButton() const { return m_passkey; } ///< below the list
    QLineEdit* recordField() const { return m_record; }

    QSize sizeHint() const override { return {290, 740}; }
    QSize minimumSizeHint() const override { return {240, 400}; }

Q_SIGNALS:
    void kindChosen(kvscope::LabKind kind);
    void planWanted(); ///< the form changed, or another one is shown
    void startWanted();
    void passkeySweepWanted(); ///< the small one, at once
    void pauseWanted();
    void resumeWanted();
    void cancelWanted();

protected:
    void paintEvent(QPaintEvent* event) override;
    void keyPressEvent(QKeyEvent* event) override; ///< Space pauses and resumes

private:
    QWidget* buildBody();
    QWidget* buildRecord();
    QWidget* buildButtons();
    QWidget* buildFooter();
    void buildPasskey();
    void showKind(LabKind kind);
    void showSummary();
    void updateButtons();
    bool isActive() const;

    LabExperimentList* m_list;
    LabPlanForm* m_form;
    QCheckBox* m_isRecorded;
    QLineEdit* m_record;
    LabPlanTable* m_plan;
    QLabel* m_summary;
    LabProgress* m_progress;
    QPushButton* m_start;
    QPushButton* m_pause;
    QPushButton* m_cancel;
    QPushButton* m_passkey;
    LabNotes* m_notes;
    LabCommandLine* m_command;
    LabState m_state = LabState::NotRun;
    QString m_unavailable;
    QString m_usualRecord;
    ExperimentPlan m_shownPlan;
    bool m_hasPlan = false;
};

} // namespace kvscope
