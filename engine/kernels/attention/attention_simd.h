#pragma once

#include <cstddef>
#include <cstdint>

namespace kvscope {

/// How keys and values are stored; Int8 and Fp8 as engine/cache/scaled_rows.h has them.
enum class KVType : std::uint8_t { Float32, BFloat16, Float16, Int8, Fp8 };

/// Keys (or values) of some consecutive positions of one head.
struct KVRows
{
    const std::byte* data = nullptr; ///< element 0 of the first position
    std::int64_t stride = 0;         ///< elements from one position to the next
    KVType type = KVType::Float32;

    std::int64_t elementBytes() const { return type == KVType::Float32 ? 4 : hasScales() ? 1 : 2; }
    bool hasScales() const { return type == KVType::Int8 || type == KVType::Fp8; }
    KVRows from(std::int64_t position) const
    {
        return {data + position * stride * elementBytes(), stride, type};
    }
};

/// The keys lo <= j < hi of a block that a query row may see, counted from the block's first.
struct VisibleKeys
{
    std::int32_t lo = 0;
    std::int32_t hi = 0;
};

/// Running softmax of some query rows (Milakov and Gimelshein 2018, algorithm 3): over the keys
/// seen so far, the largest score, the sum of exp(score - max), and the values weighted by the
/// same.
struct SoftmaxState
{
    float* max = nullptr; ///< [rows]
    float* sum = nullptr; ///< [rows]
    float* acc = nullptr; ///< [rows, accStride], the first headDim columns in use, the others 0
    std::int64_t accStride = 0;
};

/// Scores below any that occur; finite, so that a row that has seen no key yet gives exp(0) = 1 and
/// not NaN.
inline constexpr float kNoScore = -1e30F;

/// A few query rows of one key/value head against a block of its keys, each read once.
struct DecodeBlock
{
    static constexpr int kMaxKeys = 64;
    static constexpr int kMaxRows = 16;

    const float* q = nullptr;  ///< [rows, SoftmaxState::accStride], already scaled, padded with 0
    float* qScratch = nullptr; ///< as large as q
    int numRows = 0;
    int numKeys = 0;
    std::int64_t headDim = 0;
    KVRows keys;
    KVRows values;
    float softCap = 0.0F;                 ///< 0: none
    const VisibleKeys* visible = nullptr; ///< [rows]; null: every row sees every key
    bool isStreamed = false; ///< whether keys and values come from memory: AttentionSettings
    SoftmaxState state;
};

/// Many query rows of one key/value head against a block of its keys.
struct PrefillBlock
{
    const float* q = nullptr; ///< [rows / panel, headDim, panel], already scaled
    int numRows = 0;          ///< a multiple of the panel
    int numKeys = 0;
    std::int64_t headDim = 0;
    const float* keys = nullptr; ///< [numKeys, keyStride]
    std::int64_t keyStride = 0;
    const float* values =
        nullptr; ///< [numKeys, valueStride], readable for SoftmaxState::accStride columns
    std::int64_t valueStride = 0;
    float softCap = 0.0F;                 ///< 0: none
    const VisibleKeys* visible = nullptr; ///< [rows]; null: every row sees every key
    float* scores = nullptr;              ///< scratch [numKeys, rows]
    float* alpha = nullptr;               ///< scratch [rows]
    float* scratch = nullptr;             ///< PrefillSimd::scratchFloats() of them
    SoftmaxState state;
};

/// Loops over blocks of many queries and keys.
struct PrefillSimd
{
    static constexpr int kMostRows = 192; ///< above every mostRows
    int panel;     ///< query rows that lie side by side in PrefillBlock::q; accStride is a multiple
    int blockKeys; ///< keys of a block, at most: with mostRows the scores, keys and values of a
                   ///< block stay in the second cache
    int mostRows;  ///< query rows of a block, a multiple of panel
    bool isRounding; ///< by a row's largest weight so far, which depends on where blocks begin
    void (*block)(const PrefillBlock& block);
    /// Called once for a tile of queries, before its first block. Null: nothing to do.
    void (*prepareQueries)(const PrefillBlock& block) = nullptr;
    /// Working memory of a tile. Null: none.
    std::int64_t (*scratchFloats)(int numRows, std::int64_t headDim,
                                  std::int64_t accStride) = nullptr;
};

/// One instruction set's inner loops.
struct AttentionSimd
{
    const char* name;
    int lanes; ///< floats in a vector
    void (*decodeBlock)(const DecodeBlock& block);
    /// out[i * outStride + d] = rows[i][d]; columns from headDim to outStride become 0.
    void (*toFloat)(KVRows rows, int numRows, std::int64_t headDim, float* out,
                    std::int64_t outStride);
    PrefillSimd prefill;
    /// Where keys and values are bfloat16 or of 8 bits: loops that round less. Null: none.
    const PrefillSimd* roundedPrefill = nullptr;
};

/// Runs on every processor that the compiler aims at.
extern const AttentionSimd kAttentionPlain;
/// AVX2, FMA and F16C; only in builds for x86-64.
extern const AttentionSimd kAttentionAvx2;
/// AVX-512 (InstructionSet::Avx512); only in builds for x86-64.
extern const AttentionSimd kAttentionAvx512;

/// The fastest that this processor can run, with the loops of attention_integers.h where it has
/// their instructions.
const AttentionSimd& attentionSimd();

} // namespace kvscope
