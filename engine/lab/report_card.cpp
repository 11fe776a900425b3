#include "engine/lab/report_card.h"

#include "engine/base/units.h"
#include "engine/lab/report_card_text.h"

#include <algorithm>
#include <array>
#include <cmath>

namespace kvscope {
namespace {

/// The claim that goes without the part.
CardClaim claimOf(CardPart part)
{
    constexpr std::array<CardClaim, 5> kClaims{
        CardClaim::Fits, CardClaim::InTime, CardClaim::Behaves, CardClaim::Uses, CardClaim::Uses};
    return kClaims.at(static_cast<std::size_t>(part));
}

const PeakRow* peakAt(const PeakReport& report, PrefillWay way, std::int64_t tokens)
{
    for (const PeakRow& row : report.rows)
        if (row.way == way && row.tokens == tokens)
            return &row;
    return nullptr;
}

/// Why a prompt of the length was not run; empty where nothing says so.
std::string refusalOf(const CardEvidence& evidence)
{
    if (evidence.latency)
        for (const FirstTokenRow& row : evidence.latency->firstToken)
            if (row.tokens == evidence.tokens && row.isSkipped())
                return row.skipReason;
    if (evidence.peaks)
        if (const PeakRow* row = peakAt(*evidence.peaks, PrefillWay::Chunked, evidence.tokens))
            return row->skipReason;
    return {};
}

bool isAnythingRun(const CardEvidence& evidence)
{
    return evidence.positions || evidence.peaks || evidence.latency || evidence.use ||
           evidence.needle;
}

/// The half width of the interval of last bin less first half.
double riseReach(const PositionsSeries& series)
{
    return std::hypot(series.lastBin.high - series.lastBin.mean,
                      series.firstHalf.high - series.firstHalf.mean);
}

CardVerdict behavesVerdict(const PositionsSeries& series, std::int64_t ran, std::int64_t wanted)
{
    if (!series.isDecided())
        return CardVerdict::InPart;
    if (!series.behaves())
        return CardVerdict::No;
    return ran >= wanted ? CardVerdict::Yes : CardVerdict::InPart;
}

bool fitsIn(const PeakRow& row, std::uint64_t freeBytes)
{
    return freeBytes == 0 || row.measuredBytes <= freeBytes;
}

/// Whether `tokens` say more about `wanted` than `other` do: the length itself, else a longer one,
/// which holds it, the shortest, else the longest shorter one.
bool isCloser(std::int64_t tokens, std::int64_t other, std::int64_t wanted)
{
    const bool reaches = tokens >= wanted;
    if (reaches != (other >= wanted))
        return reaches;
    return reaches ? tokens < other : tokens > other;
}

/// The chunked row that decides; a longer one does so only where it fits. Null: none ran.
const PeakRow* peakRowFor(const PeakReport& report, std::int64_t tokens)
{
    const PeakRow* best = nullptr;
    for (const PeakRow& row : report.rows) {
        const bool decides =
            row.tokens == tokens ||
            (!row.isSkipped() && (row.tokens < tokens || fitsIn(row, report.freeBytes)));
        if (row.way == PrefillWay::Chunked && decides &&
            (best == nullptr || isCloser(row.tokens, best->tokens, tokens)))
            best = &row;
    }
    return best;
}

/// The fastest way of the length that decides; a longer one does so only where it came in time.
/// Null: none ran.
const FirstTokenRow* firstTokenRowFor(const CardEvidence& evidence)
{
    const FirstTokenRow* best = nullptr;
    for (const FirstTokenRow& row : evidence.latency->firstToken) {
        if (row.isSkipped() ||
            (row.tokens > evidence.tokens && row.bestSeconds > evidence.limitSeconds))
            continue;
        if (best == nullptr || isCloser(row.tokens, best->tokens, evidence.tokens) ||
            (row.tokens == best->tokens && row.bestSeconds < best->bestSeconds))
            best = &row;
    }
    return best;
}

CardVerdict inTimeVerdict(const FirstTokenRow& row, const CardEvidence& evidence)
{
    if (row.bestSeconds > evidence.limitSeconds)
        return row.isDisturbed ? CardVerdict::InPart : CardVerdict::No;
    return row.tokens >= evidence.tokens ? CardVerdict::Yes : CardVerdict::InPart;
}

std::string chunkText(std::int64_t chunkTokens)
{
    return chunkTokens == 0 ? "one shot" : "chunks of " + formatCount(chunkTokens);
}

std::string decodeText(const LatencyReport& report)
{
    const auto oneText = [](const DecodeStepRow& row) {
        return decimals(row.medianSeconds * 1e3, 1) + " ms at " + formatCount(row.cachedTokens) +
               " cached" +
               (row.floorSeconds > 0.0
                    ? " (bytes alone " + decimals(row.floorSeconds * 1e3, 1) + " ms)"
                    : "");
    };
    std::string text = oneText(report.decode.front());
    if (report.decode.size() > 1)
        text += ", " + oneText(report.decode.back());
    if (report.isBandwidthDisturbed)
        text += "; the bandwidth was measured under other load";
    return text + ".";
}

std::int64_t numDisturbed(const LatencyReport& report)
{
    std::int64_t count = 0;
    for (const FirstTokenRow& row : report.firstToken)
        count += std::count_if(row.runs.begin(), row.runs.end(),
                               [](const TimedRun& run) { return run.isDisturbed(); });
    for (const DecodeStepRow& row : report.decode)
        count += row.numDisturbed;
    return count;
}

std::string statement(const CardResult& result, const char* yes, const char* part, const char* no)
{
    switch (result.verdict) {
    case CardVerdict::Yes:
        return yes;
    case CardVerdict::InPart:
        return part;
    case CardVerdict::No:
        return no;
    case CardVerdict::NotMeasured:
        break;
    }
    return {};
}

/// What "in part" of the fourth claim comes to: a length that came late with no undisturbed run is
/// no answer in time of a shorter one.
const char* inTimeInPart(const CardEvidence& evidence)
{
    const FirstTokenRow* row = evidence.latency ? firstTokenRowFor(evidence) : nullptr;
    return row != nullptr && row->bestSeconds > evidence.limitSeconds
               ? "answers too late beside other load"
               : "answers shorter prompts within the limit";
}

std::string summaryOf(const ReportCard& card, const CardEvidence& evidence)
{
    const std::string tokens = formatCount(card.tokens);
    std::vector<std::string> parts;
    const auto add = [&parts](const std::string& part) {
        if (!part.empty())
            parts.push_back(part);
    };
    const auto& claims = card.claims;
    add(statement(claims[0], ("takes " + tokens + " tokens").c_str(),
                  ("takes fewer than the " + tokens + " tokens asked").c_str(),
                  ("refuses " + tokens + " tokens").c_str()));
    add(statement(claims[1], "stays steady over them", "stays steady over part of them",
                  "loses its way in them"));
    add(statement(claims[2], "fits", "fits as far as it was run", "does not fit"));
    add(statement(claims[3], "answers within the limit", inTimeInPart(evidence),
                  "answers too late"));
    std::string text;
    for (std::size_t i = 0; i < parts.size(); ++i)
        text += (i == 0                  ? "On this machine it "
                 : i + 1 == parts.size() ? " and "
                                         : ", ") +
                parts[i];
    if (!text.empty())
        text += ". ";
    return text + statement(claims[4], "It uses all of it.",
                            "It uses part of what it is given, as far as that was tested.",
                            "It does not use what lies far back.");
}

} // namespace

const char* partTitle(CardPart part)
{
    constexpr std::array<const char*, 5> kTitles{
        "peak memory", "first token and decode step", "loss by position",
        "loss with and without the text before", "needle search"};
    return kTitles.at(static_cast<std::size_t>(part));
}

std::int64_t longestRun(const CardEvidence& evidence)
{
    std::int64_t longest = evidence.positions ? evidence.positions->tokens : 0;
    if (evidence.latency)
        for (const FirstTokenRow& row : evidence.latency->firstToken)
            if (!row.isSkipped())
                longest = std::max(longest, row.tokens);
    if (evidence.peaks)
        for (const PeakRow& row : evidence.peaks->rows)
            if (!row.isSkipped())
                longest = std::max(longest, row.tokens);
    if (evidence.use)
        longest = std::max(longest, evidence.use->tokens);
    if (evidence.needle)
        for (const SweepColumn& column : evidence.needle->columns)
            if (column.pooled.score.trials > 0)
                longest = std::max(longest, column.tokens);
    return longest;
}

CardResult acceptsResult(const CardEvidence& evidence)
{
    CardResult result = unmeasuredResult(CardClaim::Accepts);
    result.plots = acceptsPlots(evidence);
    result.hasArithmetic = evidence.limits && evidence.limits->budget;
    if (!isAnythingRun(evidence))
        return result;
    const std::int64_t ran = longestRun(evidence);
    const std::string refusal = ran >= evidence.tokens ? "" : refusalOf(evidence);
    result.isMeasured = true;
    result.verdict = ran >= evidence.tokens ? CardVerdict::Yes
                     : !refusal.empty()     ? CardVerdict::No
                     : ran > 0              ? CardVerdict::InPart
                                            : CardVerdict::NotMeasured;
    result.brief = verdictText(result.verdict);
    const bool takesMore = ran > evidence.tokens;
    result.headline =
        result.verdict == CardVerdict::Yes
            ? formatCount(evidence.tokens) + " tokens" + (takesMore ? ", and takes more" : "")
            : formatCount(ran) + " of " + formatCount(evidence.tokens) + " tokens";
    result.condition = evidence.trainedPositions > 0
                           ? "trained on " + formatCount(evidence.trainedPositions)
                           : "trained length not stated";
    result.notes.push_back(
        {"Test",
         "The longest prompt run to its end had " + formatCount(ran) + " tokens" +
             (refusal.empty() ? ". Nothing was cut or refused." : "; refused: " + refusal + ".")});
    if (evidence.trainedPositions > 0 && ran > evidence.trainedPositions)
        result.notes.push_back(
            {"Note", formatCount(ran) +
                         " runs without an error although the "
                         "model was trained on " +
                         formatCount(evidence.trainedPositions) +
                         ". Taking tokens says nothing about the other claims."});
    return result;
}

CardResult behavesResult(const CardEvidence& evidence)
{
    CardResult result = unmeasuredResult(CardClaim::Behaves);
    if (!evidence.positions || evidence.positions->series.empty())
        return result;
    const PositionsReport& report = *evidence.positions;
    const PositionsSeries& series = report.series.front();
    result.isMeasured = true;
    result.plots = behavesPlots(evidence);
    result.verdict = behavesVerdict(series, report.tokens, evidence.tokens);
    const std::string rise = signedDecimals(series.rise(), 2);
    result.headline = series.behaves() ? "Loss steady to " + formatCount(report.tokens)
                                       : "Loss rises by " + decimals(series.rise(), 2) + " nats";
    result.brief = series.behaves() ? "To " + formatCount(report.tokens) : rise + " nats";
    result.condition = "last bin " + rise + " nats, line " + decimals(kBehavesNats, 1);
    result.notes.push_back(
        {"Test", "Loss of every position of one text of " + formatCount(report.tokens) +
                     " tokens in " + std::to_string(series.bins.size()) +
                     " bins, 95 % intervals, " + chunkText(series.chunkTokens) + "."});
    result.notes.push_back({"Last bin", decimals(series.lastBin.mean, 2) + " nats, first half " +
                                            decimals(series.firstHalf.mean, 2) + ": " + rise +
                                            " ± " + decimals(riseReach(series), 2) + "."});
    for (std::size_t i = 1; i < report.series.size(); ++i)
        result.notes.push_back({report.series[i].name(),
                                signedDecimals(report.series[i].rise(), 2) + " nats, last bin " +
                                    decimals(report.series[i].lastBin.mean, 2) + "."});
    if (report.tokens < evidence.tokens)
        result.notes.push_back(
            {"Limit", "The text was shorter than " + formatCount(evidence.tokens) + " tokens."});
    return result;
}

CardResult fitsResult(const CardEvidence& evidence)
{
    CardResult result = unmeasuredResult(CardClaim::Fits);
    result.plots = fitsPlots(evidence);
    result.hasArithmetic = evidence.limits.has_value() || evidence.peaks.has_value();
    if (evidence.limits && evidence.limits->budget)
        result.notes.push_back(
            {"Arithmetic",
             "Cache " + formatBytes(evidence.limits->cacheBytesPerLayer) + " a token in each of " +
                 std::to_string(evidence.limits->numLayers) + " layers; longest context in " +
                 formatBytes(evidence.limits->budget->budgetBytes) + " with the weights: " +
                 (evidence.limits->budget->isUnbounded
                      ? std::string("any")
                      : formatCount(evidence.limits->budget->longestContext)) +
                 "."});
    const PeakRow* row = evidence.peaks ? peakRowFor(*evidence.peaks, evidence.tokens) : nullptr;
    if (row == nullptr)
        return result;
    const std::uint64_t freeBytes = evidence.peaks->freeBytes;
    result.isMeasured = true;
    if (row->isSkipped()) {
        result.verdict = CardVerdict::No;
        result.headline = "Not at " + formatCount(row->tokens);
        result.brief = "No";
        result.condition = "at " + formatCount(row->tokens);
        result.notes.insert(result.notes.begin(),
                            {"Test", "Not attempted: " + row->skipReason + "."});
        return result;
    }
    result.verdict = !fitsIn(*row, freeBytes)         ? CardVerdict::No
                     : row->tokens >= evidence.tokens ? CardVerdict::Yes
                                                      : CardVerdict::InPart;
    result.headline = formatBytes(row->measuredBytes) + " at " + formatCount(row->tokens);
    result.brief = formatBytes(row->measuredBytes);
    result.condition =
        "at " + formatCount(row->tokens) + ", of " + formatBytes(freeBytes) + " free";
    std::string test = "Peak memory of a prefill above the loaded model, " +
                       chunkText(row->chunkTokens) + "; predicted " +
                       formatBytes(row->predictedBytes) + ", of which cache " +
                       formatBytes(row->cacheBytes) + ".";
    result.notes.insert(result.notes.begin(), {"Test", test});
    for (const PeakGrowth& growth : evidence.peaks->growth)
        if (growth.way == PrefillWay::OneShot || growth.way == PrefillWay::Chunked)
            result.notes.push_back({growth.way == PrefillWay::OneShot ? "One shot" : "Chunks",
                                    signedDecimals(growth.bytesPerToken / 1024.0, 1) +
                                        " KiB a token beside the cache."});
    return result;
}

CardResult inTimeResult(const CardEvidence& evidence)
{
    CardResult result = unmeasuredResult(CardClaim::InTime);
    const FirstTokenRow* row = evidence.latency ? firstTokenRowFor(evidence) : nullptr;
    if (row == nullptr)
        return result;
    const LatencyReport& report = *evidence.latency;
    result.isMeasured = true;
    result.plots = inTimePlots(evidence);
    result.verdict = inTimeVerdict(*row, evidence);
    result.headline = formatSeconds(row->bestSeconds) + " to the first token";
    result.brief = formatSeconds(row->bestSeconds);
    result.condition = "first token at " + formatCount(row->tokens) + "; limit " +
                       decimals(evidence.limitSeconds, 0) + " s";
    std::string test = "Best of " + std::to_string(row->runs.size()) + " at " +
                       formatCount(row->tokens) + " tokens, " + chunkText(row->chunkTokens) + ".";
    for (const HeldOutFit& fit : report.fits)
        if (fit.chunkTokens == row->chunkTokens && fit.heldOutTokens == row->tokens)
            test += " The fit on shorter prompts said " + formatSeconds(fit.predictedSeconds) +
                    " (error " + signedDecimals(100.0 * fit.error(), 1) + " %).";
    result.notes.push_back({"Test", test});
    if (!report.decode.empty())
        result.notes.push_back({"Decode", decodeText(report)});
    if (const std::int64_t left = numDisturbed(report); left > 0)
        result.notes.push_back(
            {"Left out", std::to_string(left) + " runs and steps under other load." +
                             (row->isDisturbed ? " All of this length were." : "")});
    return result;
}

ReportCard reportCard(const CardEvidence& evidence)
{
    ReportCard card;
    card.model = evidence.model;
    card.tokens = evidence.tokens;
    card.limitSeconds = evidence.limitSeconds;
    card.facts = evidence.facts;
    card.command = evidence.command;
    card.claims = {acceptsResult(evidence), behavesResult(evidence), fitsResult(evidence),
                   inTimeResult(evidence), usesResult(evidence)};
    for (const CardRefusal& refusal : evidence.refusals)
        card.claims.at(static_cast<std::size_t>(claimOf(refusal.part)))
            .notes.push_back(
                {"Not measured", partTitle(refusal.part) + (": " + refusal.reason) + "."});
    card.summary = summaryOf(card, evidence);
    card.footnote = "A single-fact search is the easiest long-context task; it says “retrieves”, "
                    "not “understands”. Intervals: 95 %.";
    return card;
}

} // namespace kvscope
