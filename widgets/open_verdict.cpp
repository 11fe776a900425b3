#include "widgets/open_verdict.h"

#include "widgets/number_format.h"

#include <QCoreApplication>
#include <QRegularExpression>

namespace kvscope {
namespace {

QString translated(const char* text)
{
    return QCoreApplication::translate("kvscope::OpenVerdict", text);
}

/// What happens where memory falls short: the engine refuses on the CPU, where it reads what is
/// free; a GPU's allocator says so itself.
QString shortfallText(const FitEstimate& fit, const QString& device)
{
    const QString free = bytesText(*fit.freeBytes);
    if (fit.isRefused)
        return translated("The weights alone need %1, %2 is free on %3: the engine will refuse to "
                          "open it unless memory is freed first.")
            .arg(bytesText(fit.weightBytes), free, device);
    if (fit.longestContext == 0)
        return translated("Weights and working room need %1, %2 is free on %3: no context fits "
                          "beside them.")
            .arg(bytesText(saturatingAdd(fit.weightBytes, fit.workBytes)), free, device);
    return translated("%1 tokens need %2, %3 is free on %4. It can be opened; about %5 tokens fit, "
                      "and what does not is refused.")
        .arg(countText(fit.context), bytesText(fit.totalBytes()), free, device,
             countText(fit.longestContext));
}

/// A word of the command line, quoted where a shell would read more into it.
QString shellWord(const QString& word)
{
    static const QRegularExpression plain(QStringLiteral("^[A-Za-z0-9_./:=@%+,-]+$"));
    if (plain.match(word).hasMatch())
        return word;
    return u'\'' + QString(word).replace(QStringLiteral("'"), QStringLiteral("'\\''")) + u'\'';
}

} // namespace

OpenVerdict verdictOn(const OpenPreview& preview, const OpenChoice& choice)
{
    if (!preview.opens())
        return {QStringLiteral("✕ ") + QString::fromStdString(preview.error), &Theme::bad};
    const FitEstimate fit = estimateFit(preview, choice);
    const QString device = QString::fromStdString(choice.device);
    const QString needed = bytesText(fit.totalBytes());
    if (!fit.freeBytes)
        return {QStringLiteral("? ") +
                    translated("%1 needed on %2, whose free memory is not known (arithmetic)")
                        .arg(needed, device),
                &Theme::ink2};
    if (fit.fits())
        return {QStringLiteral("✓ ") + translated("Fits on %1: %2 needed, %3 free (arithmetic)")
                                           .arg(device, needed, bytesText(*fit.freeBytes)),
                &Theme::good};
    return {QStringLiteral("! ") + shortfallText(fit, device), &Theme::caution};
}

QString inspectCommand(const QString& path, const OpenChoice& choice, bool showsChecks)
{
    QString line = QStringLiteral("kvscope-cli inspect ") + shellWord(path);
    const auto add = [&line](const char* option, const std::string& value, const char* usual) {
        if (value != usual)
            line += QLatin1Char(' ') + QLatin1String(option) + QLatin1Char(' ') +
                    shellWord(QString::fromStdString(value));
    };
    add("--device", choice.device, "cpu");
    add("--dtype", choice.dtype, "auto");
    add("--cache-dtype", choice.cacheDtype, "auto");
    add("--rope", choice.rotary, "");
    if (choice.maxContext > 0)
        line += QStringLiteral(" --max-context %1").arg(choice.maxContext);
    return showsChecks ? line + QStringLiteral(" --checks") : line;
}

} // namespace kvscope
