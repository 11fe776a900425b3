#include "app/window_settings.h"

#include <QSettings>

#include <algorithm>
#include <cmath>

namespace kvscope {
namespace {

constexpr int kRecentFiles = 8;

double boundedNumber(const QSettings& settings, const QString& key, double fallback, double low,
                     double high)
{
    bool isNumber = false;
    const double value = settings.value(key).toDouble(&isNumber);
    return isNumber && std::isfinite(value) ? std::clamp(value, low, high) : fallback;
}

} // namespace

QByteArray WindowSettings::geometry() const
{
    return QSettings().value("window/geometry").toByteArray();
}

void WindowSettings::setGeometry(const QByteArray& geometry)
{
    QSettings().setValue("window/geometry", geometry);
}

QByteArray WindowSettings::layout(const QString& workspace) const
{
    return QSettings().value("window/layout/" + workspace).toByteArray();
}

void WindowSettings::setLayout(const QString& workspace, const QByteArray& layout)
{
    QSettings().setValue("window/layout/" + workspace, layout);
}

QString WindowSettings::workspace() const
{
    return QSettings().value("window/workspace").toString();
}

void WindowSettings::setWorkspace(const QString& workspace)
{
    QSettings().setValue("window/workspace", workspace);
}

QStringList WindowSettings::recentFiles() const
{
    return QSettings().value("recentFiles").toStringList().mid(0, kRecentFiles);
}

void WindowSettings::addRecentFile(const QString& path)
{
    QStringList files = recentFiles();
    files.removeAll(path);
    files.prepend(path);
    QSettings().setValue("recentFiles", files.mid(0, kRecentFiles));
}

void WindowSettings::clearRecentFiles()
{
    QSettings().remove("recentFiles");
}

ThemeChoice WindowSettings::theme() const
{
    const QString name = QSettings().value("theme").toString();
    return name == "light"  ? ThemeChoice::Light
           : name == "dark" ? ThemeChoice::Dark
                            : ThemeChoice::System;
}

void WindowSettings::setTheme(ThemeChoice theme)
{
    QSettings().setValue("theme", theme == ThemeChoice::Light  ? "light"
                                  : theme == ThemeChoice::Dark ? "dark"
                                                               : "system");
}

ChatSettings WindowSettings::chat() const
{
    const QSettings settings;
    ChatSettings chat;
    chat.sampling.temperature =
        boundedNumber(settings, "chat/temperature", chat.sampling.temperature, 0.0, 10.0);
    chat.sampling.topP = boundedNumber(settings, "chat/topP", chat.sampling.topP, 0.0, 1.0);
    chat.sampling.maxNewTokens = static_cast<std::int64_t>(boundedNumber(
        settings, "chat/maxNewTokens", static_cast<double>(chat.sampling.maxNewTokens), 1.0, 1e6));
    chat.sampling.seed = settings.value("chat/seed", 0ULL).toULongLong();
    chat.newSeedEachTime = settings.value("chat/newSeedEachTime", chat.newSeedEachTime).toBool();
    chat.scoresPrompt = settings.value("chat/scoresPrompt", chat.scoresPrompt).toBool();
    chat.keepsNewestWhenFull =
        settings.value("chat/keepsNewestWhenFull", chat.keepsNewestWhenFull).toBool();
    chat.systemPrompt = settings.value("chat/systemPrompt").toString();
    return chat;
}

void WindowSettings::setChat(const ChatSettings& chat)
{
    QSettings settings;
    settings.setValue("chat/temperature", chat.sampling.temperature);
    settings.setValue("chat/topP", chat.sampling.topP);
    settings.setValue("chat/maxNewTokens", static_cast<qlonglong>(chat.sampling.maxNewTokens));
    settings.setValue("chat/seed", static_cast<qulonglong>(chat.sampling.seed));
    settings.setValue("chat/newSeedEachTime", chat.newSeedEachTime);
    settings.setValue("chat/scoresPrompt", chat.scoresPrompt);
    settings.setValue("chat/keepsNewestWhenFull", chat.keepsNewestWhenFull);
    settings.setValue("chat/systemPrompt", chat.systemPrompt);
}

} // namespace kvscope
