#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

#include <string>
#include <string_view>

namespace kvscope::jinja {

/// `text % values`: %s %r %d %i %f %e %g %x %X %o %c %%, with flags, width, precision and names.
/// \throws TemplateError
Value formatPercent(Run& run, std::string_view text, const Value& values);

/// text.format(...): fields by position, number or name, `.name` and `[index]` behind, !s and !r,
/// and fill, alignment, sign, zeros, width, comma, precision and type of the usual types.
/// \throws TemplateError
Value formatBraces(Run& run, std::string_view text, const Arguments& arguments);

} // namespace kvscope::jinja
