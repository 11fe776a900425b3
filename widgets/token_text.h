#pragma once

#include "engine/generate/generation.h"

#include <QString>
#include <QStringList>

#include <cstdint>

namespace kvscope {

class TokenHistory;

/// A token's piece in quotes; "token 614" where the history does not know it.
QString tokenName(const TokenHistory* history, std::int64_t position);

/// A tooltip of a token as rich text: piece, id and nll in the first line, then the view's own
/// lines.
QString tokenTooltip(const TokenHistory* history, std::int64_t position, const QStringList& lines);

} // namespace kvscope
