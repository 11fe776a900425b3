#include "app/render.h"

#include "engine/base/units.h"
#include "engine/lab/failure_text.h"
#include "engine/lab/report_card_html.h"
#include "engine/lab/report_card_json.h"
#include "engine/lab/report_json.h"
#include "engine/lab/report_records.h"
#include "engine/lab/routing_json.h"
#include "engine/lab/sweep_replay.h"
#include "engine/train/training_log_reading.h"
#include "widgets/report_card_painter.h"
#include "widgets/routing_plots.h"
#include "widgets/sweep_export.h"
#include "widgets/training_plot.h"

#include <QFileInfo>
#include <QSaveFile>

#include <algorithm>
#include <array>
#include <cstdint>
#include <exception>
#include <memory>
#include <optional>
#include <string_view>
#include <utility>
#include <vector>

namespace kvscope {
namespace {

/// Nothing on success, else the sentence for the person.
using RenderResult = std::optional<QString>;

/// By the path's ending; nothing where it is that of no picture.
std::optional<RenderResult> savePicture(const QString& path, const ExportSource& source)
{
    const QString ending = QFileInfo(path).suffix().toLower();
    if (ending == QLatin1String("pdf"))
        return savePdf(path, source);
    if (ending == QLatin1String("png"))
        return savePng(path, source);
    if (ending == QLatin1String("svg"))
        return saveSvg(path, source);
    return std::nullopt;
}

RenderResult saveHtml(const QString& path, const ReportCard& card)
{
    const QByteArray html = cardPage(card);
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) || file.write(html) != html.size() || !file.commit())
        return QStringLiteral("%1 was not written: %2.").arg(path, file.errorString());
    return std::nullopt;
}

RenderResult renderCard(const RecordJson& json, const QString& path)
{
    constexpr double kDotsPerInch = 200.0;
    const auto card = std::make_shared<const ReportCard>(cardFrom(json));
    const QString ending = QFileInfo(path).suffix().toLower();
    if (ending == QLatin1String("pdf"))
        return savePdf(path, cardExportSource(card));
    if (ending == QLatin1String("png"))
        return savePng(path, cardExportSource(card), kDotsPerInch);
    if (ending == QLatin1String("svg"))
        return saveSvg(path, cardExportSource(card));
    if (ending == QLatin1String("html"))
        return saveHtml(path, *card);
    return QStringLiteral("%1: a card is drawn as .pdf, .png, .svg or .html").arg(path);
}

/// What was measured with what: the values of these fields, as far as they are there.
QString recipeFrom(const RecordJson& json)
{
    constexpr std::array kFields{"model", "device", "compute", "dtype", "rope", "threads", "seed"};
    QStringList parts;
    for (const char* field : kFields) {
        RecordJson value = json.value(field, RecordJson());
        if (value.is_object()) // a record's model, beside its hash
            value = value.value("name", RecordJson());
        if (value.is_string() && std::string_view(field) == "model")
            parts.append(QFileInfo(QString::fromStdString(value.get<std::string>())).fileName());
        else if (value.is_string())
            parts.append(QString::fromStdString(value.get<std::string>()));
        else if (value.is_number_integer())
            parts.append(
                QStringLiteral("%1 %2").arg(QLatin1String(field)).arg(value.get<std::int64_t>()));
    }
    return parts.join(QStringLiteral(", ")).left(400);
}

RenderResult renderSweep(const SweepReport& report, const RecordJson& recipe, const QString& path)
{
    // A cell takes about 100 by 60 pixels, twice over: the picture stays below 400 MiB.
    constexpr std::size_t kMostEntries = 64;
    if (report.columns.size() > kMostEntries || report.depths.size() > kMostEntries)
        return QStringLiteral("a map of more than %1 lengths or depths is not drawn")
            .arg(kMostEntries);
    return renderSweepMap(report, path, recipeFrom(recipe));
}

RenderResult renderSweepResult(const RecordJson& json, const QString& path)
{
    return renderSweep(sweepFrom(json), json, path);
}

RenderResult renderRouting(const RecordJson& json, const QString& path)
{
    // A map of more columns is wider than a picture ought to be.
    constexpr std::size_t kMostColumns = 256;
    const auto report = std::make_shared<const RoutingReport>(routingFrom(json));
    for (const RoutingLayer& layer : report->layers)
        if (std::max(layer.expertShares.size(), layer.sinkShares.size()) > kMostColumns)
            return QStringLiteral("a map of more than %1 experts or heads is not drawn")
                .arg(kMostColumns);
    const QString caption =
        recipeFrom(json) + QStringLiteral("; ") + QString::fromStdString(report->text).left(200);
    const ExportSource source = routingExportSource(report, caption);
    if (const auto result = savePicture(path, source))
        return *result;
    if (QFileInfo(path).suffix().toLower() == QLatin1String("csv"))
        return saveCsv(path, source);
    return QStringLiteral("%1: a routing is drawn as .pdf, .png or .svg, or kept as .csv")
        .arg(path);
}

/// "2,970 steps, answers of the last one 31 of 33, 3 h 8 min in steps"
QString trainingCaption(const TrainingReport& report)
{
    double seconds = 0.0;
    for (const TrainingReportStep& step : report.steps)
        seconds += step.seconds;
    const TrainingReportStep& last = report.steps.back();
    const auto count = [](auto number) {
        return QString::fromStdString(formatCount(static_cast<std::int64_t>(number)));
    };
    return QStringLiteral("%1 steps, answers of the last one %2 of %3, %4 in steps")
        .arg(count(report.steps.size()), count(last.numRight), count(last.numAnswers),
             QString::fromStdString(formatSeconds(seconds)));
}

RenderResult renderTraining(const TrainingReport& read, const QString& path)
{
    const auto report = std::make_shared<const TrainingReport>(read);
    if (const auto result = savePicture(path, trainingExportSource(report, trainingCaption(read))))
        return *result;
    return QStringLiteral("%1: a training is drawn as .pdf, .png or .svg").arg(path);
}

/// A kind of value, by the texts that one of its fields may have.
struct Renderer
{
    const char* field;
    std::string_view value;
    RenderResult (*render)(const RecordJson& json, const QString& path);
};

/// A sweep is what `kvscope-cli needle` and `passkey` print with --json.
constexpr std::array kRenderers{Renderer{"schema", kReportCardSchema, renderCard},
                                Renderer{"schema", kRoutingSchema, renderRouting},
                                Renderer{"experiment", "needle", renderSweepResult},
                                Renderer{"experiment", "needle-pairs", renderSweepResult},
                                Renderer{"experiment", "passkey", renderSweepResult}};

RenderResult render(const RecordJson& json, const QString& path)
{
    for (const Renderer& renderer : kRenderers)
        if (json.value(renderer.field, RecordJson()) == renderer.value)
            return renderer.render(json, path);
    return QStringLiteral("this JSON is nothing that can be drawn (it is neither a card, a "
                          "routing, nor the result of needle or passkey)");
}

RenderResult renderRecord(const RunRecordContent& record, const QString& path)
{
    const RecordJson experiment = record.header.value("experiment", RecordJson());
    for (const Renderer& renderer : kRenderers)
        if (experiment == renderer.value) // a sweep, which may be at work
            return renderSweep(recordedSweep(record), record.header, path);
    std::vector<CardPlot> plots = recordPlots(record);
    if (plots.empty())
        return QStringLiteral("the record has nothing to draw");
    if (const auto result =
            savePicture(path, cardPlotsExportSource(std::move(plots), recipeFrom(record.header))))
        return *result;
    return QStringLiteral("%1: the plots of a run are drawn as .pdf, .png or .svg").arg(path);
}

RenderResult renderPath(const QString& json, const QString& picture)
{
    if (json.endsWith(QLatin1String(".csv"), Qt::CaseInsensitive))
        return renderTraining(readTrainingLog(json.toStdString()), picture);
    if (!json.endsWith(QLatin1String(".jsonl"), Qt::CaseInsensitive))
        return render(readCardFile(json.toStdString()), picture);
    return renderRecord(readRunRecord(json.toStdString()), picture);
}

} // namespace

QByteArray cardPage(const ReportCard& card)
{
    return QByteArray::fromStdString(
        cardHtml(card, [](const CardPlot& plot) { return cardPlotSvg(plot).toStdString(); }));
}

QByteArray cardText(const ReportCard& card)
{
    return QByteArray::fromStdString(cardJson(card).dump(2)) + '\n';
}

int renderFile(const QString& json, const QStringList& pictures, std::ostream& err)
{
    if (pictures.size() != 1) {
        err << "error: --render JSON takes one picture to draw\n";
        return 2;
    }
    try {
        const RenderResult error = renderPath(json, pictures.first());
        if (!error)
            return 0;
        err << "error: " << error->toStdString() << '\n';
    } catch (const std::exception&) { // memory that ran out among them: the file is anybody's
        err << "error: " << failureFromCurrentException().message << '\n';
    }
    return 1;
}

void drawWithoutScreen()
{
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
}

} // namespace kvscope
