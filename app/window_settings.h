#pragma once

#include "widgets/sampling_settings.h"
#include "widgets/theme.h"

#include <QByteArray>
#include <QString>
#include <QStringList>

namespace kvscope {

/// What the window remembers between runs (QSettings). Values that do not read back as what they
/// should be give the default: a settings file is a stranger's too.
class WindowSettings
{
public:
    QByteArray geometry() const;
    void setGeometry(const QByteArray& geometry);
    /// Of a workspace: "live", "lab".
    QByteArray layout(const QString& workspace) const;
    void setLayout(const QString& workspace, const QByteArray& layout);
    /// The workspace shown last; empty: none was.
    QString workspace() const;
    void setWorkspace(const QString& workspace);

    /// Newest first, at most 8, without repeats.
    QStringList recentFiles() const;
    void addRecentFile(const QString& path);
    void clearRecentFiles();

    ThemeChoice theme() const;
    void setTheme(ThemeChoice theme);

    ChatSettings chat() const;
    void setChat(const ChatSettings& settings);
};

} // namespace kvscope
