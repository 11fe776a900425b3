#include "engine/session/sweep_subject.h"

#include "engine/base/units.h"
#include "engine/session/open_model.h"

#include <sstream>
#include <utility>

namespace kvscope {

std::unique_ptr<Sweep> makeSweep(const SweepSubject& subject, const SweepRequest& request,
                                 const std::stop_token& stop)
{
    auto task = makeSweepTask(request);
    ChatPrompter prompter = sweepPrompter(subject.tokenizer, subject.checkpoint.tokenizer, request);
    auto endTokens = endTokensFor(subject.checkpoint, &subject.tokenizer, &prompter.chatTemplate());
    return std::make_unique<Sweep>(
        SweepModel{subject.decoder, subject.tokenizer, std::move(prompter), std::move(endTokens)},
        std::move(task), request, stop);
}

std::string trialText(const SweepTrial& trial)
{
    if (trial.role == TrialRole::Oracle)
        return "alone, " + trial.itemName;
    const std::string length = formatCount(trial.tokens);
    if (trial.role == TrialRole::Control)
        return length + ", control, " + trial.itemName;
    std::ostringstream depth; // 12.5 as well as 50
    depth << trial.depth;
    return length + " at " + depth.str() + " %, " + trial.itemName;
}

} // namespace kvscope
