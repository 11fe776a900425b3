#pragma once

#include <QString>
#include <QStringList>

#include <ostream>

namespace kvscope {

/// Draws a saved value into a picture, for the command line, which has no Qt. What kind of value it
/// is, its `schema` says.
/// \param pictures  exactly one path; its ending chooses: .pdf, .png, .svg or .html
/// \param err  one line where it cannot be done
/// \returns the exit code: 0 done, 1 failed, 2 wrong usage
int renderFile(const QString& json, const QStringList& pictures, std::ostream& err);

/// Chooses Qt's offscreen platform where no other was chosen. Call before the application is made.
void drawWithoutScreen();

} // namespace kvscope
