#pragma once

#include <string>
#include <string_view>

namespace kvscope {

/// oneLine() of a text from a file; what is longer than 120 bytes is cut with an ellipsis.
std::string printable(std::string_view text);

/// Throws CheckpointError "FILE: WHY" as one line, whatever a file was named.
/// \param file  the file's name, without its folder
[[noreturn]] void failIn(std::string_view file, const std::string& why);

} // namespace kvscope
