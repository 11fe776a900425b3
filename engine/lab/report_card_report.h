#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

// The card: five claims about a context length, each with verdict, number, test and conditions.
// Values, for the page in the window, for exports and for JSON. Texts are for people, UTF-8.

namespace kvscope {

/// Source: long-context chapter, the five claims.
enum class CardClaim { Accepts, Behaves, Fits, InTime, Uses };
inline constexpr std::size_t kNumCardClaims = 5;
/// As JSON spells them, in their order.
inline constexpr std::array<const char*, kNumCardClaims> kCardClaimNames{"accepts", "behaves",
                                                                         "fits", "in_time", "uses"};

enum class CardVerdict { Yes, InPart, No, NotMeasured };
inline constexpr std::array<const char*, 4> kCardVerdictNames{"yes", "in_part", "no",
                                                              "not_measured"};

/// What a mark stands for, by colour; the view knows which.
enum class CardTone {
    Main,    ///< what the claim is about
    Second,  ///< what it is compared with
    Third,   ///< a further comparison
    Neutral, ///< arithmetic
    Limit,   ///< a line not to be crossed
};
inline constexpr std::array<const char*, 5> kCardToneNames{"main", "second", "third", "neutral",
                                                           "limit"};

/// A point and its 95 % interval, which is the point itself where there is none.
struct CardPoint
{
    double x = 0.0;
    double y = 0.0;
    double low = 0.0;
    double high = 0.0;
};

/// How a series is drawn: fits and arithmetic are lines, measurements marks.
enum class CardStyle {
    Line,   ///< measured, too many points for marks
    Marks,  ///< a mark a point, joined
    Dashed, ///< arithmetic, or a fit
    Hollow, ///< held out of the fit
};
inline constexpr std::array<const char*, 4> kCardStyleNames{"line", "marks", "dashed", "hollow"};

struct CardSeries
{
    std::string name;
    CardTone tone = CardTone::Main;
    CardStyle style = CardStyle::Line;
    std::vector<CardPoint> points; ///< by x, rising
};

/// A line across the plot at one value.
struct CardLine
{
    bool isVertical = false;
    double at = 0.0;
    std::string text;
    CardTone tone = CardTone::Neutral;
};

/// One horizontal bar.
struct CardBar
{
    std::string name;
    double value = 0.0;
    std::string text;
    CardTone tone = CardTone::Main;
};

/// One length and depth of the needle map.
struct CardCell
{
    std::int64_t correct = 0;
    std::int64_t trials = 0; ///< 0: it was not run, or cannot fit
};

enum class CardPlotKind {
    Bars,    ///< `bars`, on a logarithmic axis
    Lines,   ///< `series` over x, with `lines`
    Columns, ///< the first series as columns with intervals
    Depths,  ///< the first series as dots with intervals: y is the depth in per cent
    Map,     ///< `cells`, by row and column
};
inline constexpr std::array<const char*, 5> kCardPlotKindNames{"bars", "lines", "columns", "depths",
                                                               "map"};

struct CardPlot
{
    CardPlotKind kind = CardPlotKind::Lines;
    std::string title; ///< with the unit of y: "Loss, nats per token"
    std::string xName; ///< "position"
    std::vector<CardSeries> series;
    std::vector<CardLine> lines;
    std::vector<CardBar> bars;
    std::vector<std::string> columnNames;     ///< Map: lengths
    std::vector<std::string> rowNames;        ///< Map: depths, then "control"
    std::vector<std::vector<CardCell>> cells; ///< Map: by row, then column
};

/// A labelled sentence: "Test", "Best of 3 at 7,680 tokens; ...".
struct CardNote
{
    std::string label;
    std::string text;
};

/// One claim.
struct CardResult
{
    CardClaim claim = CardClaim::Accepts;
    CardVerdict verdict = CardVerdict::NotMeasured;
    std::string headline;  ///< "18.3 s to the first token"
    std::string brief;     ///< for the strip: "18.3 s"
    std::string condition; ///< under it: "first token at 7,680; limit 30"
    bool isMeasured = false;
    bool hasArithmetic = false; ///< beside what is measured
    std::vector<CardNote> notes;
    std::vector<CardPlot> plots;
};

/// Five claims about one context length of one model on one machine.
struct ReportCard
{
    std::string model;                             ///< "SmolLM2-135M-Instruct"
    std::int64_t tokens = 0;                       ///< the length that the claims are about
    double limitSeconds = 30.0;                    ///< that the first token may take
    std::string summary;                           ///< two sentences
    std::vector<CardNote> facts;                   ///< file, hash, numbers, machine, ...
    std::array<CardResult, kNumCardClaims> claims; ///< in the order of CardClaim
    std::string footnote;
    std::string command; ///< that makes the card anew
};

/// "It accepts the tokens".
inline const char* claimTitle(CardClaim claim)
{
    constexpr std::array<const char*, kNumCardClaims> kTitles{
        "It accepts the tokens", "It behaves at those positions", "It fits", "It answers in time",
        "It uses what it is given"};
    return kTitles.at(static_cast<std::size_t>(claim));
}

/// "Yes", "In part", "No", "Not measured".
inline const char* verdictText(CardVerdict verdict)
{
    constexpr std::array<const char*, 4> kTexts{"Yes", "In part", "No", "Not measured"};
    return kTexts.at(static_cast<std::size_t>(verdict));
}

} // namespace kvscope
