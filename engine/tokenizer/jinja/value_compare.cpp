#include "engine/tokenizer/jinja/value_compare.h"

#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/unicode_text.h"

#include <algorithm>

namespace kvscope::jinja {
namespace {

bool areEqualItems(Budget& budget, const Sequence& left, const Sequence& right)
{
    const bool isOrdered = left.isIndexed() && right.isIndexed();
    if (left.kind != right.kind || !isOrdered)
        return &left == &right;
    return std::ranges::equal(left.items, right.items,
                              [&](const auto& a, const auto& b) { return isEqual(budget, a, b); });
}

bool areEqualDicts(Budget& budget, const Dict& left, const Dict& right)
{
    if (left.entries().size() != right.entries().size())
        return false;
    return std::ranges::all_of(left.entries(), [&](const Dict::Entry& entry) {
        const Value* other = right.find(budget, entry.first);
        return other != nullptr && isEqual(budget, entry.second, *other);
    });
}

[[noreturn]] void failOrder(const Value& left, const Value& right)
{
    for (const Value* side : {&left, &right}) {
        if (side->isUndefined())
            fail(side->undefinedHint());
    }
    fail("'" + std::string(left.typeName()) + "' and '" + std::string(right.typeName()) +
         "' have no order");
}

bool areLessItems(Budget& budget, const std::vector<Value>& left, const std::vector<Value>& right)
{
    const std::size_t common = std::min(left.size(), right.size());
    for (std::size_t i = 0; i < common; ++i) {
        if (!isEqual(budget, left[i], right[i]))
            return isLess(budget, left[i], right[i]);
    }
    return left.size() < right.size();
}

} // namespace

bool isEqual(Budget& budget, const Value& left, const Value& right)
{
    budget.step();
    const auto* text = left.asText();
    if (const auto* other = right.asText(); text != nullptr && other != nullptr) {
        if (text->size() == other->size())
            budget.scan(text->size());
        return *text == *other;
    }
    const auto integer = left.asInteger();
    if (const auto other = right.asInteger(); integer && other)
        return *integer == *other;
    const auto number = left.asNumber();
    if (const auto other = right.asNumber(); number && other)
        return *number == *other;
    const DepthGuard guard(budget);
    if (left.asSequence() != nullptr && right.asSequence() != nullptr)
        return areEqualItems(budget, *left.asSequence(), *right.asSequence());
    if (left.asDict() != nullptr && right.asDict() != nullptr)
        return areEqualDicts(budget, *left.asDict(), *right.asDict());
    return left.isSameObject(right);
}

bool isLess(Budget& budget, const Value& left, const Value& right)
{
    budget.step();
    const auto integer = left.asInteger();
    if (const auto other = right.asInteger(); integer && other)
        return *integer < *other;
    const auto number = left.asNumber();
    if (const auto other = right.asNumber(); number && other)
        return *number < *other;
    const auto* text = left.asText();
    if (const auto* other = right.asText(); text != nullptr && other != nullptr) {
        budget.scan(std::min(text->size(), other->size()));
        return *text < *other; // UTF-8 orders as code points do
    }
    const auto* list = left.asSequence();
    const auto* other = right.asSequence();
    if (list == nullptr || other == nullptr || list->kind != other->kind ||
        (list->kind != Sequence::Kind::List && list->kind != Sequence::Kind::Tuple))
        failOrder(left, right);
    const DepthGuard guard(budget);
    return areLessItems(budget, list->items, other->items);
}

bool contains(Budget& budget, const Value& container, const Value& item)
{
    if (const auto* text = container.asText()) {
        const auto* part = item.asText();
        if (part == nullptr)
            fail("a text can hold only text, not '" + std::string(item.typeName()) + "'");
        budget.scan(text->size() + part->size());
        return findText(*text, *part) != text->npos;
    }
    if (const auto* dict = container.asDict())
        return dict->find(budget, item) != nullptr;
    if (container.isUndefined())
        return false;
    const auto* items = sequenceItems(container);
    if (items == nullptr)
        fail("a value of type '" + std::string(container.typeName()) + "' holds nothing");
    return std::ranges::any_of(*items, [&](const Value& held) {
        return held.isSameObject(item) || isEqual(budget, held, item);
    });
}

const std::vector<Value>* sequenceItems(const Value& value)
{
    const auto* sequence = value.asSequence();
    return sequence == nullptr ? nullptr : &sequence->take();
}

std::vector<Value> iterated(Budget& budget, const Value& value)
{
    std::vector<Value> items;
    if (const auto* sequence = sequenceItems(value)) {
        budget.items(sequence->size());
        return *sequence;
    }
    if (const auto* text = value.asText()) {
        budget.items(2 * text->size()); // each becomes a text of its own
        for (const auto character : characters(*text))
            items.push_back(Value::text(std::string(character)));
        return items;
    }
    if (const auto* dict = value.asDict()) {
        budget.items(dict->entries().size());
        for (const auto& entry : dict->entries())
            items.push_back(entry.first);
        return items;
    }
    if (!value.isUndefined())
        fail("a value of type '" + std::string(value.typeName()) + "' cannot be gone through");
    return items;
}

} // namespace kvscope::jinja
