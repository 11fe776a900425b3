#pragma once

#include "engine/base/units.h"

#include <QString>

#include <cstdint>

namespace kvscope {

/// Numbers as every view writes them: counts grouped and exact, bytes in three digits, loss in nats
/// with two decimals, what is missing as a dash.
inline QString missingText()
{
    return QStringLiteral("–");
}
inline QString countText(std::int64_t count)
{
    return QString::fromStdString(formatCount(count));
}
inline QString bytesText(std::uint64_t bytes)
{
    return QString::fromStdString(formatBytes(bytes));
}
inline QString secondsText(double seconds)
{
    return QString::fromStdString(formatSeconds(seconds));
}
/// \param nll  in nats; negative: not computed
inline QString lossText(double nll)
{
    return nll < 0 ? missingText() : QString::number(nll, 'f', 2);
}
/// "1,815–1,942"; one number where both are the same.
inline QString rangeText(std::int64_t first, std::int64_t last)
{
    return first == last ? countText(first) : countText(first) + QChar(0x2013) + countText(last);
}
/// A token's piece in quotes, with white space and control characters made visible.
QString quotedPiece(const std::string& piece);

} // namespace kvscope
