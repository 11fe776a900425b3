#pragma once

#include "engine/lab/report_card_report.h"

#include <QColor>

#include <vector>

class QPainter;
class QRectF;

namespace kvscope {

struct Theme;

/// Room that a plot takes beside others, in parts.
double cardPlotWeight(const CardPlot& plot);

/// Draws one plot of a card into the area, title and axes included, in the page's units. No
/// clipping, so that SVG shows the same. A plot without data keeps its frame.
void paintCardPlot(QPainter& painter, const QRectF& area, const CardPlot& plot, const Theme& theme);

QColor cardToneColor(CardTone tone, const Theme& theme);

/// Round numbers from 0 or the next one below `low` to the next one above `high`, about `wanted`
/// of them. \pre low <= high, both finite
std::vector<double> roundTicks(double low, double high, int wanted);

/// "512", "8K", "0.25": short, for an axis.
QString axisText(double value);

} // namespace kvscope
