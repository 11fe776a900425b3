#include "engine/kernels/linear/block_formats.h"
#include "engine/kernels/linear/linear_paths.h"
#include "engine/kernels/linear/panel_kernels.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#ifdef KVSCOPE_X86
#include "engine/kernels/linear/panel_amx.h"
#include "engine/kernels/linear/panel_avx2.h"
#include "engine/kernels/linear/panel_avx512.h"
#include "engine/kernels/linear/panel_integers.h"
#endif

namespace kvscope {

namespace {

// Blocks as BLIS has them: a panel of about 20 KiB stays in the first cache while rows of x pass
// by, rows of x (up to 240 KiB) in the second while panels pass by, and a slice of panels (up to
// 320 KiB) at hand in the last. Gathering those rows side by side gained nothing at [4096, 4096].
constexpr std::int64_t kRowsPerBlock = 192; // whole tiles of 6, 12 or 32
constexpr std::int64_t kWeightRowsPerSlice = 256;
// Shares of the work, so that threads end at about the same time.
constexpr std::int64_t kSharesPerThread = 4;

std::int64_t ceilingOf(std::int64_t a, std::int64_t b)
{
    return (a + b - 1) / b;
}

/// Columns of the weight that are multiplied at a time: even parts, of whole blocks.
std::int64_t depthOf(const WeightMatrix& weight, const PanelKernels& kernels)
{
    const std::int64_t block =
        isQuantized(weight.type) ? blockElements(weight.type) : std::max(8, kernels.step);
    const std::int64_t blocks = ceilingOf(weight.cols, block);
    const std::int64_t mostBlocks = std::max<std::int64_t>(1, kernels.mostDepth / block);
    return ceilingOf(blocks, ceilingOf(blocks, mostBlocks)) * block;
}

/// x as the kernels want it.
class PreparedRows
{
public:
    PreparedRows(const at::Tensor& x, const PanelKernels& kernels)
        : m_tileRows(kernels.tileRows)
        , m_cols(x.size(1))
        , m_x(x)
    {
        if (kernels.prepareRows == nullptr)
            return;
        m_tileFloats = ceilingOf(m_cols, kernels.step) * kernels.step * m_tileRows;
        const std::int64_t rows = x.size(0);
        const std::int64_t tiles = ceilingOf(rows, m_tileRows);
        m_prepared = at::empty({tiles, m_tileFloats}, x.options());
        auto* to = m_prepared.mutable_data_ptr<float>();
        const auto* from = x.const_data_ptr<float>();
        at::parallel_for(0, tiles, 1, [&](std::int64_t first, std::int64_t end) {
            for (std::int64_t tile = first; tile < end; ++tile) {
                const std::int64_t row = tile * m_tileRows;
                kernels.prepareRows(from + row * m_cols,
                                    static_cast<int>(std::min(m_tileRows, rows - row)), m_cols,
                                    to + tile * m_tileFloats);
            }
        });
    }

    /// \param row  the first of a tile
    const float* at(std::int64_t row, std::int64_t col) const
    {
        if (m_prepared.defined())
            return m_prepared.const_data_ptr<float>() + row / m_tileRows * m_tileFloats +
                   col * m_tileRows;
        return m_x.const_data_ptr<float>() + row * m_cols + col;
    }

private:
    std::int64_t m_tileRows;
    std::int64_t m_cols;
    std::int64_t m_tileFloats = 0;
    const at::Tensor& m_x;
    at::Tensor m_prepared;
};

/// Rows [firstRow, endRow) of x times panels of W.
class PanelProduct
{
public:
    PanelProduct(const at::Tensor& x, const WeightMatrix& weight, const at::Tensor& y,
                 const PanelKernels& kernels)
        : m_kernels(kernels)
        , m_decode(formatKernels(weight.type, bestInstructionSet()).decode)
        , m_weight(weight)
        , m_bytes(static_cast<const std::byte*>(weight.data.const_data_ptr()))
        , m_rowBytes(bytesPerRow(weight.type, weight.cols))
        , m_depth(depthOf(weight, kernels))
        , m_panelFloats(ceilingOf(m_depth, kernels.step) * kernels.step * kernels.width)
        , m_x(x, kernels)
        , m_y(y.mutable_data_ptr<float>())
    {
    }

    void multiply(std::int64_t firstRow, std::int64_t endRow, std::int64_t firstPanel,
                  std::int64_t endPanel) const
    {
        const Scratch scratch = scratchOfThread();
        alignas(64) std::byte saved[64];
        if (m_kernels.begin != nullptr)
            m_kernels.begin(saved);
        for (std::int64_t slice = firstPanel; slice < endPanel; slice += panelsPerSlice()) {
            const std::int64_t endSlice = std::min(slice + panelsPerSlice(), endPanel);
            for (std::int64_t col = 0; col < m_weight.cols; col += m_depth) {
                for (std::int64_t panel = slice; panel < endSlice; ++panel)
                    makePanel(panel, col, scratch.expanded,
                              scratch.panels + (panel - slice) * m_panelFloats);
                for (std::int64_t row = firstRow; row < endRow; row += kRowsPerBlock) {
                    const std::int64_t endBlock = std::min(row + kRowsPerBlock, endRow);
                    for (std::int64_t panel = slice; panel < endSlice; ++panel)
                        multiplyBlock(row, endBlock, panel, col,
                                      scratch.panels + (panel - slice) * m_panelFloats);
                }
            }
        }
        if (m_kernels.end != nullptr)
            m_kernels.end(saved);
    }

private:
    struct Scratch
    {
        float* expanded; ///< [width, m_depth]
        float* panels;   ///< [panelsPerSlice(), m_panelFloats]
    };

    std::int64_t panelsPerSlice() const { return kWeightRowsPerSlice / m_kernels.width; }

    /// Kept from call to call: memory as large as this would be asked of the system each time.
    /// Begins with a cache line, so that no load of a panel takes two.
    Scratch scratchOfThread() const
    {
        constexpr std::int64_t kLine = 64 / sizeof(float);
        thread_local std::vector<float> kept;
        const auto needed =
            static_cast<std::size_t>((1 + panelsPerSlice()) * m_panelFloats + kLine);
        kept.resize(std::max(kept.size(), needed));
        const auto address = reinterpret_cast<std::uintptr_t>(kept.data()) / sizeof(float);
        float* first = kept.data() + (kLine - static_cast<std::int64_t>(address % kLine)) % kLine;
        return {first, first + m_panelFloats};
    }

    std::int64_t depthAt(std::int64_t col) const { return std::min(m_depth, m_weight.cols - col); }

    void makePanel(std::int64_t panel, std::int64_t col, float* expanded, float* to) const
    {
        const std::int64_t depth = depthAt(col);
        const std::int64_t first = panel * m_kernels.width;
        const std::int64_t offset = col > 0 ? bytesPerRow(m_weight.type, col) : 0;
        for (std::int64_t r = 0; r < m_kernels.width; ++r) {
            // Beyond the last row nothing is read from the panel: any row will do.
            const std::int64_t row = std::min(first + r, m_weight.rows - 1);
            m_decode(m_bytes + row * m_rowBytes + offset, expanded + r * depth, depth);
        }
        m_kernels.interleave(expanded, depth, to);
    }

    void multiplyBlock(std::int64_t firstRow, std::int64_t endRow, std::int64_t panel,
                       std::int64_t col, const float* weights) const
    {
        PanelTile tile;
        tile.xStride = m_weight.cols;
        tile.panel = weights;
        tile.depth = depthAt(col);
        tile.yStride = m_weight.rows;
        tile.adds = col > 0;
        const std::int64_t first = panel * m_kernels.width;
        const std::int64_t width = std::min<std::int64_t>(m_kernels.width, m_weight.rows - first);
        for (std::int64_t row = firstRow; row < endRow; row += m_kernels.tileRows) {
            tile.rows = static_cast<int>(std::min<std::int64_t>(m_kernels.tileRows, endRow - row));
            tile.x = m_x.at(row, col);
            tile.y = m_y + row * m_weight.rows + first;
            if (width == m_kernels.width)
                m_kernels.multiplyTile(tile);
            else
                multiplyNarrow(tile, width);
        }
    }

    /// The last panel, where it has fewer rows of W than others.
    void multiplyNarrow(PanelTile tile, std::int64_t width) const
    {
        float wide[kMostTileRows * kMostPanelWidth];
        float* y = tile.y;
        const std::int64_t stride = tile.yStride;
        const bool adds = tile.adds;
        tile.y = wide;
        tile.yStride = m_kernels.width;
        tile.adds = false;
        m_kernels.multiplyTile(tile);
        for (std::int64_t r = 0; r < tile.rows; ++r)
            for (std::int64_t i = 0; i < width; ++i)
                y[r * stride + i] =
                    wide[r * m_kernels.width + i] + (adds ? y[r * stride + i] : 0.0F);
    }

    const PanelKernels& m_kernels;
    DecodeRow m_decode;
    const WeightMatrix& m_weight;
    const std::byte* m_bytes;
    std::int64_t m_rowBytes;
    std::int64_t m_depth;
    std::int64_t m_panelFloats;
    PreparedRows m_x;
    float* m_y;
};

} // namespace

const PanelKernels* panelKernels(InstructionSet instructions)
{
    switch (instructions) {
#ifdef KVSCOPE_X86
    case InstructionSet::Avx512:
        return &avx512::kPanels;
    case InstructionSet::Avx2:
        return &avx2::kPanels;
#endif
    default:
        return nullptr;
    }
}

const PanelKernels* tileKernels(StorageType type)
{
#ifdef KVSCOPE_X86
    if (hasTiles())
        return type == StorageType::BF16 ? &amx::kPanelsOfBFloat16 : &amx::kPanels;
#endif
    return nullptr;
}

const PanelKernels* integerKernels()
{
#ifdef KVSCOPE_X86
    if (hasVnni())
        return &avx512::kIntegerPanels;
    if (hasAvxVnni())
        return &avx2::kIntegerPanels;
#endif
    return nullptr;
}

at::Tensor linearPanels(const at::Tensor& x, const WeightMatrix& weight,
                        const PanelKernels& kernels)
{
    const at::Tensor y = at::empty({x.size(0), weight.rows}, x.options());
    if (y.numel() == 0)
        return y;
    const PanelProduct product(x, weight, y, kernels);
    const std::int64_t rows = x.size(0);
    const std::int64_t numPanels = ceilingOf(weight.rows, kernels.width);
    // Where there are few panels for many threads, rows of x are shared out too.
    const std::int64_t wanted =
        at::get_num_threads() > 1 ? kSharesPerThread * at::get_num_threads() : 1;
    const std::int64_t mostShares = std::max<std::int64_t>(1, rows / kernels.fewestRowsOfShare);
    const std::int64_t shares = std::min(ceilingOf(wanted, numPanels), mostShares);
    const std::int64_t rowsPerShare =
        ceilingOf(ceilingOf(rows, shares), kernels.tileRows) * kernels.tileRows;
    const std::int64_t rowShares = ceilingOf(rows, rowsPerShare);
    at::parallel_for(0, rowShares * numPanels, 1, [&](std::int64_t first, std::int64_t end) {
        for (std::int64_t share = first / numPanels; share * numPanels < end; ++share) {
            const std::int64_t firstRow = share * rowsPerShare;
            const std::int64_t endRow = std::min(firstRow + rowsPerShare, rows);
            if (firstRow < endRow)
                product.multiply(firstRow, endRow,
                                 std::max(first - share * numPanels, std::int64_t{0}),
                                 std::min(end - share * numPanels, numPanels));
        }
    });
    return y;
}

} // namespace kvscope
