#pragma once

#include <QString>

namespace kvscope {

/// What a dock's view shows and which keys it has, for F1; empty for a dock of another name.
/// \param dock  its object name: "rings"
QString panelHelp(const QString& dock);

} // namespace kvscope
