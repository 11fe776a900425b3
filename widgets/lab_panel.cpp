#include "widgets/lab_panel.h"

#include "widgets/fonts.h"
#include "widgets/lab_command_line.h"
#include "widgets/lab_plan_form.h"
#include "widgets/lab_plan_table.h"
#include "widgets/lab_progress.h"
#include "widgets/number_format.h"
#include "widgets/theme.h"

#include <QCheckBox>
#include <QHBoxLayout>
#include <QKeyEvent>
#include <QLabel>
#include <QLineEdit>
#include <QPainter>
#include <QPushButton>
#include <QScrollArea>
#include <QVBoxLayout>

#include <utility>

namespace kvscope {
namespace {

constexpr int kLeastPlan = 40; ///< px

QPushButton* button(const QString& text, const char* kind)
{
    auto* made = new QPushButton(text);
    made->setMinimumHeight(spacing::kButton);
    if (kind != nullptr)
        made->setProperty("kind", kind);
    return made;
}

/// What is not arithmetic or a page of its own is kept as a record.
bool canBeRecorded(LabKind kind)
{
    return kind != LabKind::Limits && kind != LabKind::Card;
}

} // namespace

LabPanel::LabPanel(QWidget* parent)
    : QWidget(parent)
    , m_list(new LabExperimentList)
    , m_form(new LabPlanForm)
    , m_isRecorded(new QCheckBox(tr("Record")))
    , m_record(new QLineEdit)
    , m_plan(new LabPlanTable)
    , m_summary(new QLabel)
    , m_progress(new LabProgress)
    , m_start(button(tr("Start"), "primary"))
    , m_pause(button(tr("Pause"), nullptr))
    , m_cancel(button(tr("Cancel"), "danger"))
    , m_passkey(new QPushButton(tr("Start a passkey sweep")))
    , m_notes(new LabNotes)
    , m_command(new LabCommandLine)
{
    setAccessibleName(tr("Experiment"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(0, 0, 0, 0);
    column->setSpacing(0);
    column->addWidget(m_list);
    buildPasskey();
    column->addWidget(m_passkey);
    auto* scroll = new QScrollArea;
    scroll->setFrameShape(QFrame::NoFrame);
    scroll->setWidgetResizable(true);
    scroll->setMinimumHeight(kLeastPlan); // it scrolls, so it gives way first
    scroll->setHorizontalScrollBarPolicy(Qt::ScrollBarAlwaysOff);
    QWidget* body = buildBody();
    body->setAutoFillBackground(true);
    body->setBackgroundRole(QPalette::Base);
    scroll->setWidget(body);
    column->addWidget(scroll, 1);
    column->addWidget(buildFooter());
    column->addWidget(m_command);

    connect(m_list, &LabExperimentList::kindChosen, this, &LabPanel::showKind);
    connect(m_form, &LabPlanForm::changed, this, &LabPanel::planWanted);
    connect(m_start, &QPushButton::clicked, this, &LabPanel::startWanted);
    connect(m_pause, &QPushButton::clicked, this, [this] {
        if (m_state == LabState::Paused)
            Q_EMIT resumeWanted();
        else
            Q_EMIT pauseWanted();
    });
    connect(m_cancel, &QPushButton::clicked, this, &LabPanel::cancelWanted);
    connect(m_passkey, &QPushButton::clicked, this, &LabPanel::passkeySweepWanted);
    m_notes->hide();
    m_isRecorded->parentWidget()->hide(); // limits come first, and are not recorded
    setState(LabState::NotRun);
}

QWidget* LabPanel::buildBody()
{
    auto* body = new QWidget;
    auto* column = new QVBoxLayout(body);
    column->setContentsMargins(spacing::kWide, spacing::kStep, spacing::kWide, spacing::kStep);
    column->setSpacing(spacing::kStep);
    auto* title = new QLabel(tr("Plan"));
    title->setFont(uiFont(TextSize::Body, QFont::Bold));
    column->addWidget(title);
    column->addWidget(m_form);
    column->addWidget(buildRecord());
    column->addWidget(m_plan);
    m_summary->setWordWrap(true);
    m_summary->setTextFormat(Qt::PlainText);
    m_summary->setFont(uiFont(TextSize::Secondary));
    column->addWidget(m_summary);
    column->addWidget(m_notes);
    column->addStretch(1);
    return body;
}

QWidget* LabPanel::buildRecord()
{
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(spacing::kStep);
    m_isRecorded->setChecked(true);
    m_isRecorded->setToolTip(tr(
        "Every part is written as it lands; losses and sweeps that were ended are gone on with"));
    m_record->setAccessibleName(tr("Record file"));
    layout->addWidget(m_isRecorded);
    layout->addWidget(m_record, 1);
    connect(m_isRecorded, &QCheckBox::toggled, this, [this](bool isOn) {
        m_record->setEnabled(isOn);
        Q_EMIT planWanted();
    });
    connect(m_record, &QLineEdit::textEdited, this, [this](const QString& text) {
        m_record->setToolTip(text);
        Q_EMIT planWanted();
    });
    return row;
}

void LabPanel::buildPasskey()
{
    m_passkey->setFlat(true);
    m_passkey->setMinimumHeight(spacing::kListRow);
    m_passkey->setFont(uiFont(TextSize::Secondary));
}

QWidget* LabPanel::buildFooter()
{
    auto* footer = new QWidget;
    auto* column = new QVBoxLayout(footer);
    column->setContentsMargins(spacing::kWide, spacing::kTight, spacing::kWide, spacing::kStep);
    column->setSpacing(spacing::kTight);
    column->addWidget(m_progress);
    column->addWidget(buildButtons());
    return footer;
}

QWidget* LabPanel::buildButtons()
{
    auto* row = new QWidget;
    auto* layout = new QHBoxLayout(row);
    layout->setContentsMargins(0, 0, 0, 0);
    layout->setSpacing(spacing::kStep);
    layout->addWidget(m_start);
    layout->addWidget(m_pause);
    layout->addWidget(m_cancel);
    layout->addStretch(1);
    return row;
}

const std::vector<LabNote>& LabPanel::notes() const
{
    return m_notes->notes();
}

ExperimentRequest LabPanel::request() const
{
    const LabKind kind = m_form->kind();
    ExperimentRequest request;
    request.experiment = m_form->experiment(kind);
    request.seed = m_form->seed(kind);
    if (canBeRecorded(kind) && m_isRecorded->isChecked())
        request.recordPath = m_record->text().trimmed().toStdString();
    return request;
}

void LabPanel::setUsualRecord(const QString& path)
{
    if (m_record->text().isEmpty() || m_record->text() == m_usualRecord) {
        m_record->setText(path);
        m_record->setToolTip(path);
    }
    m_usualRecord = path;
}

void LabPanel::setUnavailable(const QString& reason)
{
    m_unavailable = reason;
    if (!reason.isEmpty()) {
        m_hasPlan = false;
        m_plan->clear();
    }
    showSummary();
    updateButtons();
}

void LabPanel::setPlan(const ExperimentPlan& plan)
{
    m_shownPlan = plan;
    m_hasPlan = true;
    m_plan->setPlan(plan);
    m_command->setCommand(QString::fromStdString(plan.commandLine));
    showSummary();
    updateButtons();
}

void LabPanel::showSummary()
{
    const QString problem = m_form->problem();
    QString text;
    bool isBad = true;
    if (!m_unavailable.isEmpty())
        text = m_unavailable;
    else if (!problem.isEmpty())
        text = problem;
    else if (m_hasPlan && !m_shownPlan.refusal.empty())
        text = QString::fromStdString(m_shownPlan.refusal);
    else if (m_hasPlan) {
        isBad = false;
        QStringList parts;
        if (m_shownPlan.tokens > 0)
            parts.append(tr("%1 tokens").arg(countText(m_shownPlan.tokens)));
        parts.append(m_shownPlan.seconds > 0.0
                         ? tr("about %1 %2")
                               .arg(secondsText(m_shownPlan.seconds),
                                    QString::fromStdString(m_shownPlan.basis))
                         : tr("time not known: %1").arg(QString::fromStdString(m_shownPlan.basis)));
        if (m_form->kind() == LabKind::Limits)
            parts = {QString::fromStdString(m_shownPlan.basis)};
        text = parts.join(QStringLiteral(", ")) + '.';
        for (const std::string& note : m_shownPlan.notes)
            text += '\n' + QString::fromStdString(note);
    }
    const bool isRefused = isBad && !text.isEmpty() && m_unavailable.isEmpty();
    m_summary->setText(isRefused ? QStringLiteral("\u2715 ") + text : text);
    QPalette colors = palette();
    colors.setColor(QPalette::WindowText, isRefused ? Theme::current().bad : Theme::current().ink2);
    m_summary->setPalette(colors);
}

void LabPanel::setNotes(std::vector<LabNote> notes)
{
    m_notes->setNotes(std::move(notes));
}

bool LabPanel::isActive() const
{
    return m_state == LabState::Running || m_state == LabState::Paused;
}

void LabPanel::setState(LabState state)
{
    m_state = state;
    m_pause->setText(state == LabState::Paused ? tr("Resume") : tr("Pause"));
    m_form->setEnabled(!isActive());
    m_record->setEnabled(!isActive() && m_isRecorded->isChecked());
    m_isRecorded->setEnabled(!isActive());
    m_progress->setVisible(state != LabState::NotRun);
    updateButtons();
}

void LabPanel::updateButtons()
{
    m_start->setVisible(!isActive());
    m_pause->setVisible(isActive());
    m_cancel->setVisible(isActive());
    const bool isRefused = m_hasPlan && !m_shownPlan.refusal.empty();
    m_start->setEnabled(m_unavailable.isEmpty() && m_form->problem().isEmpty() && !isRefused);
    m_start->setToolTip(m_start->isEnabled() ? QString() : m_summary->text());
    m_passkey->setEnabled(m_unavailable.isEmpty() && !isActive());
    m_passkey->setToolTip(!m_unavailable.isEmpty() ? m_unavailable
                          : isActive()
                              ? tr("An experiment runs.")
                              : tr("512, 1,024 and 4,096 tokens, the key at 0, 50 and 100 %, 20 "
                                   "keys a cell"));
}

void LabPanel::showKind(LabKind kind)
{
    m_form->showKind(kind);
    m_hasPlan = false;
    m_plan->clear();
    m_isRecorded->parentWidget()->setVisible(canBeRecorded(kind));
    showSummary();
    Q_EMIT kindChosen(kind);
    Q_EMIT planWanted();
}

void LabPanel::keyPressEvent(QKeyEvent* event)
{
    if (event->key() == Qt::Key_Space && isActive())
        m_pause->click();
    else
        QWidget::keyPressEvent(event);
}

void LabPanel::paintEvent(QPaintEvent*)
{
    QPainter(this).fillRect(rect(), Theme::current().panel);
}

} // namespace kvscope
