#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/arithmetic.h"
#include "engine/tokenizer/jinja/attribute_path.h"
#include "engine/tokenizer/jinja/filters.h"
#include "engine/tokenizer/jinja/subscript.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/text_operations.h"
#include "engine/tokenizer/jinja/value_compare.h"

#include <algorithm>
#include <limits>
#include <unordered_map>

namespace kvscope::jinja {
namespace {

Value generator(std::vector<Value> items, const char* label)
{
    Sequence made;
    made.kind = Sequence::Kind::Iterator;
    made.label = label;
    made.items = std::move(items);
    return Value::sequence(std::move(made));
}

/// The arguments behind the first `count` ones.
Arguments after(const Arguments& arguments, std::size_t count)
{
    Arguments rest = arguments;
    rest.positional.erase(rest.positional.begin(),
                          rest.positional.begin() + static_cast<std::ptrdiff_t>(count));
    return rest;
}

const std::string& nameOf(const Arguments& arguments, std::size_t index)
{
    const bool isText = index < arguments.positional.size() && arguments.positional[index].isText();
    if (!isText)
        fail("a filter needs the name of another filter or test");
    return *arguments.positional[index].asText();
}

const Value* namedArgument(const Arguments& arguments, std::string_view name)
{
    const auto found =
        std::ranges::find(arguments.named, name, [](const auto& named) { return named.first; });
    return found == arguments.named.end() ? nullptr : &found->second;
}

Value mapAttribute(Run& run, std::vector<Value> items, const Value& attribute,
                   const Arguments& arguments)
{
    const Value* standard = namedArgument(arguments, "default");
    if (arguments.named.size() > (standard == nullptr ? 1U : 2U))
        fail("'map' has only the arguments 'attribute' and 'default'");
    for (Value& item : items) {
        item = attributeByPath(run, item, &attribute);
        if (item.isUndefined() && standard != nullptr && !standard->isNone())
            item = *standard;
    }
    return generator(std::move(items), "generator object sync_do_map");
}

Value map(Run& run, const Value& subject, const Arguments& arguments)
{
    if (!subject.isTrue())
        return generator({}, "generator object sync_do_map");
    auto items = iterated(run.budget, subject);
    const Value* attribute = namedArgument(arguments, "attribute");
    if (attribute != nullptr && arguments.positional.empty())
        return mapAttribute(run, std::move(items), *attribute, arguments);
    const std::string name = nameOf(arguments, 0);
    const Arguments rest = after(arguments, 1);
    for (Value& item : items)
        item = applyFilter(run, name, item, rest);
    return generator(std::move(items), "generator object sync_do_map");
}

enum class Of { Item, Attribute };
enum class Keep { Matching, Others };

template <Of of, Keep keep>
Value select(Run& run, const Value& subject, const Arguments& arguments)
{
    constexpr std::size_t kFirst = of == Of::Attribute ? 1 : 0;
    if (!subject.isTrue())
        return generator({}, "generator object select_or_reject");
    if (arguments.positional.size() < kFirst)
        fail("'selectattr' and 'rejectattr' need an attribute");
    const Value* path = of == Of::Attribute ? arguments.positional.data() : nullptr;
    const bool hasTest = arguments.positional.size() > kFirst;
    const std::string test = hasTest ? nameOf(arguments, kFirst) : std::string();
    const Arguments rest = after(arguments, kFirst + (hasTest ? 1 : 0));
    auto items = iterated(run.budget, subject);
    std::erase_if(items, [&](const Value& item) {
        run.budget.step();
        const Value value = attributeByPath(run, item, path);
        const bool isMatching = hasTest ? applyTest(run, test, value, rest) : value.isTrue();
        return isMatching != (keep == Keep::Matching);
    });
    return generator(std::move(items), "generator object select_or_reject");
}

Value sum(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("sum", arguments, {"attribute", "start"});
    Value total = bound.find(1) == nullptr ? Value::integer(0) : *bound.find(1);
    if (total.isText())
        fail("'sum' cannot add texts");
    for (const Value& item : iterated(run.budget, subject))
        total = calculate(run, Operator::Add, total, attributeByPath(run, item, bound.find(0)));
    return total;
}

enum class Extreme { Smallest, Largest };

template <Extreme extreme>
Value extremeOf(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("min", arguments, {"case_sensitive", "attribute"});
    const auto items = iterated(run.budget, subject);
    if (items.empty())
        return Value::undefined("there is no smallest or largest item");
    const auto key = [&](const Value& item) {
        const Value value = attributeByPath(run, item, bound.find(1));
        return bound.isTrue(0) ? value : withoutCase(run, value);
    };
    const Value* best = &items.front();
    Value bestKey = key(*best);
    for (const Value& item : items) {
        Value itemKey = key(item);
        const bool isBetter = extreme == Extreme::Smallest ? isLess(run.budget, itemKey, bestKey)
                                                           : isLess(run.budget, bestKey, itemKey);
        if (isBetter) {
            best = &item;
            bestKey = std::move(itemKey);
        }
    }
    return *best;
}

} // namespace

Value attributeByPath(Run& run, const Value& item, const Value* attribute)
{
    if (attribute == nullptr || attribute->isNone())
        return item;
    const auto* path = attribute->asText();
    if (path == nullptr)
        return itemOf(run, item, *attribute);
    if (path->find('.') == path->npos && !path->empty() &&
        (path->front() < '0' || path->front() > '9'))
        return itemOf(run, item, *attribute);
    Value value = item;
    const Value parts = splitText(run, *path, ".", -1, SplitFrom::Left);
    for (const Value& part : parts.asSequence()->items) {
        const std::string& name = *part.asText();
        const bool isNumber =
            !name.empty() && name.size() < 10 && name.find_first_not_of("0123456789") == name.npos;
        value = itemOf(run, value, isNumber ? Value::integer(std::stoll(name)) : part);
    }
    return value;
}

Value withoutCase(Run& run, const Value& value)
{
    return value.isText() ? lower(run, *value.asText()) : value;
}

Filter findSelectionFilter(std::string_view name)
{
    static const std::unordered_map<std::string_view, Filter> kFilters = {
        {"map", &map},
        {"select", &select<Of::Item, Keep::Matching>},
        {"reject", &select<Of::Item, Keep::Others>},
        {"selectattr", &select<Of::Attribute, Keep::Matching>},
        {"rejectattr", &select<Of::Attribute, Keep::Others>},
        {"sum", &sum},
        {"min", &extremeOf<Extreme::Smallest>},
        {"max", &extremeOf<Extreme::Largest>},
    };
    const auto found = kFilters.find(name);
    return found == kFilters.end() ? nullptr : found->second;
}

} // namespace kvscope::jinja
