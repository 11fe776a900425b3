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
    double angleAt(std::int64_t mark) const;
    /// Marks [from, to) as an outline: one by one while they have gaps, else as one piece.
    QPainterPath unfilled(std::int64_t from, std::int64_t to) const;
    void paintUnfilled(QPainter& painter, const QPainterPath& empty, const QPainterPath& outside,
                       const Theme& theme) const;

    RingFrame m_frame;
    std::int64_t m_capacity = 0;
    bool m_hasGap = false;
    std::vector<QPainterPath> m_paths;
};

} // namespace kvscope
