#include "engine/tokenizer/byte_alphabet.h"

#include <array>
#include <cstddef>
#include <cstdint>

namespace kvscope {
namespace {

constexpr int kAlphabetEnd = 0x144; ///< one past the last character of the alphabet

/// Bytes that stand for themselves in the alphabet: the printable ones of Latin-1.
constexpr bool isItself(int byte)
{
    return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

struct Alphabet
{
    std::array<std::int16_t, kAlphabetEnd> byteOf{}; ///< -1 for characters outside
    std::array<std::uint16_t, 256> characterOf{};
};

/// The bytes that do not stand for themselves take the characters from U+0100 on, in order.
constexpr Alphabet makeAlphabet()
{
    Alphabet alphabet;
    alphabet.byteOf.fill(-1);
    int next = 0x100;
    for (int byte = 0; byte < 256; ++byte) {
        const int character = isItself(byte) ? byte : next++;
        alphabet.byteOf[static_cast<std::size_t>(character)] = static_cast<std::int16_t>(byte);
        alphabet.characterOf[static_cast<std::size_t>(byte)] =
            static_cast<std::uint16_t>(character);
    }
    return alphabet;
}

constexpr Alphabet kAlphabet = makeAlphabet();

} // namespace

std::optional<std::string> bytesFromAlphabet(std::string_view token)
{
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
        if (character >= kAlphabet.byteOf.size() || kAlphabet.byteOf[character] < 0)
            return std::nullopt;
        bytes.push_back(static_cast<char>(kAlphabet.byteOf[character]));
        at += length;
    }
    return bytes;
}

void appendInAlphabet(std::string& text, std::string_view bytes)
{
    for (const char byte : bytes) {
        const unsigned character = kAlphabet.characterOf[static_cast<std::uint8_t>(byte)];
        if (character < 0x80) {
            text.push_back(static_cast<char>(character));
        } else {
            text.push_back(static_cast<char>(0xC0U | character >> 6U));
            text.push_back(static_cast<char>(0x80U | (character & 0x3FU)));
        }
    }
}

} // namespace kvscope
