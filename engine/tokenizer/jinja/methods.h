#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

#include <string>
#include <string_view>

namespace kvscope::jinja {

/// A method of a built-in type. \param subject  is of that type
using Method = Value (*)(Run& run, const Value& subject, const Arguments& arguments);

/// Null where Python's str has none of that name, or it is not read here.
Method findTextMethod(std::string_view name);

/// str.isupper or str.islower.
bool hasOnlyCase(Run& run, const std::string& text, bool isUpperWanted);

} // namespace kvscope::jinja
