#pragma once

#include "engine/lab/report_card_report.h"

#include <functional>
#include <string>

namespace kvscope {

/// A plot as inline SVG, or nothing where it cannot be drawn.
using CardPlotSvg = std::function<std::string(const CardPlot&)>;

/// A card as one HTML file that needs no other: text, a table of each plot's numbers, and the plots
/// where `svg` draws them. Everything from the card is escaped.
/// \param svg  may be empty: then the page says that it has no plots
std::string cardHtml(const ReportCard& card, const CardPlotSvg& svg);

} // namespace kvscope
