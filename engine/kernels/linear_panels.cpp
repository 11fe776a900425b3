#include "engine/kernels/block_formats.h"
#include "engine/kernels/linear_paths.h"
#include "engine/kernels/panel_kernels.h"

#include <ATen/Parallel.h>
#include <ATen/ops/empty.h>

#include <algorithm>
#include <vector>

#ifdef KVSCOPE_AVX2
#include "engine/kernels/panel_avx2.h"
#endif

namespace kvscope {

namespace {

// Blocks as BLIS has them: a panel of 20 KiB stays in the first cache while rows of x pass by, rows
// of x (up to 240 KiB) in the second while panels pass by, and a slice of panels (320 KiB) at hand
// in the last. Gathering those rows side by side gained nothing at [4096, 4096].
constexpr std::int64_t kMostDepth = 320;
constexpr std::int64_t kRowsPerBlock = 32 * kTileRows;
constexpr std::int64_t kPanelsPerSlice = 16;
// Shares of the work, so that threads end at about the same time, and the fewest rows of x that
// make up for expanding a panel once more.
constexpr std::int64_t kSharesPerThread = 4;
constexpr std::int64_t kFewestRowsOfShare = 4 * kTileRows;

/// Columns of the weight that are multiplied at a time: even parts, of whole blocks.
std::int64_t depthOf(const WeightMatrix& weight)
{
    const std::int64_t block = isQuantized(weight.type) ? blockElements(weight.type) : 8;
    const std::int64_t blocks = (weight.cols + block - 1) / block;
    const std::int64_t mostBlocks = std::max<std::int64_t>(1, kMostDepth / block);
    const std::int64_t parts = (blocks + mostBlocks - 1) / mostBlocks;
    return (blocks + parts - 1) / parts * block;
}

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
        , m_depth(depthOf(weight))
        , m_x(x.const_data_ptr<float>())
        , m_y(y.mutable_data_ptr<float>())
    {
    }

    void multiply(std::int64_t firstRow, std::int64_t endRow, std::int64_t firstPanel,
                  std::int64_t endPanel) const
    {
        const Scratch scratch = scratchOfThread();
        const std::int64_t panelFloats = m_depth * kPanelWidth;
        for (std::int64_t slice = firstPanel; slice < endPanel; slice += kPanelsPerSlice) {
            const std::int64_t endSlice = std::min(slice + kPanelsPerSlice, endPanel);
            for (std::int64_t col = 0; col < m_weight.cols; col += m_depth) {
                for (std::int64_t panel = slice; panel < endSlice; ++panel)
                    makePanel(panel, col, scratch.expanded,
                              scratch.panels + (panel - slice) * panelFloats);
                for (std::int64_t row = firstRow; row < endRow; row += kRowsPerBlock) {
                    const std::int64_t endBlock = std::min(row + kRowsPerBlock, endRow);
                    for (std::int64_t panel = slice; panel < endSlice; ++panel)
                        multiplyBlock(row, endBlock, panel, col,
                                      scratch.panels + (panel - slice) * panelFloats);
                }
            }
        }
    }

private:
    struct Scratch
    {
        float* expanded; ///< [kPanelWidth, m_depth]
        float* panels;   ///< [kPanelsPerSlice, m_depth, kPanelWidth]
    };

    /// Kept from call to call: memory as large as this would be asked of the system each time.
    /// Begins with a cache line, so that no load of a panel takes two.
    Scratch scratchOfThread() const
    {
        constexpr std::int64_t kLine = 64 / sizeof(float);
        thread_local std::vector<float> kept;
        const std::int64_t panels = (1 + kPanelsPerSlice) * kPanelWidth;
        const auto needed = static_cast<std::size_t>(panels * m_depth + kLine);
        kept.resize(std::max(kept.size(), needed));
        const auto address = reinterpret_cast<std::uintptr_t>(kept.data()) / sizeof(float);
        float* first = kept.data() + (kLine - static_cast<std::int64_t>(address % kLine)) % kLine;
        return {first, first + kPanelWidth * m_depth};
    }

    std::int64_t depthAt(std::int64_t col) const { return std::min(m_depth, m_weight.cols - col); }

    void makePanel(std::int64_t panel, std::int64_t col, float* expanded, float* to) const
    {
        const std::int64_t depth = depthAt(col);
        const std::int64_t first = panel * kPanelWidth;
        const std::int64_t offset = col > 0 ? bytesPerRow(m_weight.type, col) : 0;
        for (std::int64_t r = 0; r < kPanelWidth; ++r) {
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
        const std::int64_t width =
            std::min<std::int64_t>(kPanelWidth, m_weight.rows - panel * kPanelWidth);
        for (std::int64_t row = firstRow; row < endRow; row += kTileRows) {
            tile.rows = static_cast<int>(std::min<std::int64_t>(kTileRows, endRow - row));
            tile.x = m_x + row * m_weight.cols + col;
            tile.y = m_y + row * m_weight.rows + panel * kPanelWidth;
            if (width == kPanelWidth)
                m_kernels.multiplyTile(tile);
            else
                multiplyNarrow(tile, width);
        }
    }

    /// The last panel, where it has less than kPanelWidth rows of W.
    void multiplyNarrow(PanelTile tile, std::int64_t width) const
    {
        float wide[kTileRows * kPanelWidth];
        float* y = tile.y;
        const std::int64_t stride = tile.yStride;
        const bool adds = tile.adds;
        tile.y = wide;
        tile.yStride = kPanelWidth;
        tile.adds = false;
        m_kernels.multiplyTile(tile);
        for (std::int64_t r = 0; r < tile.rows; ++r)
            for (std::int64_t i = 0; i < width; ++i)
                y[r * stride + i] = wide[r * kPanelWidth + i] + (adds ? y[r * stride + i] : 0.0F);
    }

    const PanelKernels& m_kernels;
    DecodeRow m_decode;
    const WeightMatrix& m_weight;
    const std::byte* m_bytes;
    std::int64_t m_rowBytes;
    std::int64_t m_depth;
    const float* m_x;
    float* m_y;
};

const PanelKernels* panelKernels()
{
#ifdef KVSCOPE_AVX2
    if (bestInstructionSet() == InstructionSet::Avx2)
        return &avx2::kPanels;
#endif
    return nullptr;
}

} // namespace

bool hasPanelProducts()
{
    return panelKernels() != nullptr;
}

at::Tensor linearPanels(const at::Tensor& x, const WeightMatrix& weight)
{
    TORCH_CHECK(hasPanelProducts(), "linear: no panels on this processor");
    const at::Tensor y = at::empty({x.size(0), weight.rows}, x.options());
    if (y.numel() == 0)
        return y;
    const PanelProduct product(x, weight, y, *panelKernels());
    const std::int64_t rows = x.size(0);
    const std::int64_t numPanels = (weight.rows + kPanelWidth - 1) / kPanelWidth;
    // Where there are few panels for many threads, rows of x are shared out too.
    const auto ceiling = [](std::int64_t a, std::int64_t b) { return (a + b - 1) / b; };
    const std::int64_t wanted =
        at::get_num_threads() > 1 ? kSharesPerThread * at::get_num_threads() : 1;
    const std::int64_t mostShares = std::max<std::int64_t>(1, rows / kFewestRowsOfShare);
    const std::int64_t rowsPerShare =
        ceiling(ceiling(rows, std::min(ceiling(wanted, numPanels), mostShares)), kTileRows) *
        kTileRows;
    const std::int64_t rowShares = ceiling(rows, rowsPerShare);
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
