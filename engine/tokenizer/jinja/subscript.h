#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/value.h"

#include <string>

namespace kvscope::jinja {

/// `subject.name`: a method or attribute, otherwise an item of a dict; undefined where there is
/// neither. \throws TemplateError where `subject` is undefined
Value attributeOf(Run& run, const Value& subject, const std::string& name);
/// `subject[index]`: an item, otherwise an attribute; undefined where there is neither.
/// \throws TemplateError where `subject` is undefined
Value itemOf(Run& run, const Value& subject, const Value& index);
/// `subject[start:stop:step]` of a text or list; a bound that is None or undefined was left out.
/// \throws TemplateError for anything else
Value sliceOf(Run& run, const Value& subject, const Value& start, const Value& stop,
              const Value& step);

} // namespace kvscope::jinja
