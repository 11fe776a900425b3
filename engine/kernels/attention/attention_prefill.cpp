#include "engine/kernels/attention/attention_cpu.h"
#include "engine/kernels/cache_lines.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <array>
#include <atomic>
#include <utility>

namespace kvscope {

namespace {

constexpr std::int64_t kMinTileRows = 32;
constexpr std::int64_t kSerialWork = 100'000;
constexpr std::int64_t kLineFloats = 64 / sizeof(float);

std::int64_t roundUp(std::int64_t n, std::int64_t multiple)
{
    return (n + multiple - 1) / multiple * multiple;
}

/// One thread's working memory for tiles of some number of rows.
class TileScratch
{
public:
    TileScratch(std::int64_t rows, std::int64_t headDim, const PrefillSimd& simd)
        : m_accStride(roundUp(headDim, simd.panel))
    {
        const std::int64_t forSimd =
            simd.scratchFloats != nullptr
                ? simd.scratchFloats(static_cast<int>(rows), headDim, m_accStride)
                : 0;
        const std::array parts{
            std::pair{&q, rows * headDim},
            std::pair{&keys, simd.blockKeys * m_accStride},
            std::pair{&values, simd.blockKeys * m_accStride},
            std::pair{&scores, simd.blockKeys * rows},
            std::pair{&acc, rows * m_accStride},
            std::pair{&max, rows},
            std::pair{&sum, rows},
            std::pair{&alpha, rows},
            std::pair{&ofSimd, forSimd},
        };
        std::int64_t total = 0;
        for (const auto& [part, size] : parts)
            total += roundUp(size, kLineFloats);
        thread_local CacheLines<float> memory;
        memory.reserve(static_cast<std::size_t>(total));
        float* next = memory.data();
        for (const auto& [part, size] : parts)
            *part = std::exchange(next, next + roundUp(size, kLineFloats));
    }
    std::int64_t accStride() const { return m_accStride; }

    // Each begins with a cache line.
    float* q = nullptr;      ///< [rows / panel, D, panel]
    float* keys = nullptr;   ///< [blockKeys, accStride]
    float* values = nullptr; ///< [blockKeys, accStride]
    float* scores = nullptr; ///< [blockKeys, rows]
    float* acc = nullptr;    ///< [rows, accStride]
    float* max = nullptr;    ///< [rows]
    float* sum = nullptr;    ///< [rows]
    float* alpha = nullptr;  ///< [rows]
    float* ofSimd = nullptr; ///< PrefillBlock::scratch

private:
    std::int64_t m_accStride;
};

/// Rows [firstRow, firstRow + numRows) of one key/value head.
struct Tile
{
    std::int64_t batch = 0;
    std::int64_t kvHead = 0;
    std::int64_t firstRow = 0;
    std::int64_t numRows = 0;
};

/// Scales the tile's queries and lays panels of them side by side; missing rows become 0.
void packQueries(const CpuAttention& call, std::int64_t panel, const Tile& tile,
                 std::int64_t paddedRows, float* packed)
{
    for (std::int64_t i = 0; i < paddedRows; ++i) {
        float* to = packed + i / panel * panel * call.headDim + i % panel;
        const float* from =
            i < tile.numRows ? call.q + call.rowOffset(tile.batch, tile.kvHead, tile.firstRow + i)
                             : nullptr;
        for (std::int64_t d = 0; d < call.headDim; ++d)
            to[d * panel] = from != nullptr ? from[d] * call.scale : 0.0F;
    }
}

/// Float rows of keys or values: where they lie if they can be used so, otherwise converted to
/// `scratch`.
struct FloatRows
{
    const float* data;
    std::int64_t stride;
};
FloatRows floatRows(const KVRows& rows, int numKeys, std::int64_t headDim, std::int64_t columns,
                    float* scratch, const AttentionSimd& simd)
{
    if (rows.type == KVType::Float32 && headDim == columns)
        return {reinterpret_cast<const float*>(rows.data), rows.stride};
    simd.toFloat(rows, numKeys, headDim, scratch, columns);
    return {scratch, columns};
}

/// Whether keys and values have been rounded by more than attention_integers.h rounds.
bool isRounded(const CpuAttention& call)
{
    const auto isOfFewBits = [](const KVPiece& piece) {
        return piece.type != KVType::Float32 && piece.type != KVType::Float16;
    };
    return std::all_of(call.pieces.begin(), call.pieces.begin() + call.numPieces, isOfFewBits);
}

const PrefillSimd& prefillOf(const CpuAttention& call, const AttentionSimd& simd)
{
    const bool rounds = simd.roundedPrefill != nullptr && !call.isExact && isRounded(call);
    return rounds ? *simd.roundedPrefill : simd.prefill;
}

/// The first position that a tile reads. Where loops round it is the beginning of a block, counted
/// from a piece's first position, so that what a row gets does not depend on the rows that happen
/// to share its tile.
std::int64_t firstKey(const CpuAttention& call, const Tile& tile, const PrefillSimd& simd)
{
    const auto visible = call.visibleBegin(tile.firstRow);
    if (!simd.isRounding)
        return visible;
    for (std::size_t i = 0; i < call.numPieces; ++i) {
        const auto start = call.pieces[i].firstPosition;
        if (visible >= start && visible < start + call.pieces[i].length)
            return start + (visible - start) / simd.blockKeys * simd.blockKeys;
    }
    return visible;
}

void attendTile(const CpuAttention& call, const AttentionSimd& simd, const PrefillSimd& prefill,
                const Tile& tile)
{
    const auto paddedRows = roundUp(tile.numRows, prefill.panel);
    const TileScratch scratch(paddedRows, call.headDim, prefill);
    packQueries(call, prefill.panel, tile, paddedRows, scratch.q);
    std::fill_n(scratch.max, paddedRows, kNoScore);
    std::fill_n(scratch.sum, paddedRows, 0.0F);
    std::fill_n(scratch.acc, paddedRows * scratch.accStride(), 0.0F);

    PrefillBlock block;
    block.q = scratch.q;
    block.numRows = static_cast<int>(paddedRows);
    block.headDim = call.headDim;
    block.softCap = call.softCap;
    block.scores = scratch.scores;
    block.alpha = scratch.alpha;
    block.scratch = scratch.ofSimd;
    block.state = {scratch.max, scratch.sum, scratch.acc, scratch.accStride()};

    if (prefill.prepareQueries != nullptr)
        prefill.prepareQueries(block);

    // Rows that only pad the last panel are finished by nobody, whatever they see.
    std::array<VisibleKeys, PrefillSimd::kMostRows> visible{};
    const auto end = call.position(tile.firstRow + tile.numRows - 1) + 1;
    call.forBlocks(firstKey(call, tile, prefill), end, prefill.blockKeys,
                   [&](const KVPiece& piece, std::int64_t from, std::int64_t to) {
                       const auto skipped = from - piece.firstPosition;
                       block.numKeys = static_cast<int>(to - from);
                       const auto keys = floatRows(
                           piece.keyRows(tile.batch, tile.kvHead).from(skipped), block.numKeys,
                           call.headDim, scratch.accStride(), scratch.keys, simd);
                       const auto values = floatRows(
                           piece.valueRows(tile.batch, tile.kvHead).from(skipped), block.numKeys,
                           call.headDim, scratch.accStride(), scratch.values, simd);
                       block.keys = keys.data;
                       block.keyStride = keys.stride;
                       block.values = values.data;
                       block.valueStride = values.stride;
                       const bool isMasked =
                           call.fillVisible(tile.firstRow, tile.numRows, from, to, visible.data());
                       block.visible = isMasked ? visible.data() : nullptr;
                       prefill.block(block);
                   });
    for (std::int64_t i = 0; i < tile.numRows; ++i)
        call.finishRow(tile.batch, tile.kvHead, tile.firstRow + i, scratch.max[i], scratch.sum[i],
                       scratch.acc + i * scratch.accStride());
}

/// Rows a tile: as many as pay for packing and converting, but fewer where threads would go
/// without.
std::int64_t tileRows(const CpuAttention& call, const PrefillSimd& simd)
{
    const auto heads = call.batch * call.numKvHeads;
    const auto wanted = call.numRows() * heads / (2 * at::get_num_threads());
    return std::clamp<std::int64_t>(roundUp(wanted, simd.panel), kMinTileRows, simd.mostRows);
}

} // namespace

void attendPrefill(const CpuAttention& call, const AttentionSimd& simd)
{
    const PrefillSimd& prefill = prefillOf(call, simd);
    const auto rowsPerTile = tileRows(call, prefill);
    const auto tilesPerHead = (call.numRows() + rowsPerTile - 1) / rowsPerTile;
    const auto heads = call.batch * call.numKvHeads;
    const auto numTiles = heads * tilesPerHead;

    // Tiles differ in work (the last ones see the most keys), so threads fetch them, the heaviest
    // first.
    std::atomic<std::int64_t> next{0};
    const auto fetchTiles = [&](std::int64_t, std::int64_t) {
        for (auto i = next.fetch_add(1); i < numTiles; i = next.fetch_add(1)) {
            const auto head = i % heads;
            const auto firstRow = (tilesPerHead - 1 - i / heads) * rowsPerTile;
            const auto numRows = std::min(rowsPerTile, call.numRows() - firstRow);
            attendTile(call, simd, prefill,
                       {head / call.numKvHeads, head % call.numKvHeads, firstRow, numRows});
        }
    };
    const auto numKeys = call.position(call.numRows() - 1) + 1 - call.visibleBegin(0);
    const bool isParallel = call.numRows() * heads * numKeys * call.headDim >= kSerialWork;
    const auto threads = isParallel ? std::min<std::int64_t>(at::get_num_threads(), numTiles) : 1;
    at::parallel_for(0, threads, 1, fetchTiles);
}

} // namespace kvscope
