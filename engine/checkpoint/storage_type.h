#pragma once

// Read by the CUDA compiler too: nothing but the type.

namespace kvscope {

/// How a tensor's elements are stored. Block formats hold 32 or 256 neighbouring elements of one
/// row per block; kernels/block_readers.h takes them apart. d and m are float16 unless stated.
/// Source: ggml/docs gguf.md (type numbers), ggml-quants (block layouts).
enum class StorageType {
    F64,
    F32,
    F16,
    BF16,
    I64,
    I32,
    I16,
    I8,
    U8,
    Bool,
    Q8_0,   ///< 34 bytes: float16 scale d, 32 x int8 q; x = d q
    Q4_0,   ///< 18 bytes: float16 d, 16 bytes; element i is the low nibble of byte i, i + 16 the
            ///< high; x = d (q - 8)
    Q4_1,   ///< 20 bytes: float16 d, float16 m, 16 bytes as Q4_0; x = d q + m
    Q5_0,   ///< 22 bytes: d, 32 fifth bits, 16 bytes as Q4_0; x = d (q - 16)
    Q5_1,   ///< 24 bytes: d, m, 32 fifth bits, 16 bytes as Q4_0; x = d q + m
    IQ4_NL, ///< 18 bytes: as Q4_0, the nibbles being indices of 16 fixed 8-bit integers
    MXFP4,  ///< 17 bytes: an exponent (E8M0), 16 bytes as Q4_0, the nibbles being E2M1 floats
    Q2_K,   ///< 256 in 84 bytes: 16 pairs of 4-bit scale and offset, 64 bytes of 2-bit q, d, m
    Q3_K,   ///< 256 in 110 bytes: 32 bytes of third bits, 64 of the low two, 16 6-bit scales, d
    Q4_K,   ///< 256 in 144 bytes: d, m, 8 pairs of 6-bit scale and offset, 128 bytes of nibbles
    Q5_K,   ///< 256 in 176 bytes: as Q4_K, 32 bytes of fifth bits before the nibbles
    Q6_K,   ///< 256 in 210 bytes: 128 bytes of nibbles, 64 of the high two bits, 16 8-bit scales, d
    Q8_K,   ///< 256 in 292 bytes: float32 d, 256 x int8 q, 16 sums that are not read; x = d q
    IQ4_XS, ///< 256 in 136 bytes: d, 8 6-bit scales, 128 bytes as IQ4_NL
};

} // namespace kvscope
