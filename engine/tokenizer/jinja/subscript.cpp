#include "engine/tokenizer/jinja/subscript.h"

#include "engine/tokenizer/jinja/objects.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>

namespace kvscope::jinja {
namespace {

Value missing(const Value& subject, const std::string& what)
{
    return Value::undefined("'" + std::string(subject.typeName()) + "' has no " + what);
}

/// The named item of a dict, or what an object or a method gives; nothing where there is neither.
std::optional<Value> namedItem(Run& run, const Value& subject, const std::string& name)
{
    const auto* dict = subject.asDict();
    const Value* item = dict == nullptr ? nullptr : dict->find(run.budget, std::string_view(name));
    return item == nullptr ? std::nullopt : std::optional(*item);
}

std::optional<Value> namedAttribute(Run& run, const Value& subject, const std::string& name)
{
    if (auto* object = subject.asObject())
        return object->attribute(run.budget, name);
    return boundMethod(run, subject, name);
}

void requireDefined(const Value& subject)
{
    if (subject.isUndefined())
        fail(subject.undefinedHint());
}

std::optional<std::size_t> position(std::int64_t index, std::size_t length)
{
    const auto size = static_cast<std::int64_t>(length);
    const std::int64_t at = index < 0 ? index + size : index;
    return at < 0 || at >= size ? std::nullopt : std::optional(static_cast<std::size_t>(at));
}

std::optional<Value> characterAt(Run& run, const std::string& text, std::int64_t index)
{
    run.budget.scan(text.size());
    const auto at = position(index, countCharacters(text));
    if (!at)
        return std::nullopt;
    std::size_t begin = 0;
    for (std::size_t i = 0; i < *at; ++i)
        begin += codePointAt(text, begin).bytes;
    return Value::text(text.substr(begin, codePointAt(text, begin).bytes));
}

std::optional<Value> indexedItem(Run& run, const Value& subject, std::int64_t index)
{
    if (const auto* text = subject.asText())
        return characterAt(run, *text, index);
    const auto* sequence = subject.asSequence();
    if (sequence == nullptr || !sequence->isIndexed())
        return std::nullopt;
    const auto at = position(index, sequence->items.size());
    return at ? std::optional(sequence->items[*at]) : std::nullopt;
}

std::optional<std::int64_t> bound(const Value& value)
{
    if (value.isNone())
        return std::nullopt;
    const auto index = value.asInteger();
    if (!index)
        fail(value.isUndefined() ? value.undefinedHint() : "a slice needs whole numbers");
    return index;
}

/// The byte at which character `index` begins, counted from the character at byte `from`.
std::size_t byteOf(std::string_view text, std::size_t index, std::size_t from)
{
    for (; index > 0; --index)
        from += codePointAt(text, from).bytes;
    return from;
}

Value slicedText(Run& run, std::string_view text, const SliceRange& range)
{
    if (range.step == 1) {
        const std::size_t begin = byteOf(text, static_cast<std::size_t>(range.start), 0);
        const std::size_t end = byteOf(text, range.count, begin);
        run.budget.bytes(end - begin);
        return Value::text(std::string(text.substr(begin, end - begin)));
    }
    run.budget.bytes(2 * sizeof(std::string_view) * text.size());
    const auto all = characters(text);
    TextBuilder out(run.budget);
    for (std::size_t i = 0; i < range.count; ++i)
        out.add(all[range.at(i)]);
    return out.takeValue();
}

} // namespace

Value attributeOf(Run& run, const Value& subject, const std::string& name)
{
    requireDefined(subject);
    if (auto attribute = namedAttribute(run, subject, name))
        return *attribute;
    if (auto item = namedItem(run, subject, name))
        return *item;
    return missing(subject, "attribute '" + clipped(name) + "'");
}

Value itemOf(Run& run, const Value& subject, const Value& index)
{
    requireDefined(subject);
    if (const auto* name = index.asText()) {
        if (auto item = namedItem(run, subject, *name))
            return *item;
        if (auto attribute = namedAttribute(run, subject, *name))
            return *attribute;
        return missing(subject, "item '" + clipped(*name) + "'");
    }
    if (const auto* dict = subject.asDict()) {
        const auto* tuple = index.asSequence();
        const bool isTuple = tuple != nullptr && tuple->kind == Sequence::Kind::Tuple;
        const bool isKey = index.isNumber() || index.isNone() || isTuple;
        const Value* item = isKey ? dict->find(run.budget, index) : nullptr;
        return item != nullptr ? *item : missing(subject, "such item");
    }
    if (const auto at = index.asInteger()) {
        if (auto item = indexedItem(run, subject, *at))
            return *item;
    }
    return missing(subject, "such item");
}

Value sliceOf(Run& run, const Value& subject, const Value& start, const Value& stop,
              const Value& step)
{
    requireDefined(subject);
    const auto stride = bound(step);
    if (stride == 0)
        fail("a slice's step is zero");
    const auto rangeOver = [&](std::size_t length) {
        return sliceRange(bound(start), bound(stop), stride.value_or(1), length);
    };
    if (const auto* text = subject.asText()) {
        run.budget.scan(text->size());
        return slicedText(run, *text, rangeOver(countCharacters(*text)));
    }
    const auto* sequence = subject.asSequence();
    if (sequence == nullptr || !sequence->isIndexed())
        fail("a value of type '" + std::string(subject.typeName()) + "' cannot be sliced");
    const SliceRange range = rangeOver(sequence->items.size());
    run.budget.items(range.count);
    Sequence result;
    result.kind = sequence->kind;
    result.label = sequence->label;
    for (std::size_t i = 0; i < range.count; ++i)
        result.items.push_back(sequence->items[range.at(i)]);
    return Value::sequence(std::move(result));
}

} // namespace kvscope::jinja
