#pragma once

// AMX's tiles on any processor, by the operations' definitions (Intel 64 and IA-32 Architectures
// Software Developer's Manual).

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <limits>

namespace kvscope::tiles_on_cpu {
namespace {

constexpr int kTiles = 8;
constexpr int kMostRows = 16;
constexpr int kMostRowBytes = 64;

struct State
{
    std::uint8_t shapes[64] = {};
    std::uint8_t data[kTiles][kMostRows][kMostRowBytes] = {};

    int rows(int tile) const { return shapes[48 + tile]; }
    int rowBytes(int tile) const { return shapes[16 + 2 * tile] | shapes[17 + 2 * tile] << 8; }
};

thread_local State state;

/// What the processor would raise a fault for.
[[maybe_unused]] void need(bool isRight)
{
    if (!isRight)
        std::abort();
}

[[maybe_unused]] void loadConfig(const void* from)
{
    state = {};
    std::memcpy(state.shapes, from, sizeof state.shapes);
    if (state.shapes[0] == 0) {
        std::memset(state.shapes, 0, sizeof state.shapes);
        return;
    }
    need(state.shapes[0] == 1);
    for (int tile = 0; tile < kTiles; ++tile)
        need(state.rows(tile) <= kMostRows && state.rowBytes(tile) <= kMostRowBytes);
}

[[maybe_unused]] void storeConfig(void* to)
{
    std::memcpy(to, state.shapes, sizeof state.shapes);
}

[[maybe_unused]] void load(int tile, const void* base, std::int64_t stride)
{
    need(state.shapes[0] == 1 && state.rows(tile) > 0);
    for (int row = 0; row < state.rows(tile); ++row)
        std::memcpy(state.data[tile][row], static_cast<const char*>(base) + row * stride,
                    static_cast<std::size_t>(state.rowBytes(tile)));
}

[[maybe_unused]] void store(int tile, void* base, std::int64_t stride)
{
    need(state.shapes[0] == 1 && state.rows(tile) > 0);
    for (int row = 0; row < state.rows(tile); ++row)
        std::memcpy(static_cast<char*>(base) + row * stride, state.data[tile][row],
                    static_cast<std::size_t>(state.rowBytes(tile)));
}

[[maybe_unused]] void zero(int tile)
{
    need(state.shapes[0] == 1);
    std::memset(state.data[tile], 0, sizeof state.data[tile]);
}

/// A float of a tile.
[[maybe_unused]] float floatAt(int tile, int row, int col)
{
    float value = 0;
    std::memcpy(&value, &state.data[tile][row][4 * col], sizeof value);
    return value;
}

/// A bfloat16 of a tile; what is below the smallest normal number counts as 0.
[[maybe_unused]] float bfloat16At(int tile, int row, int col)
{
    std::uint32_t bits = 0;
    std::memcpy(reinterpret_cast<char*>(&bits) + 2, &state.data[tile][row][2 * col], 2);
    float value = 0;
    std::memcpy(&value, &bits, sizeof value);
    return std::abs(value) < std::numeric_limits<float>::min() ? 0.0F : value;
}

/// sums += a b, b having pairs of rows side by side.
[[maybe_unused]] void multiplyBFloat16(int sums, int a, int b)
{
    need(state.rows(sums) == state.rows(a) && state.rowBytes(sums) == state.rowBytes(b) &&
         state.rowBytes(a) / 4 == state.rows(b));
    for (int m = 0; m < state.rows(sums); ++m)
        for (int n = 0; n < state.rowBytes(sums) / 4; ++n) {
            float even = 0.0F;
            float odd = 0.0F;
            for (int pair = 0; pair < state.rows(b); ++pair) {
                even += bfloat16At(a, m, 2 * pair) * bfloat16At(b, pair, 2 * n);
                odd += bfloat16At(a, m, 2 * pair + 1) * bfloat16At(b, pair, 2 * n + 1);
            }
            const float sum = floatAt(sums, m, n) + (even + odd);
            std::memcpy(&state.data[sums][m][4 * n], &sum, sizeof sum);
        }
}

} // namespace
} // namespace kvscope::tiles_on_cpu

#undef _tile_loadd
#undef _tile_stored
#undef _tile_zero
#undef _tile_dpbf16ps
#define _tile_loadconfig(from) kvscope::tiles_on_cpu::loadConfig(from)
#define _tile_storeconfig(to) kvscope::tiles_on_cpu::storeConfig(to)
#define _tile_loadd(tile, base, stride) kvscope::tiles_on_cpu::load(tile, base, stride)
#define _tile_stored(tile, base, stride) kvscope::tiles_on_cpu::store(tile, base, stride)
#define _tile_zero(tile) kvscope::tiles_on_cpu::zero(tile)
#define _tile_dpbf16ps(sums, a, b) kvscope::tiles_on_cpu::multiplyBFloat16(sums, a, b)
