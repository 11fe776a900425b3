#include "app/render.h"

#include "engine/base/errors.h"
#include "engine/lab/report_card_html.h"
#include "engine/lab/report_card_json.h"
#include "widgets/report_card_painter.h"

#include <QFileInfo>
#include <QSaveFile>

#include <array>
#include <memory>
#include <optional>
#include <string_view>

namespace kvscope {
namespace {

/// Nothing on success, else the sentence for the person.
using RenderResult = std::optional<QString>;

RenderResult saveHtml(const QString& path, const ReportCard& card)
{
    const std::string html =
        cardHtml(card, [](const CardPlot& plot) { return cardPlotSvg(plot).toStdString(); });
    QSaveFile file(path);
    if (!file.open(QIODevice::WriteOnly) ||
        file.write(html.data(), static_cast<qint64>(html.size())) < 0 || !file.commit())
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

/// A kind of value, by its `schema`.
struct Renderer
{
    std::string_view schema;
    RenderResult (*render)(const RecordJson& json, const QString& path);
};

constexpr std::array kRenderers{Renderer{kReportCardSchema, renderCard}};

RenderResult render(const RecordJson& json, const QString& path)
{
    for (const Renderer& renderer : kRenderers)
        if (json.value("schema", RecordJson()) == renderer.schema)
            return renderer.render(json, path);
    return QStringLiteral("this JSON is nothing that can be drawn (its schema is no known one)");
}

} // namespace

int renderFile(const QString& json, const QStringList& pictures, std::ostream& err)
{
    if (pictures.size() != 1) {
        err << "error: --render JSON takes one picture to draw\n";
        return 2;
    }
    try {
        const RenderResult error = render(readCardFile(json.toStdString()), pictures.first());
        if (!error)
            return 0;
        err << "error: " << error->toStdString() << '\n';
    } catch (const EngineError& error) {
        err << "error: " << error.what() << '\n';
    }
    return 1;
}

void drawWithoutScreen()
{
    if (!qEnvironmentVariableIsSet("QT_QPA_PLATFORM"))
        qputenv("QT_QPA_PLATFORM", "offscreen");
}

} // namespace kvscope
