#include "app/lab_page.h"

#include "app/render.h"
#include "engine/session/experiment_command_line.h"
#include "widgets/lab_command_line.h"
#include "widgets/lab_latency_plots.h"
#include "widgets/lab_limits_panel.h"
#include "widgets/lab_panel.h"
#include "widgets/lab_plan_form.h"
#include "widgets/lab_plan_table.h"
#include "widgets/lab_positions_plot.h"
#include "widgets/lab_progress.h"
#include "widgets/lab_use_plot.h"
#include "widgets/number_format.h"
#include "widgets/plot_header.h"
#include "widgets/report_card_view.h"
#include "widgets/sweep_map_panel.h"
#include "widgets/sweep_prompt_panel.h"
#include "widgets/sweep_trials_panel.h"
#include "widgets/trial_running_panel.h"

#include <QDateTime>
#include <QDir>
#include <QFileInfo>
#include <QLabel>
#include <QRegularExpression>
#include <QSplitter>
#include <QStackedWidget>
#include <QStandardPaths>
#include <QTableView>

#include <utility>

namespace kvscope {
namespace {

/// Rotations that most models can be given, besides their own.
const char* const kRotaries[] = {"plain",     "linear:2",  "linear:4",
                                 "dynamic:2", "dynamic:4", "yarn:4"};

QSplitter* split(QWidget* above, QWidget* below)
{
    auto* splitter = new QSplitter(Qt::Vertical);
    splitter->setChildrenCollapsible(false);
    splitter->addWidget(above);
    splitter->addWidget(below);
    splitter->setStretchFactor(0, 3);
    splitter->setStretchFactor(1, 2);
    return splitter;
}

/// Where a kind's view stands among the results: both kinds of sweep share the map.
int viewOf(LabKind kind)
{
    switch (kind) {
    case LabKind::Passkey:
        return static_cast<int>(LabKind::Needle);
    case LabKind::Card:
        return static_cast<int>(LabKind::Passkey);
    default:
        return static_cast<int>(kind);
    }
}

/// FNV-1a, folded to 16 bits: tells a few settings of one person apart by name.
QString shortHash(const std::string& text)
{
    std::uint64_t hash = 14695981039346656037ULL;
    for (const char byte : text)
        hash = (hash ^ static_cast<unsigned char>(byte)) * 1099511628211ULL;
    hash ^= hash >> 32;
    hash ^= hash >> 16;
    return QString::number(hash & 0xFFFF, 16).rightJustified(4, '0');
}

/// What a record depends on beside its experiment's settings: how the model was opened. The number
/// of threads is left out, as one may go on with a record on another.
std::string openedText(const ModelDescription& model)
{
    std::string text;
    for (const std::string& part :
         {model.path, model.device.substr(0, model.device.find(',')), model.dtype, model.compute,
          model.rotary, model.tokenizer, std::to_string(model.contextLimit)})
        text += part + '\n';
    return text;
}

} // namespace

LabPage::LabPage(Session& session, QObject* parent)
    : QObject(parent)
    , panel(new LabPanel)
    , results(new QStackedWidget)
    , headers(new QStackedWidget)
    , positions(new PositionsPlot(PositionsPlot::Shows::Loss))
    , difference(new PositionsPlot(PositionsPlot::Shows::Difference))
    , firstToken(new FirstTokenPlot)
    , decodeStep(new DecodeStepPlot)
    , use(new UsePlot)
    , limits(new LimitsPanel)
    , map(new SweepMapPanel)
    , trials(new SweepTrialsPanel)
    , prompt(new SweepPromptPanel)
    , card(new ReportCardView)
    , running(new TrialRunningPanel)
    , m_session(session)
    , m_recordFolder(QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation) +
                     "/kvscope")
{
    buildViews();
    connectPanel();
    connectSweep();
    QStringList rotaries;
    for (const char* rotary : kRotaries)
        rotaries.append(rotary);
    panel->form().setRotaryChoices(rotaries);
    panel->setUnavailable(tr("No model open: experiments run on the open one."));
    showKind(LabKind::Limits);
}

void LabPage::buildViews()
{
    auto* limitsHeader = new PlotHeader(
        {tr("Limits"), tr("what a context costs by length, batch 1"), tr("arithmetic")});
    limitsHeader->setSurface(&Theme::dockTitle);
    const auto add = [this](QWidget* view, QWidget* header) {
        results->addWidget(view);
        headers->addWidget(header);
    };
    // In the order of viewOf().
    add(limits, limitsHeader);
    difference->hide();
    QWidget* positionsHeader = positions->takeHeader();
    add(split(positions, difference), positionsHeader);
    QWidget* latencyHeader = firstToken->takeHeader();
    add(split(firstToken, decodeStep), latencyHeader);
    QWidget* useHeader = use->takeHeader();
    add(use, useHeader);
    QWidget* mapHeader = map->takeHeader();
    add(map, mapHeader);
    auto* cardHeader = new PlotHeader(
        {tr("Report card"), tr("five claims about a context length"), tr("measured")});
    cardHeader->setSurface(&Theme::dockTitle);
    card->page()->setSpellers(cardPage, cardText);
    add(card, cardHeader);
    headers->setFixedHeight(positionsHeader->minimumHeight()); // headers have a fixed one
}

void LabPage::connectPanel()
{
    connect(panel, &LabPanel::kindChosen, this, &LabPage::showKind);
    connect(panel, &LabPanel::planWanted, this, &LabPage::askForPlan);
    connect(panel, &LabPanel::startWanted, this, &LabPage::start);
    connect(panel, &LabPanel::passkeySweepWanted, this, &LabPage::startPasskeySweep);
    connect(panel, &LabPanel::pauseWanted, this, &LabPage::pause);
    connect(panel, &LabPanel::resumeWanted, this, &LabPage::resume);
    connect(panel, &LabPanel::cancelWanted, this, &LabPage::cancel);
    for (PlotPanel* plot : {static_cast<PlotPanel*>(positions), static_cast<PlotPanel*>(difference),
                            static_cast<PlotPanel*>(firstToken),
                            static_cast<PlotPanel*>(decodeStep), static_cast<PlotPanel*>(use)})
        connect(plot, &PlotPanel::exportFailed, this, &LabPage::showFailure);
    connect(limits, &PaintedPanel::exportFailed, this, &LabPage::showFailure);
    connect(running, &PaintedPanel::exportFailed, this, &LabPage::showFailure);
    connect(card->page(), &PaintedPanel::exportFailed, this, &LabPage::showFailure);
}

void LabPage::connectSweep()
{
    connect(map, &SweepMapPanel::cellChosen, this, [this](const SweepCellKey& cell) {
        trials->showCell(cell);
        if (!trials->chosenTrial()) // its first trial is opened with it
            trials->trialsView()->selectRow(0);
    });
    connect(trials, &SweepTrialsPanel::trialChosen, this, &LabPage::showTrial);
    connect(map, &PaintedPanel::exportFailed, this, &LabPage::showFailure);
    connect(trials, &SweepTrialsPanel::exportFailed, this, &LabPage::showFailure);
}

void LabPage::setRecordFolder(const QString& folder)
{
    m_recordFolder = folder;
    askForPlan();
}

void LabPage::showModel(const ModelDescription& model)
{
    if (isRunning()) // asked for between the opening's end and its arrival here
        m_session.cancelExperiment();
    m_model = model;
    for (const LabKind kind : kLabKinds)
        panel->list().setState(kind, LabState::NotRun);
    positions->clear();
    difference->clear();
    firstToken->clear();
    decodeStep->clear();
    use->clear();
    limits->clear();
    m_sweeps.clear();
    m_notes.clear();
    panel->setNotes({});
    running->clear();
    running->setTrainedPositions(model.trainedPositions);
    map->clear();
    trials->clear();
    prompt->clear();
    card->clear();
    for (PlotPanel* plot : {static_cast<PlotPanel*>(positions), static_cast<PlotPanel*>(difference),
                            static_cast<PlotPanel*>(firstToken),
                            static_cast<PlotPanel*>(decodeStep), static_cast<PlotPanel*>(use)})
        plot->setModel(model);
    const QString caption =
        tr("%1, %2, %3, %4; kvscope %5")
            .arg(QString::fromStdString(model.name), QString::fromStdString(model.format),
                 QString::fromStdString(model.compute), QString::fromStdString(model.device),
                 KVSCOPE_VERSION);
    limits->setExportCaption(caption);
    map->setExportCaption(caption);
    running->setExportCaption(caption);
    trials->setExportCaption(caption);
    panel->form().suggestLengths(model.trainedPositions);
    panel->setUnavailable({});
    setState(LabState::NotRun);
    askForPlan();
}

QString LabPage::usualRecord(const ExperimentRequest& request) const
{
    QString model = QString::fromStdString(m_model ? m_model->name : std::string()).toLower();
    model.replace(QRegularExpression(QStringLiteral("[^a-z0-9]+")), QStringLiteral("-"));
    // What can be gone on with has a name of its settings; the others one of their moment.
    ExperimentRequest unrecorded = request;
    unrecorded.recordPath.clear();
    const QString tail =
        canBeResumed(request.experiment)
            ? shortHash((m_model ? openedText(*m_model) : std::string()) +
                        experimentCommandLine({}, unrecorded))
            : QDateTime::currentDateTime().toString(QStringLiteral("yyyyMMdd-hhmmss"));
    return QStringLiteral("%1/%2-%3-%4.jsonl")
        .arg(m_recordFolder, QString::fromStdString(experimentName(request.experiment)),
             model.left(40), tail);
}

void LabPage::askForPlan()
{
    if (!m_model)
        return;
    if (!panel->form().problem().isEmpty()) {
        m_planId = 0;              // one that is still on its way is of other settings
        panel->setUnavailable({}); // says what is wrong
        return;
    }
    if (panel->state() != LabState::Running && panel->state() != LabState::Paused)
        panel->setUsualRecord(usualRecord(panel->request()));
    m_planId = m_session.planExperiment(panel->request());
}

void LabPage::start()
{
    if (!m_model || isRunning() || !panel->form().problem().isEmpty())
        return;
    m_runningKind = panel->form().kind();
    panel->setUsualRecord(usualRecord(panel->request())); // of these settings, and this moment
    m_runningRequest = panel->request();
    if (!m_runningRequest.recordPath.empty()) {
        const QFileInfo record(QString::fromStdString(m_runningRequest.recordPath));
        if (record.absolutePath() == QDir(m_recordFolder).absolutePath())
            QDir().mkpath(m_recordFolder); // ours to make; a folder that was typed is not
    }
    m_runningId = m_session.runExperiment(m_runningRequest);
    panel->progress().clear();
    m_notes[m_runningKind] = {};
    showNotes(m_runningKind);
    if (m_runningKind == LabKind::Latency) {
        firstToken->clear();
        decodeStep->clear();
    }
    if (const auto* sweep = std::get_if<SweepSettings>(&m_runningRequest.experiment)) {
        m_sweeps[m_runningKind].request = sweep->request;
        m_sweeps[m_runningKind].recordPath = m_runningRequest.recordPath;
        map->clearChosen();
        prompt->clear();
    }
    setState(LabState::Running);
    Q_EMIT runningChanged(true);
}

void LabPage::startPasskeySweep()
{
    if (!m_model || isRunning())
        return;
    panel->list().choose(LabKind::Passkey);
    panel->form().fillPasskeySweep();
    start();
}

bool LabPage::isPaused() const
{
    return isRunning() && panel->list().state(m_runningKind) == LabState::Paused;
}

void LabPage::pause()
{
    m_session.pauseExperiment();
    panel->progress().setPaused(tr("Pauses behind what runs now."));
}

void LabPage::resume()
{
    m_session.resumeExperiment();
}

void LabPage::cancel()
{
    m_session.cancelExperiment();
}

void LabPage::showKind(LabKind kind)
{
    results->setCurrentIndex(viewOf(kind));
    headers->setCurrentIndex(viewOf(kind));
    // One experiment runs at a time: another form shows only that it waits.
    if (isRunning()) {
        panel->setState(panel->list().state(m_runningKind));
    } else {
        panel->progress().clear(); // it was of another
        panel->setState(LabState::NotRun);
    }
    if (kind == LabKind::Needle || kind == LabKind::Passkey)
        showSweep(kind, m_sweeps[kind].report);
    showNotes(kind);
    Q_EMIT kindChosen(kind);
}

void LabPage::setState(LabState state, const QString& figure)
{
    panel->list().setState(m_runningKind, state, figure);
    panel->setState(state);
    Q_EMIT stateChanged();
}

void LabPage::end(LabState state, const QString& figure)
{
    m_runningId = 0;
    panel->progress().setPaused({});
    running->clear();
    setState(state, figure);
    Q_EMIT recordingChanged({});
    Q_EMIT runningChanged(false);
    askForPlan();
}

void LabPage::showEvent(const LabEvent& event)
{
    if (const auto* planned = std::get_if<ExperimentPlanned>(&event.what))
        return show(*planned, event.experiment);
    if (const auto* answer = std::get_if<TrialPrompt>(&event.what)) {
        if (event.experiment == m_promptId)
            show(*answer);
        return;
    }
    if (event.experiment != m_runningId || m_runningId == 0)
        return; // of a run that was given up
    std::visit(
        [this](const auto& what) {
            using What = std::decay_t<decltype(what)>;
            if constexpr (std::is_same_v<What, ExperimentCancelled>)
                end(LabState::Stopped, tr("stopped"));
            else if constexpr (std::is_same_v<What, ExperimentResumed>) {
                panel->progress().setPaused({});
                running->setPaused({});
                showNotes(panel->form().kind()); // instead of why it paused
                setState(LabState::Running, panel->list().figure(m_runningKind));
            } else if constexpr (requires { show(what); })
                show(what);
            else if constexpr (!std::is_same_v<What, ExperimentPlanned>)
                showPart(what);
        },
        event.what);
}

void LabPage::show(const ExperimentPlanned& planned, std::uint64_t id)
{
    if (id != m_planId)
        return;
    panel->setPlan(planned.plan);
    const LabKind kind = panel->form().kind();
    const auto* sweep = std::get_if<SweepSettings>(&planned.request.experiment);
    if (sweep == nullptr || (isRunning() && kind == m_runningKind))
        return;
    // A map that was measured stays until another is started.
    const KnownSweep& known = m_sweeps[kind];
    if (known.report == nullptr || known.report->trials.empty())
        showSweep(kind, planned.plan.sweep);
    else if (known.recordPath == planned.request.recordPath && !known.recordPath.empty())
        panel->planTable().setSweep(*known.report); // Start goes on with its record
}

void LabPage::show(const ExperimentStarted& started)
{
    panel->commandLine().setCommand(QString::fromStdString(started.commandLine));
    std::vector<LabNote>& notes = m_notes[m_runningKind].start;
    for (const std::string& note : started.notes)
        notes.push_back({LabNote::Kind::Plain, QString::fromStdString(note)});
    showNotes(m_runningKind);
    if (!started.request.recordPath.empty())
        Q_EMIT recordingChanged(
            tr("recording %1")
                .arg(QFileInfo(QString::fromStdString(started.request.recordPath)).fileName()));
}

void LabPage::show(const ExperimentProgress& progress)
{
    panel->progress().setProgress(progress.share, progress.secondsGone, progress.secondsLeft,
                                  QString::fromStdString(progress.what));
    running->setProgress(labTitle(m_runningKind), QString::fromStdString(progress.what));
    if (panel->state() == LabState::Running && progress.share < 1.0)
        panel->list().setState(m_runningKind, LabState::Running,
                               tr("%1 %").arg(static_cast<int>(100.0 * progress.share)));
}

void LabPage::show(const ExperimentPaused& paused)
{
    using Reason = ExperimentPaused::Reason;
    if (paused.reason == Reason::Chat) {
        panel->progress().setPaused(tr("A message is answered first."));
        running->setPaused(tr("a message is answered first"));
        return;
    }
    const QString why = paused.reason == Reason::Record
                            ? tr("Paused: %1").arg(QString::fromStdString(paused.message))
                            : tr("Paused.");
    panel->progress().setPaused(why);
    running->setPaused(tr("paused"));
    if (paused.reason == Reason::Record)
        panel->setNotes({{LabNote::Kind::Bad, tr("%1 Nothing recorded is lost; Resume tries again.")
                                                  .arg(QString::fromStdString(paused.message))}});
    setState(LabState::Paused, tr("paused"));
}

void LabPage::show(const ExperimentFinished& finished)
{
    showReport(finished.report);
    end(LabState::Done, figureOf(finished.report));
}

void LabPage::show(const ExperimentFailed& failure)
{
    const QString message = QString::fromStdString(failure.message);
    m_notes[m_runningKind].found = {{LabNote::Kind::Bad, message}};
    end(LabState::Failed, tr("failed"));
    showFailure(message); // whatever form is shown
}

void LabPage::showNotes(LabKind kind)
{
    if (kind != panel->form().kind())
        return;
    const KnownNotes& known = m_notes[kind];
    std::vector<LabNote> notes = known.start;
    notes.insert(notes.end(), known.found.begin(), known.found.end());
    panel->setNotes(std::move(notes));
}

void LabPage::showFailure(const QString& message)
{
    panel->setNotes({{LabNote::Kind::Bad, message}});
}

} // namespace kvscope
