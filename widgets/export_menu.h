#pragma once

#include <QByteArray>
#include <QSizeF>
#include <QString>

#include <functional>
#include <optional>

class QMenu;
class QPainter;
class QRectF;
class QWidget;

namespace kvscope {

struct Theme;

/// What a view gives to be exported. Any part may be missing; its action then is.
struct ExportSource
{
    QString name;    ///< suggested file name without its ending: "rings"
    QSizeF size;     ///< of the picture in device-independent pixels (1/96 inch)
    QString caption; ///< the recipe, drawn under the picture: model, device, numbers, seed, date
    /// Draws into the rectangle, in the given theme. Must work on any device: raster or vector.
    std::function<void(QPainter&, const QRectF&, const Theme&)> paint;
    std::function<QString()> csv;
    std::function<QByteArray()> json;
    /// Whether its menu offers SVG, a shape a mark: what is drawn of shapes and text.
    bool hasSvg = false;
};

/// Writes are made beside the target and renamed; an existing file stays whole when one fails. Each
/// returns nothing on success and a sentence for the person on failure.
/// \param dotsPerInch  96 is one pixel a device-independent pixel
std::optional<QString> savePng(const QString& path, const ExportSource& source,
                               double dotsPerInch = 192.0);
std::optional<QString> savePdf(const QString& path,
                               const ExportSource& source); ///< vector, text as text
/// A shape a mark, text as text. Only where `source.hasSvg`.
std::optional<QString> saveSvg(const QString& path, const ExportSource& source);
std::optional<QString> saveJson(const QString& path, const ExportSource& source);
std::optional<QString> saveCsv(const QString& path, const ExportSource& source);

/// How an export ended: the path written, or what went wrong.
using ExportReport = std::function<void(const QString& path, const std::optional<QString>& error)>;

/// Adds "Export PNG…", "Export SVG…", "Export PDF…", "Export CSV…" and "Export JSON…" to a menu,
/// each where the source has it. Each asks for a path, then writes with the light theme. `source`
/// is asked for when an action is triggered, so it shows what is on screen then.
void addExportActions(QMenu& menu, QWidget* parent, std::function<ExportSource()> source,
                      ExportReport report);

} // namespace kvscope
