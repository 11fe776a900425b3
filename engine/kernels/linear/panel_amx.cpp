#include "engine/kernels/linear/panel_amx.h"

#include "engine/kernels/linear/transpose_eight.h"

namespace kvscope::amx {

namespace {

// A tile is 16 rows of 64 bytes. Four of them gather the sums of 32 rows of x and 32 rows of W; of
// either, a step of 32 columns takes two tiles of high parts and two of low ones (Intel 64 and
// IA-32 Architectures Software Developer's Manual, TDPBF16PS).
constexpr int kTileRows = 16;
constexpr int kStep = 32;
constexpr int kSide = 2 * kTileRows;
constexpr std::int64_t kTileElements = kTileRows * kStep;
constexpr std::int64_t kPartElements = 2 * kTileElements;
constexpr std::int64_t kRowBytes = 64;

struct Parts
{
    HalfLanes high;
    HalfLanes low;
};

/// Rounded to bfloat16, ties to even; NaN stays NaN.
KVSCOPE_INLINE UIntLanes roundedBits(Lanes x)
{
    const auto bits = reinterpret_cast<UIntLanes>(x);
    const UIntLanes rounded = (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
    return x == x ? rounded : bits >> 16 | 0x40;
}

KVSCOPE_INLINE Parts takenApart(Lanes x)
{
    const UIntLanes high = roundedBits(x);
    const UIntLanes low = roundedBits(x - reinterpret_cast<Lanes>(high << 16));
    return {reinterpret_cast<HalfLanes>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(high))),
            reinterpret_cast<HalfLanes>(_mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(low)))};
}

/// 32 columns of a row, of which `count` are there, to high[0 .. 32) and low[0 .. 32).
KVSCOPE_INLINE void storeParts(const float* from, std::int64_t count, std::uint16_t* high,
                               std::uint16_t* low)
{
    for (int half = 0; half < kStep; half += kLanes) {
        const std::int64_t left = count - half;
        const Parts parts = takenApart(left > 0 ? loadUpTo(from + half, left) : Lanes{});
        __builtin_memcpy(high + half, &parts.high, sizeof parts.high);
        __builtin_memcpy(low + half, &parts.low, sizeof parts.low);
    }
}

/// The same of numbers that are bfloat16 themselves.
KVSCOPE_INLINE void storeBFloat16(const float* from, std::int64_t count, std::uint16_t* to)
{
    for (int half = 0; half < kStep; half += kLanes) {
        const std::int64_t left = count - half;
        const Lanes x = left > 0 ? loadUpTo(from + half, left) : Lanes{};
        const __m256i bits =
            _mm512_cvtepi32_epi16(reinterpret_cast<__m512i>(reinterpret_cast<UIntLanes>(x) >> 16));
        __builtin_memcpy(to + half, &bits, sizeof bits);
    }
}

/// By step: two tiles of high parts, rows 0 to 15 and 16 to 31, and two of low parts.
void prepareRows(const float* x, int rows, std::int64_t cols, float* prepared)
{
    auto* to = reinterpret_cast<std::uint16_t*>(prepared);
    for (std::int64_t col = 0; col < cols; col += kStep, to += 2 * kPartElements)
        for (int r = 0; r < kSide; ++r)
            storeParts(x + r * cols + col, r < rows ? cols - col : 0, to + r * kStep,
                       to + kPartElements + r * kStep);
}

/// 16 rows of 32 bfloat16 as a tile on the right of a product: pairs of columns become rows.
KVSCOPE_INLINE void storePairsAsRows(const std::uint16_t* rows, std::uint16_t* tile)
{
    // A pair is moved as a float is.
    float pairs[kTileRows * kTileRows];
    float turned[kTileRows * kTileRows];
    __builtin_memcpy(pairs, rows, sizeof pairs);
    for (int r = 0; r < kTileRows; r += 8)
        for (int pair = 0; pair < kTileRows; pair += 8)
            transposeEight(pairs + r * kTileRows + pair, kTileRows, turned + pair * kTileRows + r,
                           kTileRows);
    __builtin_memcpy(tile, turned, sizeof turned);
}

/// By step: two tiles of high parts, rows 0 to 15 and 16 to 31 of W, and, if asked for, two of low
/// parts.
template <bool HasLowParts>
void interleave(const float* rows, std::int64_t depth, float* panel)
{
    auto* to = reinterpret_cast<std::uint16_t*>(panel);
    std::uint16_t high[kTileElements];
    std::uint16_t low[kTileElements];
    for (std::int64_t col = 0; col < depth; col += kStep) {
        for (int half = 0; half < 2; ++half) {
            for (int r = 0; r < kTileRows; ++r) {
                const float* row = rows + (half * kTileRows + r) * depth + col;
                if (HasLowParts)
                    storeParts(row, depth - col, high + r * kStep, low + r * kStep);
                else
                    storeBFloat16(row, depth - col, high + r * kStep);
            }
            storePairsAsRows(high, to + half * kTileElements);
            if (HasLowParts)
                storePairsAsRows(low, to + kPartElements + half * kTileElements);
        }
        to += (HasLowParts ? 2 : 1) * kPartElements;
    }
}

// Tiles 0 to 3 are the sums: rows 0 to 15 of x with both tiles of W, then rows 16 to 31. 4 and 5
// are x, 6 and 7 are W.
KVSCOPE_INLINE void multiplyLoaded()
{
    _tile_dpbf16ps(0, 4, 6);
    _tile_dpbf16ps(1, 4, 7);
    _tile_dpbf16ps(2, 5, 6);
    _tile_dpbf16ps(3, 5, 7);
}

KVSCOPE_INLINE void loadX(const std::uint16_t* part)
{
    _tile_loadd(4, part, kRowBytes);
    _tile_loadd(5, part + kTileElements, kRowBytes);
}

KVSCOPE_INLINE void loadW(const std::uint16_t* part)
{
    _tile_loadd(6, part, kRowBytes);
    _tile_loadd(7, part + kTileElements, kRowBytes);
}

/// Adds to y where `adds`; all 32 rows and columns are there.
template <bool HasLowParts>
void multiplyWhole(const PanelTile& tile, float* y, std::int64_t yStride, bool adds)
{
    asm volatile("" ::: "memory"); // g++ 12 does not know that loading tiles reads y
    const auto bytes = yStride * static_cast<std::int64_t>(sizeof(float));
    float* lower = y + kTileRows * yStride;
    if (adds) {
        _tile_loadd(0, y, bytes);
        _tile_loadd(1, y + kTileRows, bytes);
        _tile_loadd(2, lower, bytes);
        _tile_loadd(3, lower + kTileRows, bytes);
    } else {
        _tile_zero(0);
        _tile_zero(1);
        _tile_zero(2);
        _tile_zero(3);
    }
    const auto* x = reinterpret_cast<const std::uint16_t*>(tile.x);
    const auto* w = reinterpret_cast<const std::uint16_t*>(tile.panel);
    for (std::int64_t col = 0; col < tile.depth; col += kStep) {
        loadX(x);
        if constexpr (HasLowParts) {
            loadW(w + kPartElements);
            multiplyLoaded(); // high x times low W
        }
        loadW(w);
        multiplyLoaded();
        loadX(x + kPartElements);
        multiplyLoaded(); // low x times high W
        x += 2 * kPartElements;
        w += (HasLowParts ? 2 : 1) * kPartElements;
    }
    _tile_stored(0, y, bytes);
    _tile_stored(1, y + kTileRows, bytes);
    _tile_stored(2, lower, bytes);
    _tile_stored(3, lower + kTileRows, bytes);
}

template <bool HasLowParts>
void multiplyTile(const PanelTile& tile)
{
    if (tile.rows == kSide)
        return multiplyWhole<HasLowParts>(tile, tile.y, tile.yStride, tile.adds);
    // Through memory of its own, in the same order of additions.
    alignas(64) float sums[kSide * kSide];
    const auto bytes = sizeof(float) * kSide;
    if (tile.adds)
        for (int r = 0; r < kSide; ++r) {
            if (r < tile.rows)
                __builtin_memcpy(sums + r * kSide, tile.y + r * tile.yStride, bytes);
            else
                __builtin_memset(sums + r * kSide, 0, bytes);
        }
    multiplyWhole<HasLowParts>(tile, sums, kSide, tile.adds);
    for (int r = 0; r < tile.rows; ++r)
        __builtin_memcpy(tile.y + r * tile.yStride, sums + r * kSide, bytes);
}

/// The memory operand of LDTILECFG.
struct alignas(64) TileShapes
{
    std::uint8_t palette = 1;
    std::uint8_t startRow = 0;
    std::uint8_t reserved[14] = {};
    std::uint16_t rowBytes[16] = {kRowBytes, kRowBytes, kRowBytes, kRowBytes,
                                  kRowBytes, kRowBytes, kRowBytes, kRowBytes};
    std::uint8_t rows[16] = {kTileRows, kTileRows, kTileRows, kTileRows,
                             kTileRows, kTileRows, kTileRows, kTileRows};
};
static_assert(sizeof(TileShapes) == 64);

// The matrix library remembers which shapes it set: they are put back.
void begin(void* saved)
{
    // g++ 12 takes the operand of both for 8 bytes: of an object on the stack it would leave out
    // the other 56.
    static constexpr TileShapes kShapes;
    _tile_storeconfig(saved);
    asm volatile("" ::: "memory");
    _tile_loadconfig(&kShapes);
}

void end(const void* saved)
{
    _tile_loadconfig(saved);
}

template <bool HasLowParts>
constexpr PanelKernels kernelsOf()
{
    // By instructions counted, not measured: expanding 32 by 32 weights costs as much as about four
    // tiles of x (low parts: six). 192 columns are 24 KiB of a panel and 24 KiB of x.
    return {kSide,
            kSide,
            kStep,
            192,
            24,
            4 * kSide,
            multiplyTile<HasLowParts>,
            interleave<HasLowParts>,
            prepareRows,
            begin,
            end};
}

} // namespace

constinit const PanelKernels kPanels = kernelsOf<true>();
constinit const PanelKernels kPanelsOfBFloat16 = kernelsOf<false>();

} // namespace kvscope::amx
