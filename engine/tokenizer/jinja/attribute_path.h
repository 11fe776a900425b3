#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

namespace kvscope::jinja {

/// What `attribute=` of a filter gives of an item: the item itself for none, `item[name]`, or with
/// dots `item[a][b]`, where parts of digits are numbers.
/// \param attribute  null, None, a text or a number
/// \throws TemplateError where something on the way is undefined
Value attributeByPath(Run& run, const Value& item, const Value* attribute);

/// In small letters where it is a text, for comparing without regard to case.
Value withoutCase(Run& run, const Value& value);

} // namespace kvscope::jinja
