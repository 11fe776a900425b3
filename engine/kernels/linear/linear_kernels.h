#pragma once

#include <cstddef>
#include <cstdint>

namespace kvscope {

// The hot loops of linear() on raw pointers, one set of functions for each instruction set. This
// header is read by files compiled for newer processors than the rest, so it includes nothing that
// brings inline functions along: the linker could keep their copy and run it on an older processor.

/// y = x W^T, few inputs, seen by the loop that reads W. Which inputs are read depends on the loop:
/// those over float formats read `x`, those over block formats `quantized` and `scaleAndSum`.
struct RowProduct
{
    const std::byte* weight = nullptr; ///< row 0, at any alignment
    std::int64_t rowBytes = 0;
    std::int64_t cols = 0;                   ///< in
    const float* x = nullptr;                ///< [numInputs, cols]
    const std::int16_t* quantized = nullptr; ///< [numInputs, cols]: x / scale, rounded
    const float* scaleAndSum =
        nullptr; ///< [numInputs, cols / 32, 2]: scale, scale * sum of quantized; in the order that
                 ///< the format's QuantizeRow gives them
    std::int64_t numInputs = 0;
    float* y = nullptr; ///< [numInputs, yStride]; row r of W gives element r of each
    std::int64_t yStride = 0;
    bool isStreamed = false; ///< whether the weights, being more than the last cache holds, come
                             ///< from memory each time; a hint, which decode steps give
};

/// Computes y for the rows [firstRow, endRow) of W.
using MultiplyRows = void (*)(const RowProduct& product, std::int64_t firstRow,
                              std::int64_t endRow);
/// Expands one row of `cols` elements to float32.
using DecodeRow = void (*)(const std::byte* row, float* out, std::int64_t cols);

/// Rounds `cols` inputs to integers of 16 bits in blocks of 32, scale = largest magnitude / 32767.
/// The sum of 32 products with 8-bit weights then fits 32 bits. Error: at most scale / 2 an
/// element, that is 1.5e-5 of the block's largest. A block with a NaN or an infinity gets a NaN
/// scale; one whose largest magnitude is below 1e-30 becomes zero, its inverse scale having no
/// float.
using QuantizeRow = void (*)(const float* x, std::int64_t cols, std::int16_t* quantized,
                             float* scaleAndSum);

/// What linear() needs for one storage type.
struct FormatKernels
{
    DecodeRow decode = nullptr;
    MultiplyRows multiply = nullptr;
    QuantizeRow quantize =
        nullptr; ///< what multiply's inputs go through first; null: it reads floats
};

constexpr float kSmallestQuantizable = 1e-30F;
constexpr float kLargestQuantized = 32767.0F;

} // namespace kvscope
