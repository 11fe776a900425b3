#pragma once

#include "widgets/theme.h"

#include <QApplication>
#include <QSettings>
#include <QTemporaryDir>

namespace kvscope {

/// Settings and looks that are the same on every machine: none are read, none are left behind.
inline void useBenchmarkSettings(QApplication& application, const QTemporaryDir& home)
{
    QSettings::setDefaultFormat(QSettings::IniFormat);
    QSettings::setPath(QSettings::IniFormat, QSettings::UserScope, home.path());
    QCoreApplication::setOrganizationName("kvscope-benchmark");
    applyTheme(application, ThemeChoice::Light);
}

} // namespace kvscope
