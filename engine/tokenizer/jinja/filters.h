#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

#include <string_view>

namespace kvscope::jinja {

/// `subject | name(arguments)`. \throws TemplateError for an unknown filter or what it cannot do
Value applyFilter(Run& run, std::string_view name, const Value& subject,
                  const Arguments& arguments);

/// `subject is name(arguments)`. \throws TemplateError for an unknown test or what it cannot do
bool applyTest(Run& run, std::string_view name, const Value& subject, const Arguments& arguments);

using Filter = Value (*)(Run& run, const Value& subject, const Arguments& arguments);

/// The filter of that name among those of one file, or null: of texts; of lists and dicts; those
/// that apply another filter, a test or an attribute; of numbers and all else.
Filter findTextFilter(std::string_view name);
Filter findSequenceFilter(std::string_view name);
Filter findSelectionFilter(std::string_view name);
Filter findValueFilter(std::string_view name);

} // namespace kvscope::jinja
