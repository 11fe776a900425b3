#pragma once

#include "engine/tokenizer/jinja/budget.h"
#include "engine/tokenizer/jinja/value.h"

namespace kvscope::jinja {

/// Python's ==. Two undefined values are equal, objects only to themselves.
bool isEqual(Budget& budget, const Value& left, const Value& right);
/// Python's <, for numbers, texts, lists and tuples. \throws TemplateError for what has no order
bool isLess(Budget& budget, const Value& left, const Value& right);
/// Python's `item in container`. \throws TemplateError for what holds nothing
bool contains(Budget& budget, const Value& container, const Value& item);

/// The items that going through a value gives: of a list, a text's characters, a dict's keys,
/// nothing of an undefined one. Spends an iterator. \throws TemplateError for what has none
std::vector<Value> iterated(Budget& budget, const Value& value);
/// The value's items without a copy where it is a sequence, otherwise null; spends an iterator.
const std::vector<Value>* sequenceItems(const Value& value);

} // namespace kvscope::jinja
