#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/attribute_path.h"
#include "engine/tokenizer/jinja/filters.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/text_operations.h"
#include "engine/tokenizer/jinja/unicode_text.h"
#include "engine/tokenizer/jinja/value_compare.h"

#include <algorithm>
#include <unordered_map>
#include <unordered_set>

namespace kvscope::jinja {
namespace {

Value iterator(std::vector<Value> items, const char* label)
{
    Sequence made;
    made.kind = Sequence::Kind::Iterator;
    made.label = label;
    made.items = std::move(items);
    return Value::sequence(std::move(made));
}

Value length(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("length", arguments, {});
    const auto* sequence = subject.asSequence();
    if (const auto* text = subject.asText()) {
        run.budget.scan(text->size());
        return Value::integer(static_cast<std::int64_t>(countCharacters(*text)));
    }
    if (sequence != nullptr && sequence->kind != Sequence::Kind::Iterator)
        return Value::integer(static_cast<std::int64_t>(sequence->items.size()));
    if (const auto* dict = subject.asDict())
        return Value::integer(static_cast<std::int64_t>(dict->entries().size()));
    if (!subject.isUndefined())
        fail("a value of type '" + std::string(subject.typeName()) + "' has no length");
    return Value::integer(0);
}

Value first(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("first", arguments, {});
    if (const auto* items = sequenceItems(subject)) // without a copy of them all
        return items->empty() ? Value::undefined("there is no first item") : items->front();
    const auto items = iterated(run.budget, subject);
    return items.empty() ? Value::undefined("there is no first item") : items.front();
}

void requireReversible(const Value& subject)
{
    const auto* sequence = subject.asSequence();
    if (sequence != nullptr && sequence->kind == Sequence::Kind::Iterator)
        fail("an iterator has no last item");
}

Value last(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("last", arguments, {});
    requireReversible(subject);
    if (const auto* items = sequenceItems(subject))
        return items->empty() ? Value::undefined("there is no last item") : items->back();
    const auto items = iterated(run.budget, subject);
    return items.empty() ? Value::undefined("there is no last item") : items.back();
}

Value list(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("list", arguments, {});
    return Value::list(iterated(run.budget, subject));
}

Value join(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("join", arguments, {"d", "attribute"});
    auto items = iterated(run.budget, subject);
    if (bound.find(1) != nullptr) {
        for (Value& item : items)
            item = attributeByPath(run, item, bound.find(1));
    }
    if (bound.find(0) == nullptr)
        return joinedTexts(run, "", items);
    const Value separator = applyFilter(run, "string", *bound.find(0), {});
    return joinedTexts(run, *separator.asText(), items);
}

Value reverse(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("reverse", arguments, {});
    auto items = iterated(run.budget, subject);
    std::ranges::reverse(items);
    return subject.isText() ? joinedTexts(run, "", items)
                            : iterator(std::move(items), "list_reverseiterator object");
}

Value items(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("items", arguments, {});
    std::vector<Value> pairs;
    const auto* dict = subject.asDict();
    if (dict == nullptr && !subject.isUndefined())
        fail("'items' needs a dict");
    if (dict != nullptr) {
        run.budget.items(4 * dict->entries().size());
        for (const auto& [key, value] : dict->entries())
            pairs.push_back(Value::tuple({key, value}));
    }
    return iterator(std::move(pairs), "generator object do_items");
}

using Keyed = std::pair<std::vector<Value>, Value>;

/// The items in order of their keys; equal ones stay as they are.
std::vector<Value> sorted(Run& run, std::vector<Keyed> keyed, bool isReversed)
{
    const auto isBefore = [&](const Keyed& left, const Keyed& right) {
        for (std::size_t i = 0; i < left.first.size(); ++i) {
            if (isLess(run.budget, left.first[i], right.first[i]))
                return true;
            if (!isEqual(run.budget, left.first[i], right.first[i]))
                return false;
        }
        return false;
    };
    std::ranges::stable_sort(keyed, [&](const Keyed& left, const Keyed& right) {
        return isReversed ? isBefore(right, left) : isBefore(left, right);
    });
    std::vector<Value> sortedItems;
    for (Keyed& item : keyed)
        sortedItems.push_back(std::move(item.second));
    return sortedItems;
}

/// The values of `attribute`, which may name several between commas.
std::vector<Value> sortKeys(Run& run, const Value& item, const Value* attribute, bool hasCase)
{
    std::vector<Value> paths;
    if (attribute != nullptr && attribute->isText()) {
        const Value split = splitText(run, *attribute->asText(), ",", -1, SplitFrom::Left);
        paths = split.asSequence()->items;
    } else {
        paths.push_back(attribute == nullptr ? Value::none() : *attribute);
    }
    std::vector<Value> keys;
    for (const Value& path : paths) {
        const Value key = attributeByPath(run, item, &path);
        keys.push_back(hasCase ? key : withoutCase(run, key));
    }
    return keys;
}

Value sort(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("sort", arguments, {"reverse", "case_sensitive", "attribute"});
    std::vector<Keyed> keyed;
    for (const Value& item : iterated(run.budget, subject)) {
        run.budget.items(2);
        keyed.emplace_back(sortKeys(run, item, bound.find(2), bound.isTrue(1)), item);
    }
    return Value::list(sorted(run, std::move(keyed), bound.isTrue(0)));
}

Value dictSort(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("dictsort", arguments, {"case_sensitive", "by", "reverse"});
    const auto* dict = subject.asDict();
    if (dict == nullptr)
        fail("'dictsort' needs a dict");
    const std::string by = bound.find(1) == nullptr ? "key" : bound.text(1);
    if (by != "key" && by != "value")
        fail("'dictsort' sorts by 'key' or 'value'");
    run.budget.items(6 * dict->entries().size());
    std::vector<Keyed> keyed;
    for (const auto& [key, value] : dict->entries()) {
        const Value& by_ = by == "key" ? key : value;
        keyed.emplace_back(std::vector{bound.isTrue(0) ? by_ : withoutCase(run, by_)},
                           Value::tuple({key, value}));
    }
    return Value::list(sorted(run, std::move(keyed), bound.isTrue(2)));
}

Value unique(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("unique", arguments, {"case_sensitive", "attribute"});
    std::unordered_set<std::string> seen;
    std::vector<Value> kept;
    for (const Value& item : iterated(run.budget, subject)) {
        const Value key = attributeByPath(run, item, bound.find(1));
        std::string text = keyText(run.budget, bound.isTrue(0) ? key : withoutCase(run, key));
        run.budget.items(2);
        run.budget.bytes(text.size());
        if (seen.insert(std::move(text)).second)
            kept.push_back(item);
    }
    return iterator(std::move(kept), "generator object sync_do_unique");
}

Value batch(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("batch", arguments, {"linecount", "fill_with"});
    bound.at(0);
    const auto size = bound.integerOr(0, 1);
    if (size < 1 || size > static_cast<std::int64_t>(limits::kRange))
        fail("'batch' needs a number of items above zero");
    std::vector<Value> rows;
    std::vector<Value> row;
    for (Value& item : iterated(run.budget, subject)) {
        row.push_back(std::move(item));
        if (static_cast<std::int64_t>(row.size()) == size)
            rows.push_back(Value::list(std::exchange(row, {})));
    }
    if (!row.empty()) {
        run.budget.items(static_cast<std::size_t>(size));
        if (bound.find(1) != nullptr && !bound.find(1)->isNone())
            row.resize(static_cast<std::size_t>(size), *bound.find(1));
        rows.push_back(Value::list(std::move(row)));
    }
    return iterator(std::move(rows), "generator object do_batch");
}

} // namespace

Filter findSequenceFilter(std::string_view name)
{
    static const std::unordered_map<std::string_view, Filter> kFilters = {
        {"length", &length}, {"count", &length},      {"first", &first},     {"last", &last},
        {"list", &list},     {"join", &join},         {"reverse", &reverse}, {"items", &items},
        {"sort", &sort},     {"dictsort", &dictSort}, {"unique", &unique},   {"batch", &batch},
    };
    const auto found = kFilters.find(name);
    return found == kFilters.end() ? nullptr : found->second;
}

} // namespace kvscope::jinja
