#include "widgets/export_menu.h"

#include "widgets/fonts.h"
#include "widgets/svg_writer.h"
#include "widgets/theme.h"

#include <QAction>
#include <QCoreApplication>
#include <QFileDialog>
#include <QFileInfo>
#include <QFontMetricsF>
#include <QImage>
#include <QMenu>
#include <QPageSize>
#include <QPainter>
#include <QPdfWriter>
#include <QSaveFile>
#include <QStandardPaths>

#include <cmath>
#include <utility>

namespace kvscope {
namespace {

constexpr double kPixelsPerInch = 96.0;
constexpr double kPointsPerInch = 72.0;
constexpr int kMaxPngSide = 20'000; ///< pixels; QImage takes 32,767, memory less

QString translated(const char* text)
{
    return QCoreApplication::translate("kvscope::Export", text);
}

QString failure(const QString& path, const QString& reason)
{
    return translated("%1 was not written: %2.").arg(QFileInfo(path).fileName(), reason);
}

double captionHeight(const ExportSource& source)
{
    return source.caption.isEmpty() ? 0.0 : QFontMetricsF(uiFont(TextSize::Axis)).height() + 8.0;
}

QSizeF wholeSize(const ExportSource& source)
{
    return {source.size.width(), source.size.height() + captionHeight(source)};
}

void paintWhole(QPainter& painter, const ExportSource& source)
{
    const Theme& theme = Theme::light();
    const QRectF whole(QPointF(0, 0), wholeSize(source));
    painter.fillRect(whole, theme.panel);
    painter.setRenderHint(QPainter::Antialiasing);
    source.paint(painter, QRectF(QPointF(0, 0), source.size), theme);
    if (source.caption.isEmpty())
        return;
    const QRectF line(8, source.size.height(), whole.width() - 16, captionHeight(source) - 4);
    painter.setFont(uiFont(TextSize::Axis));
    painter.setPen(theme.ink3);
    const QFontMetricsF metrics(painter.font());
    painter.drawText(line, Qt::AlignLeft | Qt::AlignVCenter,
                     metrics.elidedText(source.caption, Qt::ElideRight, line.width()));
}

/// \return the sentence for the person, if the file could not be finished.
std::optional<QString> committed(QSaveFile& file, const QString& path)
{
    if (!file.commit())
        return failure(path, file.errorString());
    return std::nullopt;
}

std::optional<QString> saveBytes(const QString& path, const QByteArray& bytes)
{
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(bytes) != bytes.size())
        return failure(path, file.errorString());
    return committed(file, path);
}

struct Format
{
    const char* label;
    const char* filter;
    const char* ending;
    std::optional<QString> (*save)(const QString& path, const ExportSource& source);
};

void exportAs(const Format& format, QWidget* parent, const ExportSource& source,
              const ExportReport& report)
{
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    const QString ending = QString::fromLatin1(format.ending);
    QString path = QFileDialog::getSaveFileName(parent, translated(format.label),
                                                folder + u'/' + source.name + ending,
                                                translated(format.filter));
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += ending;
    const auto error = format.save(path, source);
    if (report)
        report(path, error);
}

} // namespace

std::optional<QString> savePng(const QString& path, const ExportSource& source, double dotsPerInch)
{
    const double scale = dotsPerInch / kPixelsPerInch;
    const QSize pixels = (wholeSize(source) * scale).toSize();
    if (pixels.isEmpty() || pixels.width() > kMaxPngSide || pixels.height() > kMaxPngSide)
        return failure(path, translated("a picture of %1 × %2 pixels cannot be made")
                                 .arg(pixels.width())
                                 .arg(pixels.height()));
    QImage image(pixels, QImage::Format_ARGB32_Premultiplied);
    image.setDevicePixelRatio(scale);
    image.setDotsPerMeterX(static_cast<int>(std::lround(dotsPerInch / 0.0254)));
    image.setDotsPerMeterY(image.dotsPerMeterX());
    {
        QPainter painter(&image);
        paintWhole(painter, source);
    }
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || !image.save(&file, "PNG"))
        return failure(path, file.errorString());
    return committed(file, path);
}

std::optional<QString> savePdf(const QString& path, const ExportSource& source)
{
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly))
        return failure(path, file.errorString());
    {
        QPdfWriter writer(&file);
        const QSizeF points = wholeSize(source) * (kPointsPerInch / kPixelsPerInch);
        writer.setPageSize(QPageSize(points, QPageSize::Point, QString(), QPageSize::ExactMatch));
        writer.setPageMargins(QMarginsF(0, 0, 0, 0));
        writer.setResolution(static_cast<int>(kPixelsPerInch));
        writer.setTitle(source.name);
        writer.setCreator(QStringLiteral("kvscope"));
        QPainter painter;
        if (!painter.begin(&writer))
            return failure(path, file.errorString());
        paintWhole(painter, source);
    }
    return committed(file, path);
}

std::optional<QString> saveSvg(const QString& path, const ExportSource& source)
{
    SvgWriter writer(wholeSize(source), source.name, source.caption);
    {
        QPainter painter(&writer);
        paintWhole(painter, source);
    }
    return saveBytes(path, writer.svg());
}

std::optional<QString> saveCsv(const QString& path, const ExportSource& source)
{
    return saveBytes(path, source.csv().toUtf8());
}

std::optional<QString> saveJson(const QString& path, const ExportSource& source)
{
    return saveBytes(path, source.json());
}

void addExportActions(QMenu& menu, QWidget* parent, std::function<ExportSource()> source,
                      ExportReport report)
{
    static constexpr Format kPng{
        QT_TRANSLATE_NOOP("kvscope::Export", "Export PNG…"),
        QT_TRANSLATE_NOOP("kvscope::Export", "PNG pictures (*.png)"), ".png",
        [](const QString& path, const ExportSource& from) { return savePng(path, from); }};
    static constexpr Format kPdf{QT_TRANSLATE_NOOP("kvscope::Export", "Export PDF…"),
                                 QT_TRANSLATE_NOOP("kvscope::Export", "PDF pages (*.pdf)"), ".pdf",
                                 savePdf};
    static constexpr Format kCsv{QT_TRANSLATE_NOOP("kvscope::Export", "Export CSV…"),
                                 QT_TRANSLATE_NOOP("kvscope::Export", "CSV tables (*.csv)"), ".csv",
                                 saveCsv};
    static constexpr Format kSvg{QT_TRANSLATE_NOOP("kvscope::Export", "Export SVG…"),
                                 QT_TRANSLATE_NOOP("kvscope::Export", "SVG drawings (*.svg)"),
                                 ".svg", saveSvg};
    static constexpr Format kJson{QT_TRANSLATE_NOOP("kvscope::Export", "Export JSON…"),
                                  QT_TRANSLATE_NOOP("kvscope::Export", "JSON (*.json)"), ".json",
                                  saveJson};
    const ExportSource now = source();
    const auto add = [&](const Format& format) {
        QObject::connect(
            menu.addAction(translated(format.label)), &QAction::triggered, parent,
            [&format, parent, source, report] { exportAs(format, parent, source(), report); });
    };
    if (now.paint) {
        add(kPng);
        if (now.hasSvg)
            add(kSvg);
        add(kPdf);
    }
    if (now.csv)
        add(kCsv);
    if (now.json)
        add(kJson);
}

} // namespace kvscope
