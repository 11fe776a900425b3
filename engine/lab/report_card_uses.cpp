// Claim five: two tests, of which each may be missing.

#include "engine/base/units.h"
#include "engine/lab/report_card.h"
#include "engine/lab/report_card_text.h"

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

/// What the two tests of claim five say, each where it was made.
struct UseFindings
{
    std::optional<bool> helps;   ///< earlier text lowers the loss, its interval above 0
    bool isGainOpen = false;     ///< the gain's interval holds 0, or there is none
    std::optional<bool> reaches; ///< the effective length is the length
    bool failsEverywhere = false;
};

/// Whether the part was tried, so that the reason stands among the notes.
bool isRefused(const CardEvidence& evidence, CardPart part)
{
    return std::any_of(evidence.refusals.begin(), evidence.refusals.end(),
                       [part](const CardRefusal& refusal) { return refusal.part == part; });
}

UseFindings useFindings(const CardEvidence& evidence)
{
    UseFindings findings;
    if (evidence.use && evidence.use->firstSegmentAgrees()) {
        const SampleMean& gain = evidence.use->gain;
        findings.helps = evidence.use->usesContext();
        findings.isGainOpen = !*findings.helps && (!gain.hasInterval() || gain.high > 0.0);
    }
    if (evidence.needle && !evidence.needle->isLeaking &&
        !evidence.needle->absolute.lengths.empty()) {
        const EffectiveLength& length = evidence.needle->absolute;
        findings.reaches = length.tokens >= evidence.tokens;
        findings.failsEverywhere = length.mostTokens == 0;
    }
    return findings;
}

CardVerdict usesVerdict(const UseFindings& findings)
{
    if (!findings.helps && !findings.reaches)
        return CardVerdict::NotMeasured;
    if (findings.helps.value_or(false) && findings.reaches.value_or(false))
        return CardVerdict::Yes;
    const bool lossFails = !findings.helps.value_or(false) && !findings.isGainOpen;
    const bool needleFails = !findings.reaches || findings.failsEverywhere;
    return lossFails && needleFails ? CardVerdict::No : CardVerdict::InPart;
}

std::string effectiveText(const EffectiveLength& length)
{
    if (!length.hasLine())
        return "undecided, as nothing was found alone either,";
    if (length.isDecided())
        return length.tokens == 0 ? "none" : formatCount(length.tokens);
    return (length.tokens == 0 ? "none" : formatCount(length.tokens)) + " to " +
           formatCount(length.mostTokens);
}

std::string proportionText(const Proportion& proportion)
{
    return std::to_string(proportion.correct) + "/" + std::to_string(proportion.trials);
}

/// The two ends by themselves, where both were asked.
std::string endsText(const EndsAgainstMiddle& ends)
{
    if (ends.beginning.trials == 0 || ends.end.trials == 0)
        return {};
    return " (beginning " + proportionText(ends.beginning) + ", end " + proportionText(ends.end) +
           ")";
}

void addNeedleNotes(CardResult& result, const SweepReport& needle)
{
    const EndsAgainstMiddle& ends = needle.endsAgainstMiddle;
    Proportion control;
    for (const SweepColumn& column : needle.columns) {
        control.correct += column.control.score.correct;
        control.trials += column.control.score.trials;
    }
    std::string text = needle.conditions.empty() ? "Facts in filler" : needle.conditions;
    text += ". Ends " + proportionText(ends.ends) + endsText(ends) + ", middle " +
            proportionText(ends.middle) + ", exact two-sided " + probability(ends.p) +
            ". Control " + proportionText(control) + ", fact alone " +
            proportionText(needle.oracle.score) + ".";
    result.notes.push_back({"Test", text});
    for (const SweepColumn& column : needle.columns)
        if (!column.skipReason.empty())
            result.notes.push_back(
                {"Not run", formatCount(column.tokens) + " tokens: " + column.skipReason + "."});
        else if (column.isUnfinished)
            result.notes.push_back({"Not measured", formatCount(column.tokens) +
                                                        " tokens: the search ended before every "
                                                        "depth was asked."});
    if (needle.isLeaking)
        result.notes.push_back({"Leak", "The answer is in the prompt: this search says nothing."});
    if (needle.absolute.lengths.empty()) {
        result.notes.push_back(
            {"Effective length", "Not measured: no length was asked at every depth."});
        return;
    }
    result.notes.push_back(
        {"Effective length", effectiveText(needle.absolute) + " by the absolute line (" +
                                 percent(needle.absolute.threshold) + "), " +
                                 effectiveText(needle.relative) + " by the relative one (" +
                                 percent(needle.relative.threshold) + ")."});
}

std::string gainIntervalText(const SampleMean& gain)
{
    if (!gain.hasInterval())
        return ", no interval,";
    return " [" + signedDecimals(gain.low, 3) + ", " + signedDecimals(gain.high, 3) + "]";
}

void addUseNote(CardResult& result, const UseReport& use)
{
    if (!use.firstSegmentAgrees()) {
        result.notes.push_back({"Past text", "The check failed: segment 0 must not differ. Not "
                                             "counted."});
        return;
    }
    result.notes.push_back({"Past text", std::string(use.gain.mean >= 0.0 ? "lowers" : "raises") +
                                             " loss by " + decimals(std::abs(use.gain.mean), 3) +
                                             " nats" + gainIntervalText(use.gain) + " over " +
                                             formatCount(use.gain.count) +
                                             " segments; segment 0 differs by 0."});
}

std::string usesHeadline(const CardEvidence& evidence, const UseFindings& findings)
{
    if (findings.reaches) {
        const EndsAgainstMiddle& ends = evidence.needle->endsAgainstMiddle;
        if (ends.ends.trials > 0 && ends.middle.trials > 0)
            return "Ends " + percent(ends.ends.rate()) + ", middle " + percent(ends.middle.rate());
        return "Effective length " + effectiveText(evidence.needle->absolute);
    }
    if (!findings.helps)
        return "Not measured";
    if (findings.isGainOpen)
        return "Whether past text lowers loss is undecided";
    return *findings.helps
               ? "Past text lowers loss by " + decimals(evidence.use->gain.mean, 2) + " nats"
               : "Past text does not lower loss";
}

} // namespace

CardResult usesResult(const CardEvidence& evidence)
{
    CardResult result = unmeasuredResult(CardClaim::Uses);
    const UseFindings findings = useFindings(evidence);
    result.plots = usesPlots(evidence);
    result.verdict = usesVerdict(findings);
    result.isMeasured = evidence.use.has_value() || evidence.needle.has_value();
    result.headline = usesHeadline(evidence, findings);
    result.brief = verdictText(result.verdict);
    if (findings.reaches)
        result.condition = "effective: " + effectiveText(evidence.needle->absolute);
    else if (findings.helps)
        result.condition = "past text " + signedDecimals(-evidence.use->gain.mean, 2) + " nats";
    if (evidence.needle)
        addNeedleNotes(result, *evidence.needle);
    else if (result.isMeasured && !isRefused(evidence, CardPart::Needles))
        result.notes.push_back({"Not measured", "The needle search."});
    if (evidence.use)
        addUseNote(result, *evidence.use);
    else if (result.isMeasured && !isRefused(evidence, CardPart::Use))
        result.notes.push_back({"Not measured", "The loss with and without the text before."});
    return result;
}

} // namespace kvscope
