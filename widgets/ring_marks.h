#pragma once

#include "widgets/ring_geometry.h"

#include <QPainterPath>

#include <cstdint>
#include <vector>

class QPainter;

namespace kvscope {

struct Theme;

/// Sector paths of a ring's marks. They depend on size and capacity alone, so that a new token
/// costs fills and no geometry.
class RingMarks
{
public:
    RingMarks() = default;
    RingMarks(const RingFrame& frame, std::int64_t capacity);

    bool isFor(const RingFrame& frame, std::int64_t capacity) const;
    const RingFrame& frame() const { return m_frame; }

    /// Fills every held mark with its age and outlines what is empty; slots that are outside the
    /// window but not overwritten are hatched.
    void paint(QPainter& painter, const RingPositions& ring, const Theme& theme) const;

private:
    RingFrame m_frame;
    std::int64_t m_capacity = 0;
    std::vector<QPainterPath> m_paths;
};

} // namespace kvscope
