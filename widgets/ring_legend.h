#pragma once

#include <cstdint>

class QPainter;
class QRectF;

namespace kvscope {

struct Theme;

/// What the colours and marks mean. \param oldestAge  tokens  \param hasSlack  the hatch is
/// explained too
void paintRingLegend(QPainter& painter, const QRectF& area, std::int64_t oldestAge, bool hasSlack,
                     const Theme& theme);

} // namespace kvscope
