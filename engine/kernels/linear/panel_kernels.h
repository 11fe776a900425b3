#pragma once

#include <cstdint>

namespace kvscope {

// The hot loops of linear() with many rows of x, on raw pointers; includes nothing more, for the
// reason that linear_kernels.h gives. Weights are expanded to float32 and laid out in panels, some
// rows of W side by side, in whatever order the loops want.

/// Some rows of x times one panel.
struct PanelTile
{
    const float* x = nullptr; ///< [rows, xStride], of which `depth` columns are read; or what
                              ///< PanelKernels::prepareRows made of them
    std::int64_t xStride = 0;
    const float* panel = nullptr; ///< as PanelKernels::interleave left it
    std::int64_t depth = 0;
    float* y = nullptr; ///< [rows, yStride], PanelKernels::width columns are written
    std::int64_t yStride = 0;
    int rows = 0;      ///< 1 to PanelKernels::tileRows
    bool adds = false; ///< to y, which is otherwise overwritten
};

/// One instruction set's loops.
struct PanelKernels
{
    int width;     ///< rows of W in a panel, at most kMostPanelWidth
    int tileRows;  ///< rows of x in a tile, at most kMostTileRows
    int step;      ///< columns are multiplied in steps of so many, the last one padded with 0
    int mostDepth; ///< columns multiplied at a time, so that a panel (and a tile of x, where those
                   ///< are prepared) stays in the first cache
    int mostFewRows;       ///< up to this many rows of x, reading the weight in place is faster
    int fewestRowsOfShare; ///< rows of x that make up for expanding a panel once more
    void (*multiplyTile)(const PanelTile& tile);
    /// \param rows  [width, depth]
    /// \param panel  as many floats, depth rounded up to whole steps
    void (*interleave)(const float* rows, std::int64_t depth, float* panel);
    /// Null: rows of x are read as they are. Otherwise tileRows of them become prepared, which
    /// takes as many floats, columns rounded up to whole steps; those of column c begin at
    /// c * tileRows. \param x  [rows, cols], rows being at most tileRows
    void (*prepareRows)(const float* x, int rows, std::int64_t cols, float* prepared) = nullptr;
    /// Called by each thread before its first tile and after its last. Null: nothing to do.
    /// \param saved  64 bytes for the kernels' own use
    void (*begin)(void* saved) = nullptr;
    void (*end)(const void* saved) = nullptr;
};
constexpr int kMostPanelWidth = 32;
constexpr int kMostTileRows = 32;

} // namespace kvscope
