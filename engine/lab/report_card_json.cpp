#include "engine/lab/report_card_json.h"

#include "engine/base/errors.h"
#include "engine/lab/run_record_file.h"
#include "engine/lab/strict_fields.h"

#include <cmath>
#include <utility>

namespace kvscope {
namespace {

constexpr std::uint64_t kMostBytes = std::uint64_t{16} << 20;
constexpr std::size_t kMostText = 20'000;
constexpr std::size_t kMostItems = 2000;   // notes, plots, series, bars, rows: a map has any number
constexpr std::size_t kMostPoints = 20000; // of a series

RecordJson pointJson(const CardPoint& point)
{
    return {point.x, point.y, point.low, point.high};
}

RecordJson seriesJson(const CardSeries& series)
{
    RecordJson points = RecordJson::array();
    for (const CardPoint& point : series.points)
        points.push_back(pointJson(point));
    return {{"name", series.name},
            {"tone", kCardToneNames.at(static_cast<std::size_t>(series.tone))},
            {"style", kCardStyleNames.at(static_cast<std::size_t>(series.style))},
            {"points", points}}; // [x, y, low, high]
}

RecordJson lineJson(const CardLine& line)
{
    return {{"vertical", line.isVertical},
            {"at", line.at},
            {"text", line.text},
            {"tone", kCardToneNames.at(static_cast<std::size_t>(line.tone))}};
}

RecordJson barJson(const CardBar& bar)
{
    return {{"name", bar.name},
            {"value", bar.value},
            {"text", bar.text},
            {"tone", kCardToneNames.at(static_cast<std::size_t>(bar.tone))}};
}

RecordJson notesJson(const std::vector<CardNote>& notes)
{
    RecordJson list = RecordJson::array();
    for (const CardNote& note : notes)
        list.push_back({{"label", note.label}, {"text", note.text}});
    return list;
}

RecordJson plotJson(const CardPlot& plot)
{
    RecordJson json = {{"kind", kCardPlotKindNames.at(static_cast<std::size_t>(plot.kind))},
                       {"title", plot.title},
                       {"x", plot.xName},
                       {"series", RecordJson::array()},
                       {"lines", RecordJson::array()},
                       {"bars", RecordJson::array()},
                       {"columns", plot.columnNames},
                       {"rows", plot.rowNames},
                       {"cells", RecordJson::array()}}; // [correct, trials] by row
    for (const CardSeries& series : plot.series)
        json["series"].push_back(seriesJson(series));
    for (const CardLine& line : plot.lines)
        json["lines"].push_back(lineJson(line));
    for (const CardBar& bar : plot.bars)
        json["bars"].push_back(barJson(bar));
    for (const auto& row : plot.cells) {
        RecordJson cells = RecordJson::array();
        for (const CardCell& cell : row)
            cells.push_back({cell.correct, cell.trials});
        json["cells"].push_back(cells);
    }
    return json;
}

RecordJson resultJson(const CardResult& result)
{
    RecordJson json = {{"claim", kCardClaimNames.at(static_cast<std::size_t>(result.claim))},
                       {"verdict", kCardVerdictNames.at(static_cast<std::size_t>(result.verdict))},
                       {"headline", result.headline},
                       {"brief", result.brief},
                       {"condition", result.condition},
                       {"measured", result.isMeasured},
                       {"arithmetic", result.hasArithmetic},
                       {"notes", notesJson(result.notes)},
                       {"plots", RecordJson::array()}};
    for (const CardPlot& plot : result.plots)
        json["plots"].push_back(plotJson(plot));
    return json;
}

std::string textOf(const RecordJson& json, const char* key)
{
    return strictText(json, key, kMostText);
}

CardTone toneOf(const RecordJson& json)
{
    return static_cast<CardTone>(strictChoice(json, "tone", kCardToneNames));
}

CardPoint pointFrom(const RecordJson& json)
{
    requireField(json.is_array() && json.size() == 4, "a point is not four numbers");
    for (const RecordJson& number : json) // beyond that, differences overflow
        requireField(std::abs(strictNumber(number)) < 1e300, "a point lies too far out");
    return {json[0].get<double>(), json[1].get<double>(), json[2].get<double>(),
            json[3].get<double>()};
}

CardSeries seriesFrom(const RecordJson& json)
{
    CardSeries series{textOf(json, "name"),
                      toneOf(json),
                      static_cast<CardStyle>(strictChoice(json, "style", kCardStyleNames)),
                      {}};
    for (const RecordJson& point : strictList(json, "points", kMostPoints))
        series.points.push_back(pointFrom(point));
    return series;
}

CardCell cellFrom(const RecordJson& json)
{
    requireField(json.is_array() && json.size() == 2, "a cell is not two counts");
    const CardCell cell{strictCount(json[0]), strictCount(json[1])};
    requireField(cell.correct <= cell.trials, "a cell has more right answers than trials");
    return cell;
}

std::vector<std::string> namesFrom(const RecordJson& json, const char* key)
{
    std::vector<std::string> names;
    for (const RecordJson& name : strictList(json, key, kMostItems)) {
        requireField(name.is_string() && name.get_ref<const std::string&>().size() <= kMostText,
                     std::string(key) + " holds what is no short text");
        names.push_back(name.get<std::string>());
    }
    return names;
}

void takeMap(CardPlot& plot, const RecordJson& json)
{
    plot.columnNames = namesFrom(json, "columns");
    plot.rowNames = namesFrom(json, "rows");
    for (const RecordJson& row : strictList(json, "cells", kMostItems)) {
        std::vector<CardCell> cells;
        requireField(row.is_array() && row.size() == plot.columnNames.size(),
                     "a row of cells is not as long as the columns");
        for (const RecordJson& cell : row)
            cells.push_back(cellFrom(cell));
        plot.cells.push_back(std::move(cells));
    }
    requireField(plot.cells.size() == plot.rowNames.size(), "cells and rows are not equally many");
}

CardPlot plotFrom(const RecordJson& json)
{
    CardPlot plot;
    plot.kind = static_cast<CardPlotKind>(strictChoice(json, "kind", kCardPlotKindNames));
    plot.title = textOf(json, "title");
    plot.xName = textOf(json, "x");
    for (const RecordJson& series : strictList(json, "series", kMostItems))
        plot.series.push_back(seriesFrom(series));
    for (const RecordJson& line : strictList(json, "lines", kMostItems))
        plot.lines.push_back({strictFlag(line, "vertical"), strictNumber(strictAt(line, "at")),
                              textOf(line, "text"), toneOf(line)});
    for (const RecordJson& bar : strictList(json, "bars", kMostItems)) {
        plot.bars.push_back({textOf(bar, "name"), strictNumber(strictAt(bar, "value")),
                             textOf(bar, "text"), toneOf(bar)});
        requireField(plot.bars.back().value > 0.0 && plot.bars.back().value < 1e15,
                     "a bar is not above 0, or too long");
    }
    takeMap(plot, json);
    return plot;
}

std::vector<CardNote> notesFrom(const RecordJson& json, const char* key)
{
    std::vector<CardNote> notes;
    for (const RecordJson& note : strictList(json, key, kMostItems))
        notes.push_back({textOf(note, "label"), textOf(note, "text")});
    return notes;
}

CardResult resultFrom(const RecordJson& json)
{
    CardResult result;
    result.claim = static_cast<CardClaim>(strictChoice(json, "claim", kCardClaimNames));
    result.verdict = static_cast<CardVerdict>(strictChoice(json, "verdict", kCardVerdictNames));
    result.headline = textOf(json, "headline");
    result.brief = textOf(json, "brief");
    result.condition = textOf(json, "condition");
    result.isMeasured = strictFlag(json, "measured");
    result.hasArithmetic = strictFlag(json, "arithmetic");
    result.notes = notesFrom(json, "notes");
    for (const RecordJson& plot : strictList(json, "plots", kMostItems))
        result.plots.push_back(plotFrom(plot));
    return result;
}

} // namespace

RecordJson cardJson(const ReportCard& card)
{
    RecordJson json = {{"line", "card"},
                       {"schema", kReportCardSchema},
                       {"version", kReportCardVersion},
                       {"model", card.model},
                       {"tokens", card.tokens},
                       {"limit_seconds", card.limitSeconds},
                       {"summary", card.summary},
                       {"facts", notesJson(card.facts)},
                       {"claims", RecordJson::array()},
                       {"footnote", card.footnote},
                       {"command", card.command}};
    for (const CardResult& result : card.claims)
        json["claims"].push_back(resultJson(result));
    return json;
}

ReportCard cardFrom(const RecordJson& json)
{
    requireField(json.is_object() && json.value("schema", RecordJson()) == kReportCardSchema,
                 "this is no kvscope card");
    requireField(json.value("version", RecordJson()) == kReportCardVersion,
                 "the card is of another version than this program reads");
    ReportCard card;
    card.model = textOf(json, "model");
    card.tokens = strictCount(strictAt(json, "tokens"));
    card.limitSeconds = strictNumber(strictAt(json, "limit_seconds"));
    card.summary = textOf(json, "summary");
    card.facts = notesFrom(json, "facts");
    card.footnote = textOf(json, "footnote");
    card.command = textOf(json, "command");
    const RecordJson& claims = strictList(json, "claims", kNumCardClaims);
    requireField(claims.size() == kNumCardClaims, "the card does not have five claims");
    for (std::size_t i = 0; i < kNumCardClaims; ++i) {
        card.claims.at(i) = resultFrom(claims[i]);
        requireField(static_cast<std::size_t>(card.claims.at(i).claim) == i,
                     "the card's claims are not in order");
    }
    return card;
}

RecordJson readCardFile(const std::filesystem::path& path)
{
    constexpr int kMostLevels = 32;
    bool isTooDeep = false;
    const auto watch = [&](int depth, RecordJson::parse_event_t, RecordJson&) {
        isTooDeep = isTooDeep || depth > kMostLevels;
        return !isTooDeep;
    };
    const std::string text = readRunRecordText(path, kMostBytes);
    RecordJson json = RecordJson::parse(text, watch, false);
    if (isTooDeep || !json.is_object())
        throw ArgumentError(path.string() + ": is not a JSON object");
    return json;
}

} // namespace kvscope
