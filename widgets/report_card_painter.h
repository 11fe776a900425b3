#pragma once

#include "engine/lab/report_card_report.h"
#include "widgets/export_menu.h"

#include <QByteArray>
#include <QColor>
#include <QRectF>
#include <QString>

#include <memory>
#include <vector>

class QPainter;

namespace kvscope {

struct Theme;

/// The page in its own units: A4 portrait.
inline constexpr double kCardWidth = 1100.0;
inline constexpr double kCardHeight = 1556.0;

/// "✓", "◐", "✕" or "–", which always stands beside the verdict's colour.
QString verdictGlyph(CardVerdict verdict);
QColor verdictColor(CardVerdict verdict, const Theme& theme);

/// Draws the whole card, scaled to the area's width, on white paper: the light theme, always.
void paintReportCard(QPainter& painter, const QRectF& area, const ReportCard& card);

/// The card as PNG, SVG and PDF (one A4 page), and its verdicts as CSV. \param card  not null
ExportSource cardExportSource(std::shared_ptr<const ReportCard> card);

/// Plots alone, one below the other. \param caption  the recipe
ExportSource cardPlotsExportSource(std::vector<CardPlot> plots, const QString& caption);

/// One plot as an SVG element, for HTML. Wants a QGuiApplication.
QByteArray cardPlotSvg(const CardPlot& plot);

} // namespace kvscope
