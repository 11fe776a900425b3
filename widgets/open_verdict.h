#pragma once

#include "engine/session/open_preview_snapshot.h"
#include "widgets/theme.h"

#include <QString>

namespace kvscope {

/// One line on whether a model can be opened as chosen, with its glyph, and its colour.
struct OpenVerdict
{
    QString text;
    QColor Theme::*ink = &Theme::ink2;
};

/// That it fits, up to where it does, or why it does not open.
OpenVerdict verdictOn(const OpenPreview& preview, const OpenChoice& choice);

/// `kvscope-cli inspect` with the same choices, for a shell.
/// \param showsChecks  with the list of checks
QString inspectCommand(const QString& path, const OpenChoice& choice, bool showsChecks);

} // namespace kvscope
