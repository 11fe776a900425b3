#pragma once

#include <ctime>
#include <string>
#include <string_view>

namespace kvscope::jinja {

/// The machine's local time.
std::tm localNow();

/// strftime in English whatever the locale: %a %A %b %B %c %d %D %e %f %F %H %I %j %m %M %p %R %S
/// %T %u %w %x %X %y %Y %Z %z %%, with `-` for no leading zero.
/// \throws TemplateError for another one, or a format of more than 1,000 bytes
std::string formatTime(std::string_view format, const std::tm& time);

} // namespace kvscope::jinja
