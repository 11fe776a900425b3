#pragma once

#include "engine/session/engine_snapshot.h"
#include "widgets/export_menu.h"

#include <QString>

#include <functional>

class QMenu;
class QWidget;

namespace kvscope {

/// What has to be known to repeat what a plot shows: model, format, compute, device, version, date.
/// One line, for captions. \param tag  how the numbers came about: "measured"
QString recipeLine(const ModelDescription& model, const QString& tag);

/// The same as comment lines that start a CSV file, each beginning with "# ",
/// ended as the table's lines are.
/// \param title, tag  of the plot
QString recipeComment(const ModelDescription& model, const QString& title, const QString& tag);

/// A number as CSV holds it: '.' as decimal point, all digits that tell it apart, empty when NaN.
QString csvNumber(double value);

/// The actions of export_menu.h, and PNG at other resolutions.
void addPlotExportActions(QMenu& menu, QWidget* parent, const std::function<ExportSource()>& source,
                          const ExportReport& report);

} // namespace kvscope
