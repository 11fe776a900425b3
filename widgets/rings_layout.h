#pragma once

#include "widgets/ring_geometry.h"

#include <QRectF>

#include <vector>

namespace kvscope {

/// A small ring and the text beside it.
struct SmallRingCell
{
    QRectF cell;
    RingFrame frame;
    QRectF text;
};

/// Where everything of the Rings panel lies. What does not fit is dropped in this order: the
/// caption, the legend, columns of small rings, rows of small rings (the last cell then says how
/// many more).
struct RingsLayout
{
    QRectF mainArea;
    RingFrame main;
    std::vector<SmallRingCell> small; ///< as many as fit, in layer order
    QRectF more;                      ///< where "and 7 more" goes; empty where all fit
    QRectF legend;                    ///< empty where there is no room
    QRectF caption;                   ///< empty where there is no room
};

/// \param area  of the panel  \param smallRings  windowed layers beside the large one
RingsLayout layOutRings(const QRectF& area, int smallRings);

} // namespace kvscope
