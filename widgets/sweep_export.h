#pragma once

#include "engine/lab/sweep_report.h"
#include "widgets/export_menu.h"
#include "widgets/snapshot_table.h"
#include "widgets/sweep_map_painter.h"

#include <QByteArray>
#include <QSizeF>
#include <QString>

#include <memory>
#include <optional>

class QPainter;
class QRectF;

namespace kvscope {

struct Theme;

/// A row a cell, in the order of allCells(): length, depth, k, n, interval, verdict, kinds, and for
/// what cannot fit the reason. Numbers are plain.
SnapshotTable sweepTable(const SweepReport& report);

/// A row a trial, in the order they were run.
SnapshotTable sweepTrialsTable(const SweepReport& report);

/// sweepTable() as CSV, after comment lines with the conditions.
/// \param caption  the recipe: model, hash, device, numbers, seed, version, date
QString sweepCsv(const SweepReport& report, const QString& caption);

/// Everything a report holds, as one JSON object.
QByteArray sweepJson(const SweepReport& report, const QString& caption);

/// The room of the whole map as a picture: title, map, conditions.
QSizeF sweepPictureSize(const SweepReport& report);

/// Draws title, map and conditions into `area`, every length in sight.
void paintSweepPicture(QPainter& painter, const QRectF& area, const SweepReport& report,
                       SweepMapMode mode, const Theme& theme);

/// The map as PNG, SVG, PDF, CSV and JSON. \param report  not null
ExportSource sweepExportSource(std::shared_ptr<const SweepReport> report, SweepMapMode mode,
                               const QString& caption);

/// Writes the map to a file, in the light theme: a picture or numbers by the path's ending (.png,
/// .svg, .pdf, .csv, .json). Wants a QGuiApplication, as all painting of text does.
/// \param caption  the recipe  \returns the sentence for the person, if it was not written
std::optional<QString> renderSweepMap(const SweepReport& report, const QString& path,
                                      const QString& caption = {});

} // namespace kvscope
