#pragma once

#include "engine/session/session.h"
#include "engine/session/session_event.h"
#include "widgets/lab_experiment_list.h"
#include "widgets/lab_notes.h"

#include <QObject>
#include <QString>

#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <vector>

class QStackedWidget;
class QWidget;

namespace kvscope {

class DecodeStepPlot;
class FirstTokenPlot;
class LabPanel;
class LimitsPanel;
class PositionsPlot;
class ReportCardView;
class SweepMapPanel;
class SweepPromptPanel;
class SweepTrialsPanel;
class TrialRunningPanel;
class UsePlot;

/// The lab's widgets wired to the session: what a person plans and starts goes there, what
/// experiments tell comes back into their views. Knows nothing of docks.
class LabPage : public QObject
{
    Q_OBJECT
public:
    /// Makes the widgets without a parent; the window that shows them adopts them.
    /// \param session  outlives it
    explicit LabPage(Session& session, QObject* parent = nullptr);

    LabPanel* panel = nullptr;
    QStackedWidget* results = nullptr; ///< a view a kind, the chosen one in front
    QStackedWidget* headers = nullptr; ///< their headers, for the dock's title bar

    PositionsPlot* positions = nullptr;
    PositionsPlot* difference = nullptr;
    FirstTokenPlot* firstToken = nullptr;
    DecodeStepPlot* decodeStep = nullptr;
    UsePlot* use = nullptr;
    LimitsPanel* limits = nullptr;
    SweepMapPanel* map = nullptr;
    SweepTrialsPanel* trials = nullptr; ///< in docks of their own
    SweepPromptPanel* prompt = nullptr;
    ReportCardView* card = nullptr;
    TrialRunningPanel* running = nullptr; ///< what runs now; in a dock of its own

    void showModel(const ModelDescription& model);
    void showEvent(const LabEvent& event);
    /// The experiment's cache while one runs, and how far it is.
    void showSnapshot(const std::shared_ptr<const EngineSnapshot>& snapshot);
    /// A chat is answered meanwhile, or not: nothing is lost by it.
    bool isRunning() const { return m_runningId != 0; }
    bool isPaused() const;
    /// Where records go: DOCUMENTS/kvscope, unless told otherwise.
    void setRecordFolder(const QString& folder);

public Q_SLOTS:
    void start();
    /// Fills in the small passkey sweep and starts it; nothing while something runs or no model is
    /// open.
    void startPasskeySweep();
    void pause();
    void resume();
    void cancel();

Q_SIGNALS:
    void runningChanged(bool isRunning);
    void stateChanged(); ///< started, paused, resumed or ended
    void kindChosen(kvscope::LabKind kind);
    /// "recording needle-smollm2.jsonl"; empty: nothing is recorded now.
    void recordingChanged(const QString& text);

private:
    void buildViews();
    void connectPanel();
    void connectSweep();
    void askForPlan();
    void showKind(LabKind kind);
    QString usualRecord(const ExperimentRequest& request) const;
    void setState(LabState state, const QString& figure = {});
    void end(LabState state, const QString& figure);

    void show(const ExperimentPlanned& planned, std::uint64_t id);
    void show(const ExperimentStarted& started);
    void show(const ExperimentProgress& progress);
    void show(const ExperimentPaused& paused);
    void show(const ExperimentFinished& finished);
    void show(const ExperimentFailed& failure);
    void showFailure(const QString& message);
    void show(const TrialPrompt& answer);
    void showPart(const LabNews& news);
    void showNotes(LabKind kind);
    void showSweep(LabKind kind, const std::shared_ptr<const SweepReport>& report);
    void showTrial(std::size_t index);
    void showReport(const ExperimentReport& report);
    QString figureOf(const ExperimentReport& report) const;

    Session& m_session;
    std::optional<ModelDescription> m_model;
    QString m_recordFolder;
    std::uint64_t m_planId = 0;    ///< the newest asked for
    std::uint64_t m_runningId = 0; ///< 0: none
    LabKind m_runningKind = LabKind::Limits;
    ExperimentRequest m_runningRequest;
    /// What is known of each kind of sweep, and what was asked for.
    struct KnownSweep
    {
        std::shared_ptr<const SweepReport> report;
        SweepRequest request;
        std::string recordPath; ///< empty: not recorded
    };
    std::map<LabKind, KnownSweep> m_sweeps;
    /// What a kind's last run said at its start, and what its results say of themselves.
    struct KnownNotes
    {
        std::vector<LabNote> start;
        std::vector<LabNote> found;
    };
    std::map<LabKind, KnownNotes> m_notes;
    std::uint64_t m_promptId = 0; ///< the newest asked for
};

} // namespace kvscope
