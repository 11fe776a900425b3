#pragma once

#include <cstdint>

namespace kvscope {

// The hot loops of linear() with many rows of x, on raw pointers; includes nothing more, for the
// reason that linear_kernels.h gives. Weights are expanded to float32 and laid out in panels:
// kPanelWidth rows of W side by side, so that one row of the panel is a column of W^T.

constexpr int kPanelWidth = 16;
/// Rows of x in a tile: 12 sums, two vectors of weights and one of x fill the 16 registers of AVX2
/// (the shape of BLIS's kernel for Haswell and Zen; Van Zee and van de Geijn, ACM TOMS 41, 2015).
constexpr int kTileRows = 6;

/// Some rows of x times one panel.
struct PanelTile
{
    const float* x = nullptr; ///< [rows, xStride], of which `depth` columns are read
    std::int64_t xStride = 0;
    const float* panel = nullptr; ///< [depth, kPanelWidth]
    std::int64_t depth = 0;
    float* y = nullptr; ///< [rows, yStride], kPanelWidth columns are written
    std::int64_t yStride = 0;
    int rows = 0;      ///< 1 to kTileRows
    bool adds = false; ///< to y, which is otherwise overwritten
};

/// One instruction set's loops.
struct PanelKernels
{
    void (*multiplyTile)(const PanelTile& tile);
    /// panel[d][r] = rows[r][d]. \param rows  [kPanelWidth, depth]
    void (*interleave)(const float* rows, std::int64_t depth, float* panel);
};

} // namespace kvscope
