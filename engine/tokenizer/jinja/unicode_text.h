#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

/// Python's view of text, as code points, over UTF-8. A byte that is not well-formed counts as a
/// character of its own and is kept as it is.
namespace kvscope::jinja {

struct CodePoint
{
    char32_t value = 0; ///< 0xFFFFFFFF for a byte that is no character
    std::size_t bytes = 1;
};

/// The character at byte `at`, which must be inside.
CodePoint codePointAt(std::string_view text, std::size_t at);
/// The characters of `text`, each as its bytes.
std::vector<std::string_view> characters(std::string_view text);
std::size_t countCharacters(std::string_view text);
void appendUtf8(std::string& text, char32_t c);

/// str.isspace of one character.
bool isSpace(char32_t c);
/// Whether str.splitlines breaks there.
bool isLineBreak(char32_t c);
/// Whether repr() shows the character itself.
bool isPrintable(char32_t c);
/// A decimal digit (Nd), a letter (L*).
bool isDecimal(char32_t c);
bool isLetter(char32_t c);
bool isUpper(char32_t c);
bool isLower(char32_t c);

/// Case by the simple mappings of single characters (and "ß" to "SS").
std::string upperCase(std::string_view text);
std::string lowerCase(std::string_view text);

enum class Sides { Left, Right, Both };
/// `text` without white space at its sides, or without the characters of `set`.
std::string_view stripped(std::string_view text, Sides sides);
std::string_view stripped(std::string_view text, Sides sides, std::string_view set);

std::vector<std::string_view> splitLines(std::string_view text);

/// The first `needle` at or after byte `from`, in linear time; npos where there is none.
std::size_t findText(std::string_view text, std::string_view needle, std::size_t from = 0);
/// Where each `needle` begins, from the right and without overlap, at most `most` of them.
std::vector<std::size_t> findFromRight(std::string_view text, std::string_view needle,
                                       std::size_t most);

/// A slice's bounds over `length` items, as Python's slice.indices.
struct SliceRange
{
    std::int64_t start = 0;
    std::int64_t step = 1;
    std::size_t count = 0;

    /// The index of item `i` of the slice, which is below `count`.
    std::size_t at(std::size_t i) const
    {
        return static_cast<std::size_t>(start + step * static_cast<std::int64_t>(i));
    }
};
/// \param step  not 0
SliceRange sliceRange(std::optional<std::int64_t> start, std::optional<std::int64_t> stop,
                      std::int64_t step, std::size_t length);

} // namespace kvscope::jinja
