#include "widgets/start_actions.h"

#include "widgets/fonts.h"

#include <QPushButton>
#include <QVBoxLayout>

namespace kvscope {
namespace {

using Action = StartActions::Action;

QString nameOf(Action action)
{
    switch (action) {
    case Action::PasskeySweep:
        return StartActions::tr("Passkey sweep");
    case Action::OpenDemo:
        return StartActions::tr("Open the demo model");
    case Action::OpenSmolLm2:
        break;
    }
    return StartActions::tr("Open SmolLM2");
}

QString hintOf(Action action)
{
    switch (action) {
    case Action::PasskeySweep:
        return StartActions::tr(
            "In the Lab, on the open model: finds a five-digit key in 512, 1,024 "
            "and 4,096 tokens, at 0, 50 and 100 %, 20 keys a cell");
    case Action::OpenDemo:
        return StartActions::tr("The small GPT-OSS-Lite model that comes with kvscope "
                                "(Ctrl+Shift+D)");
    case Action::OpenSmolLm2:
        break;
    }
    return StartActions::tr("SmolLM2-135M-Instruct, trained on 8,192 positions (Ctrl+Shift+S)");
}

} // namespace

StartActions::StartActions(QWidget* parent)
    : QWidget(parent)
{
    setAccessibleName(tr("Start with"));
    auto* column = new QVBoxLayout(this);
    column->setContentsMargins(spacing::kWide, 0, spacing::kWide, spacing::kStep);
    column->setSpacing(spacing::kTight);
    for (const Action action : {Action::PasskeySweep, Action::OpenDemo, Action::OpenSmolLm2})
        add(action);
}

void StartActions::add(Action action)
{
    auto* button = new QPushButton;
    button->setMinimumHeight(spacing::kListRow);
    m_buttons[action] = button;
    layout()->addWidget(button);
    connect(button, &QPushButton::clicked, this, [this, action] { Q_EMIT wanted(action); });
    setRefusal(action, {});
}

void StartActions::setRefusal(Action action, const QString& reason)
{
    QPushButton* const one = button(action);
    one->setEnabled(reason.isEmpty());
    one->setText(reason.isEmpty() ? nameOf(action)
                                  : QStringLiteral("%1: %2").arg(nameOf(action), reason));
    one->setToolTip(reason.isEmpty() ? hintOf(action) : one->text());
    one->setAccessibleName(one->text());
}

void StartActions::setOffered(Action action, bool isOffered)
{
    button(action)->setVisible(isOffered);
}

} // namespace kvscope
