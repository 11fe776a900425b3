#pragma once

#include <string>
#include <string_view>

namespace kvscope {

/// Text from a file made fit for one line of an error message: ill-formed UTF-8 and control
/// characters become U+FFFD, and what is longer than 120 bytes is cut with an ellipsis.
std::string printable(std::string_view text);

/// Throws CheckpointError "FILE: WHY".
/// \param file  the file's name, without its folder
[[noreturn]] void failIn(std::string_view file, const std::string& why);

} // namespace kvscope
