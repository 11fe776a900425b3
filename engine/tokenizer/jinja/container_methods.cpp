#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/methods.h"
#include "engine/tokenizer/jinja/objects.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_compare.h"

#include <memory>
#include <unordered_map>

namespace kvscope::jinja {
namespace {

enum class Part { Keys, Values, Items };

template <Part part>
Value view(Run& run, const Value& subject, const Arguments& arguments)
{
    constexpr const char* kLabels[] = {"dict_keys", "dict_values", "dict_items"};
    const BoundArguments bound("the dict's method", arguments, {});
    const auto& entries = subject.asDict()->entries();
    run.budget.items(entries.size() * (part == Part::Items ? 4 : 1));
    Sequence all;
    all.kind = Sequence::Kind::View;
    all.label = kLabels[static_cast<std::size_t>(part)];
    for (const auto& [key, value] : entries)
        all.items.push_back(part == Part::Keys     ? key
                            : part == Part::Values ? value
                                                   : Value::tuple({key, value}));
    return Value::sequence(std::move(all));
}

Value get(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("get", arguments, {"key", "default"});
    if (const Value* value = subject.asDict()->find(run.budget, bound.at(0)))
        return *value;
    return bound.find(1) == nullptr ? Value::none() : *bound.find(1);
}

Value copy(Run&, const Value& subject, const Arguments&)
{
    return subject; // nothing can change it
}

Value countItems(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("count", arguments, {"value"});
    std::int64_t total = 0;
    for (const Value& item : subject.asSequence()->items)
        total += isEqual(run.budget, item, bound.at(0)) ? 1 : 0;
    return Value::integer(total);
}

Value indexOf(Run& run, const Value& subject, const Arguments& arguments)
{
    const BoundArguments bound("index", arguments, {"value"});
    const auto& items = subject.asSequence()->items;
    for (std::size_t i = 0; i < items.size(); ++i) {
        if (isEqual(run.budget, items[i], bound.at(0)))
            return Value::integer(static_cast<std::int64_t>(i));
    }
    fail("the value that 'index' looks for is not there");
}

Method findMethod(const Value& subject, std::string_view name)
{
    static const std::unordered_map<std::string_view, Method> kDictMethods = {
        {"keys", &view<Part::Keys>},
        {"values", &view<Part::Values>},
        {"items", &view<Part::Items>},
        {"get", &get},
        {"copy", &copy},
    };
    static const std::unordered_map<std::string_view, Method> kListMethods = {
        {"count", &countItems}, {"index", &indexOf}, {"copy", &copy}};
    if (subject.isText())
        return findTextMethod(name);
    const bool isList = subject.asSequence() != nullptr && subject.asSequence()->isIndexed();
    if (!isList && subject.asDict() == nullptr)
        return nullptr;
    const auto& methods = isList ? kListMethods : kDictMethods;
    const auto found = methods.find(name);
    return found == methods.end() ? nullptr : found->second;
}

} // namespace

std::optional<Value> callMethod(Run& run, const Value& subject, std::string_view name,
                                const Arguments& arguments)
{
    const Method method = findMethod(subject, name);
    return method == nullptr ? std::nullopt : std::optional(method(run, subject, arguments));
}

std::optional<Value> boundMethod(Run& run, const Value& subject, std::string_view name)
{
    const Method method = findMethod(subject, name);
    if (method == nullptr)
        return std::nullopt;
    const auto body = [&run, subject, method](const Arguments& arguments) {
        return method(run, subject, arguments);
    };
    if (subject.depth() + 1 > limits::kValueDepth)
        fail("a method of something nested too deep is kept");
    return Value::object(std::make_shared<Function>(std::string(name), body, subject.depth()));
}

} // namespace kvscope::jinja
