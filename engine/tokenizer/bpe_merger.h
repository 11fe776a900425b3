#pragma once

#include <array>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <unordered_map>
#include <vector>

namespace kvscope {

struct BpeVocabulary;

/// The GGUF token types that matter to encoding. Source: ggml docs/gguf.md,
/// tokenizer.ggml.token_type.
constexpr std::int32_t kControlTokenType = 3;
constexpr std::int32_t kUserDefinedTokenType = 4;

/// The byte string that `token` spells in GPT-2's alphabet of printable characters (space is
/// U+0120), or nothing where it holds a character outside it. Source: OpenAI GPT-2 encoder.py,
/// bytes_to_unicode.
std::optional<std::string> bytesFromAlphabet(std::string_view token);

/// The merges of a byte-level BPE vocabulary, and merging itself: the pair of lowest rank first, of
/// equal ones the leftmost. Immutable, so any thread may use it.
class BpeMerger
{
public:
    /// Working memory of encodeWord, kept between words to spare allocations.
    struct Scratch
    {
        struct Symbol
        {
            std::int32_t token;
            std::int32_t previous; ///< -1 at the front
            std::int32_t next;     ///< -1 at the end
        };
        std::vector<Symbol> symbols;
        std::vector<std::uint64_t> heap; ///< (rank << 32 | left symbol), the least on top
    };

    /// \throws TokenizerError for a merge that is not two tokens making a third, naming it.
    explicit BpeMerger(const BpeVocabulary& vocabulary);

    /// Whether single byte `byte` has a token; text that holds one without cannot be encoded.
    bool hasToken(std::uint8_t byte) const { return m_byteTokens[byte] >= 0; }

    /// Appends the tokens of one stretch of text. O(n log n) in its bytes: a linked list of symbols
    /// and a heap of candidate pairs. \param word  shorter than 2^31 bytes, each of which has a
    /// token
    void encodeWord(std::string_view word, Scratch& scratch, std::vector<std::int64_t>& ids) const;

private:
    struct Merge
    {
        std::int32_t left;
        std::int32_t right;
        std::int32_t merged;
    };
    /// The candidate for merging symbol `left` with its right neighbour, where there is one.
    std::optional<std::uint64_t> candidate(const Scratch& scratch, std::int32_t left) const;
    void offer(Scratch& scratch, std::int32_t left) const;

    std::array<std::int32_t, 256> m_byteTokens{};             ///< -1 where the byte has no token
    std::vector<Merge> m_merges;                              ///< by rank
    std::unordered_map<std::uint64_t, std::uint32_t> m_ranks; ///< (left << 32 | right) to rank
};

} // namespace kvscope
