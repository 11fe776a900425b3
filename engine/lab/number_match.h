#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// The numbers that a text states, in order, written without separators: "Berth 58, for 40,517
/// crates" gives 58 and 40517. A number ends where its digits do; groups of three behind commas
/// belong to it, and so does a decimal part ("3.50" is one number). Digits behind an ASCII letter
/// or
/// "_" are part of a word ("B52") and left out, and so are ordinals ("7th"); other letters behind
/// them are a unit ("375g"). ASCII digits alone count.
std::vector<std::string> numbersIn(std::string_view text);

/// Whether the text states exactly this number: 48 is in "pier 48." but neither in "481", "3.48"
/// nor "48,000". \param number  ASCII digits
/// Source: long-context chapter, Inference Lab increment (contains_answer).
bool containsNumber(std::string_view text, std::string_view number);

} // namespace kvscope
