#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/syntax_tree.h"
#include "engine/tokenizer/jinja/value.h"

namespace kvscope::jinja {

/// Python's + - * / // % **, for numbers, texts and lists. Integers have 64 bits: what goes beyond
/// is refused. \throws TemplateError for types that do not go together, or a zero divisor
Value calculate(Run& run, Operator op, const Value& left, const Value& right);
/// Python's unary minus and plus. \throws TemplateError for what is no number
Value negated(const Value& value);
Value unchanged(const Value& value);
/// Python's comparisons, `in` and `not in`.
bool compare(Run& run, Operator op, const Value& left, const Value& right);

} // namespace kvscope::jinja
