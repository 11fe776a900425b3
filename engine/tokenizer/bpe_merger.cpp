#include "engine/tokenizer/bpe_merger.h"

#include "engine/base/errors.h"
#include "engine/base/utf8.h"
#include "engine/checkpoint/checkpoint.h"

#include <algorithm>
#include <functional>
#include <string>

namespace kvscope {
namespace {

constexpr int kAlphabetEnd = 0x144; ///< one past the last character of the alphabet

/// Bytes that stand for themselves in the alphabet: the printable ones of Latin-1.
bool isItself(int byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// Byte by character, -1 for characters outside the alphabet. The bytes that do not stand for
/// themselves take the characters from U+0100 on, in order.
std::array<std::int16_t, kAlphabetEnd> makeByteOfCharacter()
{
    std::array<std::int16_t, kAlphabetEnd> byteOf{};
    byteOf.fill(-1);
    std::size_t next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
        const std::size_t character = isItself(byte) ? static_cast<std::size_t>(byte) : next++;
        byteOf[character] = static_cast<std::int16_t>(byte);
    }
    return byteOf;
}

using TokenIndex = std::unordered_map<std::string_view, std::int32_t>;

std::optional<std::int32_t> find(const TokenIndex& index, std::string_view token)
{
    const auto found = index.find(token);
    return found == index.end() ? std::nullopt : std::optional(found->second);
}

std::uint64_t pairKey(std::int32_t left, std::int32_t right)
{
    return std::uint64_t{static_cast<std::uint32_t>(left)} << 32U |
           static_cast<std::uint32_t>(right);
}

} // namespace

std::optional<std::string> bytesFromAlphabet(std::string_view token)
{
    static const auto kByteOfCharacter = makeByteOfCharacter();
    std::string bytes;
    bytes.reserve(token.size());
    for (std::size_t at = 0; at < token.size();) {
        const auto lead = static_cast<std::uint8_t>(token[at]);
        std::size_t character = lead;
        std::size_t length = 1;
        if (lead >= 0x80) {
            // All of the alphabet beyond ASCII is two bytes of UTF-8.
            if (lead < 0xC2 || lead > 0xDF || at + 1 == token.size())
                return std::nullopt;
            const auto second = static_cast<std::uint8_t>(token[at + 1]);
            if ((second & 0xC0U) != 0x80U)
                return std::nullopt;
            character = (lead & 0x1FU) << 6U | (second & 0x3FU);
            length = 2;
        }
        if (character >= kByteOfCharacter.size() || kByteOfCharacter[character] < 0)
            return std::nullopt;
        bytes.push_back(static_cast<char>(kByteOfCharacter[character]));
        at += length;
    }
    return bytes;
}

BpeMerger::BpeMerger(const BpeVocabulary& vocabulary)
{
    m_byteTokens.fill(-1);
    TokenIndex index;
    index.reserve(vocabulary.tokens.size());
    for (std::size_t id = 0; id < vocabulary.tokens.size(); ++id) {
        const std::string& token = vocabulary.tokens[id];
        // Text taken literally never becomes a control token, whatever the merges of a file say.
        if (vocabulary.types[id] == kControlTokenType ||
            !index.try_emplace(token, static_cast<std::int32_t>(id)).second)
            continue;
        if (const auto bytes = bytesFromAlphabet(token); bytes && bytes->size() == 1)
            m_byteTokens[static_cast<std::uint8_t>((*bytes)[0])] = static_cast<std::int32_t>(id);
    }
    m_merges.reserve(vocabulary.merges.size());
    m_ranks.reserve(vocabulary.merges.size());
    for (std::size_t rank = 0; rank < vocabulary.merges.size(); ++rank) {
        const std::string_view merge = vocabulary.merges[rank];
        const std::size_t space = merge.find(' ');
        const std::string_view left = merge.substr(0, space);
        const std::string_view right = space == merge.npos ? "" : merge.substr(space + 1);
        const auto leftToken = find(index, left);
        const auto rightToken = find(index, right);
        const auto merged = find(index, std::string(left).append(right));
        if (!leftToken || !rightToken || !merged) {
            throw TokenizerError(
                "Merge " + std::to_string(rank) + " of the vocabulary ('" + toValidUtf8(merge) +
                "') is not two of its tokens making a third; the file is probably damaged.");
        }
        m_merges.push_back({*leftToken, *rightToken, *merged});
        m_ranks.try_emplace(pairKey(*leftToken, *rightToken), static_cast<std::uint32_t>(rank));
    }
}

std::optional<std::uint64_t> BpeMerger::candidate(const Scratch& scratch, std::int32_t left) const
{
    if (left < 0)
        return std::nullopt;
    const Scratch::Symbol& symbol = scratch.symbols[static_cast<std::size_t>(left)];
    if (symbol.next < 0)
        return std::nullopt;
    const Scratch::Symbol& right = scratch.symbols[static_cast<std::size_t>(symbol.next)];
    const auto rank = m_ranks.find(pairKey(symbol.token, right.token));
    if (rank == m_ranks.end())
        return std::nullopt;
    return std::uint64_t{rank->second} << 32U | static_cast<std::uint32_t>(left);
}

void BpeMerger::offer(Scratch& scratch, std::int32_t left) const
{
    if (const auto offered = candidate(scratch, left)) {
        scratch.heap.push_back(*offered);
        std::ranges::push_heap(scratch.heap, std::greater{});
    }
}

void BpeMerger::encodeWord(std::string_view word, Scratch& scratch,
                           std::vector<std::int64_t>& ids) const
{
    auto& symbols = scratch.symbols;
    auto& heap = scratch.heap;
    const auto at = [&](std::int32_t i) -> Scratch::Symbol& {
        return symbols[static_cast<std::size_t>(i)];
    };
    symbols.clear();
    heap.clear();
    const auto count = static_cast<std::int32_t>(word.size());
    for (std::int32_t i = 0; i < count; ++i) {
        const auto byte = static_cast<std::uint8_t>(word[static_cast<std::size_t>(i)]);
        symbols.push_back({m_byteTokens[byte], i - 1, i + 1 < count ? i + 1 : -1});
    }
    for (std::int32_t i = 0; i + 1 < count; ++i) {
        if (const auto offered = candidate(scratch, i))
            heap.push_back(*offered);
    }
    std::ranges::make_heap(heap, std::greater{});
    while (!heap.empty()) {
        std::ranges::pop_heap(heap, std::greater{});
        const Merge& merge = m_merges[heap.back() >> 32U];
        const auto leftIndex = static_cast<std::int32_t>(heap.back() & 0xFFFF'FFFFU);
        heap.pop_back();
        // Candidates stay when one of their symbols merges elsewhere; they are stale then.
        Scratch::Symbol& left = at(leftIndex);
        if (left.token != merge.left || left.next < 0 || at(left.next).token != merge.right)
            continue;
        Scratch::Symbol& right = at(left.next);
        left.token = merge.merged;
        left.next = right.next;
        right.token = -1;
        if (left.next >= 0)
            at(left.next).previous = leftIndex;
        offer(scratch, left.previous);
        offer(scratch, leftIndex);
    }
    for (std::int32_t i = count > 0 ? 0 : -1; i >= 0; i = at(i).next)
        ids.push_back(at(i).token);
}

} // namespace kvscope
