#include "widgets/sweep_export.h"

#include "widgets/fonts.h"
#include "widgets/plot_header.h"
#include "widgets/sweep_cells.h"
#include "widgets/theme.h"

#include <QCoreApplication>
#include <QFileInfo>
#include <QFontMetricsF>
#include <QPainter>

#include <algorithm>
#include <cmath>
#include <utility>

namespace kvscope {
namespace {

constexpr double kTitleHeight = 28.0;
constexpr double kMargin = 12.0;
/// A map of few cells still has room for its words.
const QSizeF kSmallestMap(880.0, 640.0);

QString tr(const char* text)
{
    return QCoreApplication::translate("kvscope::Sweep", text);
}

QFont conditionsFont()
{
    return uiFont(TextSize::Axis);
}

double conditionsHeight(const SweepReport& report, double width)
{
    if (report.conditions.empty())
        return 0.0;
    const QRectF room(0, 0, width - 2 * kMargin, 10000);
    const QRectF box = QFontMetricsF(conditionsFont())
                           .boundingRect(room, Qt::AlignLeft | Qt::TextWordWrap,
                                         QString::fromStdString(report.conditions));
    return std::ceil(box.height()) + 8;
}

void paintConditions(QPainter& painter, const QRectF& area, const SweepReport& report,
                     const Theme& theme)
{
    painter.setFont(conditionsFont());
    painter.setPen(theme.ink2);
    painter.drawText(area.adjusted(kMargin, 4, -kMargin, 0),
                     Qt::AlignLeft | Qt::AlignTop | Qt::TextWordWrap,
                     QString::fromStdString(report.conditions));
}

QString commentLine(const QString& name, const QString& value)
{
    return QStringLiteral("# %1: %2\r\n").arg(name, value.simplified());
}

} // namespace

QString sweepCsv(const SweepReport& report, const QString& caption)
{
    QString text = QStringLiteral("# %1 (measured)\r\n").arg(experimentTitle(report));
    if (report.isLeaking)
        text += commentLine(tr("note"), tr("the answer is in the prompt"));
    if (!report.conditions.empty())
        text += commentLine(tr("conditions"), QString::fromStdString(report.conditions));
    if (!caption.isEmpty())
        text += commentLine(tr("recipe"), caption);
    return text + csvText(sweepTable(report));
}

QSizeF sweepPictureSize(const SweepReport& report)
{
    const QSizeF map = wholeSweepMapSize(sweepMapShape(report), kSmallestMap);
    return {map.width(), kTitleHeight + map.height() + conditionsHeight(report, map.width())};
}

void paintSweepPicture(QPainter& painter, const QRectF& area, const SweepReport& report,
                       SweepMapMode mode, const Theme& theme)
{
    painter.fillRect(area, theme.panel);
    const QRectF title(area.left(), area.top(), area.width() - kMargin, kTitleHeight);
    paintPlotHeader(painter, title,
                    {experimentTitle(report), sweepMapQuestion(report, mode), tr("measured")},
                    theme);
    const double foot = conditionsHeight(report, area.width());
    const QRectF map = area.adjusted(0, kTitleHeight, 0, -foot);
    const SweepMapLayout layout = layOutSweepMap(map, sweepMapShape(report));
    SweepMapPainter(painter, report, layout, mode, theme).paint();
    if (foot > 0)
        paintConditions(painter, QRectF(area.left(), map.bottom(), area.width(), foot), report,
                        theme);
}

ExportSource sweepExportSource(std::shared_ptr<const SweepReport> report, SweepMapMode mode,
                               const QString& caption)
{
    ExportSource source;
    source.name = report->experiment.empty() ? QStringLiteral("sweep")
                                             : QString::fromStdString(report->experiment);
    source.size = sweepPictureSize(*report);
    source.caption = caption;
    source.hasSvg = true;
    source.paint = [report, mode](QPainter& painter, const QRectF& area, const Theme& theme) {
        paintSweepPicture(painter, area, *report, mode, theme);
    };
    source.csv = [report, caption] { return sweepCsv(*report, caption); };
    source.json = [report, caption] { return sweepJson(*report, caption); };
    return source;
}

std::optional<QString> renderSweepMap(const SweepReport& report, const QString& path,
                                      const QString& caption)
{
    using Save = std::optional<QString> (*)(const QString&, const ExportSource&);
    static const std::pair<QString, Save> kFormats[] = {
        {QStringLiteral("png"),
         [](const QString& to, const ExportSource& source) { return savePng(to, source); }},
        {QStringLiteral("svg"), saveSvg},
        {QStringLiteral("pdf"), savePdf},
        {QStringLiteral("csv"), saveCsv},
        {QStringLiteral("json"), saveJson}};
    const QString ending = QFileInfo(path).suffix().toLower();
    const ExportSource source = sweepExportSource(std::make_shared<const SweepReport>(report),
                                                  SweepMapMode::Cells, caption);
    for (const auto& [name, save] : kFormats)
        if (name == ending)
            return save(path, source);
    return tr("%1 was not written: the ending \".%2\" is none of .png, .svg, .pdf, .csv and .json.")
        .arg(QFileInfo(path).fileName(), ending);
}

} // namespace kvscope
