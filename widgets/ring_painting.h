#pragma once

#include "widgets/ring_geometry.h"
#include "widgets/rings_layout.h"

#include <QString>

#include <cstdint>
#include <optional>

class QPainter;

namespace kvscope {

struct Theme;

/// What the large ring says in words.
struct RingWords
{
    int layer = 0;
    QString lastOut; ///< piece of the token that left last, quoted; may be empty
};

/// The head's spoke, the last nine tokens that left, and the words in the middle.
void paintRingFurniture(QPainter& painter, const RingsLayout& layout, const RingPositions& ring,
                        const RingWords& words, const Theme& theme);

/// Slot numbers around the ring, those left out that the head's or the pinned token's label covers.
void paintRingTicks(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                    std::optional<std::int64_t> pinned, const Theme& theme);

enum class RingPinWords { Shown, Hidden };

/// The hovered slot: an outline in ink. Nothing where the ring does not hold the position.
void paintRingHover(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                    std::int64_t position, const Theme& theme);
/// The pinned token: its slot outlined in magenta, or a hollow box outside its old slot with "614
/// left at 742" where it is gone. \param withWords  only the large ring has room for them
void paintRingPin(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                  std::int64_t position, const Theme& theme, RingPinWords words);

/// The head of a small ring: a short spoke.
void paintSmallHead(QPainter& painter, const RingFrame& frame, const RingPositions& ring,
                    const Theme& theme);

} // namespace kvscope
