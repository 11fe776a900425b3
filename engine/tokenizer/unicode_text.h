#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace kvscope {

/// One character of a text and the bytes it spans.
struct CodePoint
{
    std::int32_t value = 0;
    std::size_t length = 1;
};

/// The character that begins at byte `at`, which is inside `text`. A byte that begins none stands
/// for itself, so that a walk through any bytes ends.
CodePoint codePointAt(std::string_view text, std::size_t at);
void appendCodePoint(std::string& text, std::int32_t codePoint);

/// Unicode's White_Space property, which is what \s means to the references' regex engines.
bool isWhiteSpace(std::int32_t codePoint);
/// Letters, marks, digits of any script, connectors such as the underscore, and joiners: \w to
/// Rust's regex crate.
bool isWordCharacter(std::int32_t codePoint);

/// The four normal forms of Unicode Standard Annex 15.
enum class NormalForm { Composed, Decomposed, CompatibilityComposed, CompatibilityDecomposed };

/// `text` in that form. O(n log n), also for endless runs of combining marks.
/// \param text  well-formed UTF-8
std::string normalized(std::string_view text, NormalForm form);
/// Every character's own lower case, whatever stands around it.
std::string lowerCased(std::string_view text);
/// Without the marks (general category M); decompose first to part them from their letters.
std::string withoutMarks(std::string_view text);

} // namespace kvscope
