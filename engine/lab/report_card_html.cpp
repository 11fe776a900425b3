#include "engine/lab/report_card_html.h"

#include "engine/base/units.h"
#include "engine/lab/report_card_text.h"

#include <cmath>

namespace kvscope {
namespace {

constexpr const char* kStyle =
    R"(body{font:14px/1.45 "Noto Sans",system-ui,sans-serif;color:#1a2026;
background:#fff;max-width:60em;margin:2em auto;padding:0 1em}
h1{font-size:1.7em;margin:.1em 0}h2{font-size:1.05em;margin:0}
.lead{color:#46505a}.verdicts{display:flex;flex-wrap:wrap;border:1px solid #cdd3d8;margin:1em 0}
.verdicts div{flex:1 1 9em;padding:.5em .8em;border-left:1px solid #cdd3d8}
.verdicts div:first-child{border-left:0}.small{color:#66717c;font-size:.85em}
section{border-top:1px solid #cdd3d8;padding:1em 0}.headline{font-size:1.4em;font-weight:bold}
.tag{border:1px solid #cdd3d8;border-radius:2px;padding:0 .4em;font-size:.8em;color:#46505a}
.yes{color:#147a5c}.in_part{color:#8f6400}.no{color:#ae2a1e}.not_measured{color:#66717c}
table{border-collapse:collapse;font:12px "JetBrains Mono",monospace;margin:.4em 0}
td,th{padding:.1em .7em;text-align:right;border-bottom:1px solid #e9ecef}
figure{margin:.6em 0}svg{max-width:100%;height:auto}dt{float:left;width:6em;color:#66717c}
dd{margin-left:6em}details summary{cursor:pointer;color:#46505a})";

const char* glyphOf(CardVerdict verdict)
{
    switch (verdict) {
    case CardVerdict::Yes:
        return "✓";
    case CardVerdict::InPart:
        return "◐";
    case CardVerdict::No:
        return "✕";
    case CardVerdict::NotMeasured:
        break;
    }
    return "–";
}

std::string escaped(const std::string& text)
{
    std::string safe;
    for (const char c : text) {
        switch (c) {
        case '&':
            safe += "&amp;";
            break;
        case '<':
            safe += "&lt;";
            break;
        case '>':
            safe += "&gt;";
            break;
        case '"':
            safe += "&quot;";
            break;
        default:
            safe += c;
        }
    }
    return safe;
}

std::string cell(const std::string& text)
{
    return "<td>" + escaped(text) + "</td>";
}

std::string head(const std::string& text)
{
    return "<th>" + escaped(text) + "</th>";
}

/// Enough digits for a table, without zeros that say nothing.
std::string number(double value)
{
    if (value == std::floor(value) && std::abs(value) < 1e15)
        return formatCount(static_cast<std::int64_t>(value));
    return decimals(value, std::abs(value) < 10.0 ? 3 : 1);
}

std::string seriesTable(const CardPlot& plot)
{
    const bool hasDepths = plot.kind == CardPlotKind::Depths;
    std::string html = "<table><tr>" + head(hasDepths ? "depth, %" : plot.xName) + head("series") +
                       head(plot.title) + head("95 % interval") + "</tr>";
    for (const CardSeries& series : plot.series)
        for (const CardPoint& point : series.points)
            html +=
                "<tr>" + cell(number(hasDepths ? point.y : point.x)) + cell(series.name) +
                cell(number(hasDepths ? point.x : point.y)) +
                cell(point.low == point.high ? "–"
                                             : number(point.low) + " to " + number(point.high)) +
                "</tr>";
    return html + "</table>";
}

std::string mapTable(const CardPlot& plot)
{
    std::string html = "<table><tr>" + head("depth");
    for (const std::string& name : plot.columnNames)
        html += head(name);
    html += "</tr>";
    for (std::size_t row = 0; row < plot.cells.size(); ++row) {
        html += "<tr>" + cell(plot.rowNames[row]);
        for (const CardCell& one : plot.cells[row])
            html +=
                cell(one.trials > 0 ? std::to_string(one.correct) + "/" + std::to_string(one.trials)
                                    : "");
        html += "</tr>";
    }
    return html + "</table>";
}

std::string barTable(const CardPlot& plot)
{
    std::string html = "<table>";
    for (const CardBar& bar : plot.bars)
        html += "<tr>" + cell(bar.name) + cell(bar.text) + "</tr>";
    return html + "</table>";
}

std::string numbersOf(const CardPlot& plot)
{
    switch (plot.kind) {
    case CardPlotKind::Map:
        return mapTable(plot);
    case CardPlotKind::Bars:
        return barTable(plot);
    default:
        return seriesTable(plot);
    }
}

std::string plotHtml(const CardPlot& plot, const CardPlotSvg& svg)
{
    std::string html = "<figure>";
    if (svg)
        html += svg(plot);
    const std::string name = plot.title.empty() ? "Numbers" : plot.title;
    return html + "<details" + (svg ? "" : " open") + "><summary>" + escaped(name) + "</summary>" +
           numbersOf(plot) + "</details></figure>";
}

std::string mark(const CardResult& result)
{
    const char* name = kCardVerdictNames.at(static_cast<std::size_t>(result.verdict));
    return std::string("<span class=\"") + name + "\" title=\"" + verdictText(result.verdict) +
           "\">" + glyphOf(result.verdict) + "</span> ";
}

std::string claimHtml(const CardResult& result, std::size_t index, const CardPlotSvg& svg)
{
    std::string html =
        "<section><h2>" + std::to_string(index + 1) + " " + claimTitle(result.claim) + " ";
    if (result.isMeasured)
        html += "<span class=\"tag\">measured</span> ";
    if (result.hasArithmetic)
        html += "<span class=\"tag\">dashed grey: arithmetic</span>";
    html += "</h2><p class=\"headline\">" + mark(result) + escaped(result.headline) + "</p>";
    for (const CardNote& note : result.notes)
        html += "<p><b>" + escaped(note.label) + ".</b> " + escaped(note.text) + "</p>";
    for (const CardPlot& plot : result.plots)
        html += plotHtml(plot, svg);
    return html + "</section>\n";
}

std::string stripHtml(const ReportCard& card)
{
    constexpr const char* kShort[] = {"Accepts", "Behaves", "Fits", "In time", "Uses"};
    std::string html = "<div class=\"verdicts\">";
    for (std::size_t i = 0; i < card.claims.size(); ++i)
        html += std::string("<div><span class=\"small\">") + kShort[i] + "</span><br><b>" +
                mark(card.claims.at(i)) + escaped(card.claims.at(i).brief) +
                "</b><br><span class=\"small\">" + escaped(card.claims.at(i).condition) +
                "</span></div>";
    return html + "</div>\n";
}

} // namespace

std::string cardHtml(const ReportCard& card, const CardPlotSvg& svg)
{
    const std::string title = escaped(card.model) + ", " + formatCount(card.tokens) + " tokens";
    std::string html = "<!DOCTYPE html>\n<html lang=\"en\"><head><meta charset=\"utf-8\"><title>" +
                       title + "</title><style>" + kStyle + "</style></head><body>\n" +
                       "<p class=\"small\">Five claims about a context length</p><h1>" + title +
                       "</h1><p class=\"lead\">" + escaped(card.summary) + "</p><dl>";
    for (const CardNote& fact : card.facts)
        html += "<dt>" + escaped(fact.label) + "</dt><dd>" + escaped(fact.text) + "</dd>";
    html += "</dl>\n" + stripHtml(card);
    if (!svg)
        html += "<p class=\"small\">Without plots: this build has no window, which draws "
                "them.</p>\n";
    for (std::size_t i = 0; i < card.claims.size(); ++i)
        html += claimHtml(card.claims.at(i), i, svg);
    return html + "<p class=\"small\">" + escaped(card.footnote) + "<br><code>" +
           escaped(card.command) + "</code></p></body></html>\n";
}

} // namespace kvscope
