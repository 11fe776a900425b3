#include "widgets/plot_export.h"

#include <QCoreApplication>
#include <QDateTime>
#include <QFileDialog>
#include <QFileInfo>
#include <QMenu>
#include <QStandardPaths>
#include <QStringList>

#include <array>
#include <cmath>

namespace kvscope {
namespace {

QString translated(const char* text)
{
    return QCoreApplication::translate("kvscope::PlotExport", text);
}

/// Name and value of everything that is known; what is not known is left out.
QList<std::pair<QString, QString>> recipe(const ModelDescription& model)
{
    QList<std::pair<QString, QString>> parts;
    const auto add = [&](const char* name, const std::string& value) {
        if (!value.empty())
            parts.append({QString::fromLatin1(name), QString::fromStdString(value).simplified()});
    };
    add("model", model.name.empty() ? std::string("no model") : model.name);
    add("format", model.format);
    add("storage", model.storage);
    add("compute", model.compute);
    if (!model.rotaryOverride.empty())
        add("rotation", model.rotary + " (overridden)");
    add("device", model.device);
    const QString version = QCoreApplication::applicationVersion();
    parts.append(
        {QStringLiteral("version"),
         QStringLiteral("kvscope") + (version.isEmpty() ? QString() : QLatin1Char(' ') + version)});
    parts.append({QStringLiteral("date"), QDateTime::currentDateTime().toString(Qt::ISODate)});
    return parts;
}

void savePngAt(double dotsPerInch, QWidget* parent, const ExportSource& source,
               const ExportReport& report)
{
    const QString folder = QStandardPaths::writableLocation(QStandardPaths::DocumentsLocation);
    QString path = QFileDialog::getSaveFileName(parent, translated("Export PNG"),
                                                folder + u'/' + source.name + ".png",
                                                translated("PNG pictures (*.png)"));
    if (path.isEmpty())
        return;
    if (QFileInfo(path).suffix().isEmpty())
        path += QStringLiteral(".png");
    const auto error = savePng(path, source, dotsPerInch);
    if (report)
        report(path, error);
}

} // namespace

QString recipeLine(const ModelDescription& model, const QString& tag)
{
    QStringList values;
    for (const auto& [name, value] : recipe(model))
        values.append(value);
    values.append(tag);
    return values.join(QStringLiteral(" · "));
}

QString recipeComment(const ModelDescription& model, const QString& title, const QString& tag)
{
    QString text = QStringLiteral("# %1 (%2)\r\n").arg(title, tag);
    for (const auto& [name, value] : recipe(model))
        text += QStringLiteral("# %1: %2\r\n").arg(name, value);
    return text;
}

QString csvNumber(double value)
{
    return std::isnan(value) ? QString() : QString::number(value, 'g', 12);
}

void addPlotExportActions(QMenu& menu, QWidget* parent, const std::function<ExportSource()>& source,
                          const ExportReport& report)
{
    addExportActions(menu, parent, source, report);
    QMenu* resolutions = menu.addMenu(translated("Export PNG at"));
    // 2x is the plain "Export PNG…"; these are the others that people ask for.
    for (const double scale : std::array{1.0, 3.0, 4.0}) {
        const double dotsPerInch = scale * 96.0;
        QAction* action = resolutions->addAction(
            translated("%1 × (%2 dpi)…").arg(scale, 0, 'f', 0).arg(dotsPerInch, 0, 'f', 0));
        QObject::connect(action, &QAction::triggered, parent,
                         [=] { savePngAt(dotsPerInch, parent, source(), report); });
    }
}

} // namespace kvscope
