// What experiments tell, into the views that show it.
#include "app/lab_page.h"
#include "widgets/lab_latency_plots.h"
#include "widgets/lab_limits_panel.h"
#include "widgets/lab_panel.h"
#include "widgets/lab_plan_form.h"
#include "widgets/lab_plan_table.h"
#include "widgets/lab_positions_plot.h"
#include "widgets/lab_use_plot.h"
#include "widgets/lab_verdicts.h"
#include "widgets/number_format.h"
#include "widgets/report_card_view.h"
#include "widgets/sweep_map_panel.h"
#include "widgets/sweep_prompt_panel.h"
#include "widgets/sweep_trials_panel.h"
#include "widgets/trial_running_panel.h"

#include <algorithm>

namespace kvscope {

void LabPage::showSweep(LabKind kind, const std::shared_ptr<const SweepReport>& report)
{
    m_sweeps[kind].report = report;
    if (report != nullptr && !report->trials.empty())
        m_notes[kind].found = notesOf(*report);
    if (kind != panel->form().kind())
        return;
    map->setReport(report);
    trials->setReport(report);
    if (report == nullptr)
        return;
    panel->planTable().setSweep(*report);
    showNotes(kind);
}

void LabPage::showTrial(std::size_t index)
{
    const KnownSweep& known = m_sweeps[panel->form().kind()];
    if (known.report == nullptr || index >= known.report->trials.size())
        return;
    const SweepTrial& trial = known.report->trials[index];
    prompt->setTrial(trial);
    prompt->setPromptMissing(isRunning() ? tr("Made again between two trials.")
                                         : tr("Being made again."));
    m_promptId = m_session.makePrompt(known.request, trial);
}

void LabPage::show(const TrialPrompt& answer)
{
    if (!answer.missing.empty()) {
        prompt->setPromptMissing(QString::fromStdString(answer.missing));
        return;
    }
    ShownPrompt shown;
    shown.text = answer.text;
    for (const TrialPrompt::Range& range : answer.statements)
        shown.statements.push_back({range.begin, range.end});
    shown.question = {answer.question.begin, answer.question.end};
    shown.controlTokens = answer.controlTokens;
    shown.tokens = answer.trial.promptTokens;
    prompt->setPrompt(shown);
}

void LabPage::showPart(const LabNews& news)
{
    if (const auto* begun = std::get_if<PositionsBegun>(&news)) {
        positions->begin(*begun);
        difference->begin(*begun);
        difference->setVisible(positions->numSeries() == 2);
    } else if (const auto* scored = std::get_if<PositionsScored>(&news)) {
        positions->add(*scored);
        difference->add(*scored);
    } else if (const auto* row = std::get_if<FirstTokenRow>(&news))
        firstToken->add(*row);
    else if (const auto* step = std::get_if<DecodeStepRow>(&news))
        decodeStep->add(*step);
    else if (const auto* segment = std::get_if<UseSegment>(&news))
        use->add(*segment);
    else if (const auto* trial = std::get_if<SweepTrialDone>(&news)) {
        showSweep(m_runningKind, trial->report);
        running->setTrial(runningTrialText(*trial->report));
    }
}

void LabPage::showSnapshot(const std::shared_ptr<const EngineSnapshot>& snapshot)
{
    if (isRunning() && snapshot->phase == Phase::Lab)
        running->addSnapshot(*snapshot);
}

void LabPage::showReport(const ExperimentReport& report)
{
    if (const auto* one = std::get_if<std::shared_ptr<const PositionsReport>>(&report)) {
        positions->setReport(*one);
        difference->setReport(*one);
        m_notes[m_runningKind].found = notesOf(**one);
    } else if (const auto* latency = std::get_if<std::shared_ptr<const LatencyReport>>(&report)) {
        firstToken->setReport(*latency);
        decodeStep->setReport(*latency);
        m_notes[m_runningKind].found = notesOf(**latency);
    } else if (const auto* used = std::get_if<std::shared_ptr<const UseReport>>(&report)) {
        use->setReport(*used);
        m_notes[m_runningKind].found = notesOf(**used);
    } else if (const auto* costs = std::get_if<std::shared_ptr<const LimitsReport>>(&report))
        limits->setReport(*costs);
    else if (const auto* sweep = std::get_if<std::shared_ptr<const SweepReport>>(&report))
        showSweep(m_runningKind, *sweep);
    else if (const auto* five = std::get_if<std::shared_ptr<const ReportCard>>(&report))
        card->setCard(*five);
    showNotes(m_runningKind);
}

QString LabPage::figureOf(const ExperimentReport& report) const
{
    if (const auto* one = std::get_if<std::shared_ptr<const PositionsReport>>(&report)) {
        const PositionsSeries& first = (*one)->series.front();
        const QString rise = signedText(first.rise(), 2);
        return first.isDecided() && !first.behaves()
                   ? tr("rises %1").arg(rise)
                   : tr("%1, %2").arg(behavesVerdict(first).word, rise);
    }
    if (const auto* latency = std::get_if<std::shared_ptr<const LatencyReport>>(&report)) {
        const FirstTokenRow* longest = nullptr;
        for (const FirstTokenRow& row : (*latency)->firstToken)
            if (!row.isSkipped())
                longest = &row;
        if (longest == nullptr)
            return missingText();
        return secondsText(longest->bestSeconds) +
               (longest->isDisturbed ? tr(", disturbed") : QString());
    }
    if (const auto* used = std::get_if<std::shared_ptr<const UseReport>>(&report))
        return usesVerdict(**used).kind == LabVerdict::Kind::Holds
                   ? tr("%1 nats").arg(signedText((*used)->gain.mean, 2))
                   : usesVerdict(**used).word;
    if (const auto* sweep = std::get_if<std::shared_ptr<const SweepReport>>(&report)) {
        const EffectiveLength& length = (*sweep)->absolute;
        return length.isDecided() ? tr("effective %1").arg(countText(length.tokens))
                                  : tr("undecided");
    }
    if (const auto* costs = std::get_if<std::shared_ptr<const LimitsReport>>(&report))
        if ((*costs)->budget && !(*costs)->budget->isUnbounded)
            return tr("fits %1").arg(countText((*costs)->budget->longestContext));
    if (const auto* five = std::get_if<std::shared_ptr<const ReportCard>>(&report)) {
        const auto& claims = (*five)->claims;
        const auto hold = std::count_if(claims.begin(), claims.end(), [](const CardResult& one) {
            return one.verdict == CardVerdict::Yes;
        });
        return tr("%1 of %2 hold").arg(hold).arg(claims.size());
    }
    return {};
}

} // namespace kvscope
