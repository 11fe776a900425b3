#pragma once

#include "engine/lab/latency_report.h"
#include "engine/lab/limits_report.h"
#include "engine/lab/peak_memory_report.h"
#include "engine/lab/positions_report.h"
#include "engine/lab/report_card_report.h"
#include "engine/lab/sweep_report.h"
#include "engine/lab/use_report.h"

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace kvscope {

/// The first token may take this long where nobody says otherwise.
inline constexpr double kCardLimitSeconds = 30.0;

/// What is measured for a card, in this order.
enum class CardPart { Peaks, Latency, Positions, Use, Needles };
/// "peak memory", "needle search".
const char* partTitle(CardPart part);

/// A part that was tried and could not be measured.
struct CardRefusal
{
    CardPart part = CardPart::Peaks;
    std::string reason; ///< "4,096 tokens need ..."
};

/// What is known of a model at a length: whatever was measured. An absent report is "not measured".
struct CardEvidence
{
    std::string model;
    std::int64_t tokens = 0; ///< the length that the claims are about
    double limitSeconds = kCardLimitSeconds;
    std::int64_t trainedPositions = 0; ///< 0: the file does not say
    std::vector<CardNote> facts;
    std::string command;
    std::vector<CardRefusal> refusals; ///< noted under the claims that go without

    std::optional<PositionsReport> positions;
    std::optional<LimitsReport> limits; ///< arithmetic, with the free memory as its budget
    std::optional<PeakReport> peaks;
    std::optional<LatencyReport> latency;
    std::optional<UseReport> use;
    std::optional<SweepReport> needle;
};

/// The longest prompt that any of the reports ran to its end; 0 where none did.
std::int64_t longestRun(const CardEvidence& evidence);

/// Yes: a prompt of the length ran uncut. In part: shorter ones did, and the length was not tried.
/// No: the length was refused.
CardResult acceptsResult(const CardEvidence& evidence);
/// Yes: the last bin, with its interval, is within kBehavesNats of the first half's mean. No: it
/// lies above, with its interval. In part: the losses do not decide it
/// (PositionsSeries::isDecided), or the text was shorter than the length.
CardResult behavesResult(const CardEvidence& evidence);
/// Yes: the measured peak of a prefill in chunks, of the length or a longer one, is at most what
/// was free. No: it is more, or the length was refused for memory. In part: a shorter length was
/// measured.
CardResult fitsResult(const CardEvidence& evidence);
/// Yes: the first token of the length or a longer one came within the limit. No: it did not. In
/// part: a shorter prompt answered in time, or every run of the length was disturbed by other load
/// and came too late.
CardResult inTimeResult(const CardEvidence& evidence);
/// Yes: the whole text lowers the loss (the gain's interval above 0), and the effective length by
/// the absolute line is the length. No: neither, the gain's interval not above 0 anywhere and every
/// measured length failing. In part: anything between, or one of the two was not measured.
CardResult usesResult(const CardEvidence& evidence);

/// The five claims with their texts and plots. Pure: the same evidence gives the same card.
/// Source: long-context chapter, the five claims.
ReportCard reportCard(const CardEvidence& evidence);

// The plots of each claim, from what was measured (report_card_plots.cpp).
std::vector<CardPlot> acceptsPlots(const CardEvidence& evidence);
std::vector<CardPlot> behavesPlots(const CardEvidence& evidence);
std::vector<CardPlot> fitsPlots(const CardEvidence& evidence);
std::vector<CardPlot> inTimePlots(const CardEvidence& evidence);
std::vector<CardPlot> usesPlots(const CardEvidence& evidence);

} // namespace kvscope
