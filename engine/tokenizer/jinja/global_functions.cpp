#include "engine/tokenizer/jinja/arguments.h"
#include "engine/tokenizer/jinja/local_time.h"
#include "engine/tokenizer/jinja/objects.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value_compare.h"
#include "engine/tokenizer/jinja/value_text.h"

#include <algorithm>
#include <array>
#include <unordered_map>

namespace kvscope::jinja {
namespace {

using GlobalFunction = Value (*)(Run& run, const Arguments& arguments);

std::string rangeLabel(std::int64_t start, std::int64_t stop, std::int64_t step)
{
    const std::string by = step == 1 ? "" : ", " + std::to_string(step);
    return "range(" + std::to_string(start) + ", " + std::to_string(stop) + by + ")";
}

Value range(Run& run, const Arguments& arguments)
{
    const BoundArguments bound("range", arguments, {"start", "stop", "step"});
    bound.at(0);
    const bool hasStart = bound.find(1) != nullptr;
    const std::int64_t start = hasStart ? bound.integerOr(0, 0) : 0;
    const std::int64_t stop = bound.integerOr(hasStart ? 1 : 0, 0);
    const std::int64_t step = bound.integerOr(2, 1);
    if (step == 0)
        fail("a range's step is zero");
    // In floating point the length cannot go beyond; it is exact where it matters.
    const double length =
        (static_cast<double>(stop) - static_cast<double>(start)) / static_cast<double>(step);
    if (length > static_cast<double>(limits::kRange))
        throw TemplateError(TemplateError::Reason::Limit, "it asks for too long a range");
    Sequence made;
    made.kind = Sequence::Kind::Range;
    made.label = rangeLabel(start, stop, step);
    run.budget.items(length > 0 ? static_cast<std::size_t>(length) + 1 : 1);
    for (std::int64_t at = start; step > 0 ? at < stop : at > stop;) {
        made.items.push_back(Value::integer(at));
        if (__builtin_add_overflow(at, step, &at))
            break;
    }
    return Value::sequence(std::move(made));
}

/// The pairs of a dict or of a list of pairs, and then the named arguments.
Dict dictFrom(Run& run, std::string_view callee, const Arguments& arguments)
{
    Arguments positional;
    positional.positional = arguments.positional;
    const BoundArguments bound(callee, positional, {"mapping"});
    Dict made;
    const Value* source = bound.find(0);
    if (source != nullptr && source->asDict() != nullptr) {
        made = *source->asDict();
        run.budget.items(2 * made.entries().size());
    } else if (source != nullptr) {
        for (const Value& pair : iterated(run.budget, *source)) {
            auto parts = iterated(run.budget, pair);
            if (parts.size() != 2)
                fail("'" + std::string(callee) + "' needs pairs");
            made.set(run.budget, std::move(parts[0]), std::move(parts[1]));
        }
    }
    run.budget.items(2 * arguments.named.size());
    for (const auto& [name, value] : arguments.named)
        made.set(run.budget, name, value);
    return made;
}

Value dict(Run& run, const Arguments& arguments)
{
    return Value::dict(dictFrom(run, "dict", arguments));
}

Value makeNamespace(Run& run, const Arguments& arguments)
{
    auto made = std::make_shared<Namespace>();
    const Dict values = dictFrom(run, "namespace", arguments);
    for (const auto& [key, value] : values.entries()) {
        if (!key.isText())
            fail("a namespace's attribute is no text");
        made->set(run.budget, *key.asText(), value);
    }
    run.budget.items(8);
    run.namespaces.push_back(made);
    return Value::object(std::move(made));
}

/// cycler(): gives its items in turn.
class Cycler : public Object, public std::enable_shared_from_this<Cycler>
{
public:
    explicit Cycler(std::vector<Value> items)
        : m_items(std::move(items))
        , m_depth(Value::list(m_items).depth())
    {
    }
    std::string_view typeName() const override { return "Cycler"; }
    std::size_t depth() const override { return m_depth; }

    std::optional<Value> attribute(Budget&, std::string_view name) const override
    {
        if (name == "current")
            return m_items[m_at];
        if (name != "next" && name != "reset")
            return std::nullopt;
        const auto self = std::const_pointer_cast<Cycler>(shared_from_this());
        const bool isNext = name == "next";
        const auto body = [self, isNext](const Arguments&) {
            const Value item = self->m_items[self->m_at];
            self->m_at = isNext ? (self->m_at + 1) % self->m_items.size() : 0;
            return isNext ? item : Value::none();
        };
        return Value::object(std::make_shared<Function>(std::string(name), body, m_depth));
    }

private:
    std::vector<Value> m_items;
    std::size_t m_at = 0;
    std::size_t m_depth;
};

Value cycler(Run& run, const Arguments& arguments)
{
    if (arguments.positional.empty())
        fail("'cycler' is given nothing to choose from");
    run.budget.items(arguments.positional.size() + 2);
    return Value::object(std::make_shared<Cycler>(arguments.positional));
}

Value joiner(Run& run, const Arguments& arguments)
{
    const BoundArguments bound("joiner", arguments, {"sep"});
    run.budget.items(4);
    const Value separator = bound.find(0) == nullptr ? Value::text(", ") : *bound.find(0);
    const auto isUsed = std::make_shared<bool>(false);
    const auto body = [separator, isUsed](const Arguments&) {
        return std::exchange(*isUsed, true) ? separator : Value::text("");
    };
    return Value::object(std::make_shared<Function>("joiner", body, separator.depth()));
}

Value raiseException(Run& run, const Arguments& arguments)
{
    const BoundArguments bound("raise_exception", arguments, {"message"});
    throw TemplateError(TemplateError::Reason::Raised, toText(run.budget, bound.at(0)));
}

Value formatNow(Run& run, const Arguments& arguments)
{
    const BoundArguments bound("strftime_now", arguments, {"format"});
    return Value::text(formatTime(bound.text(0), run.clock()));
}

} // namespace

std::optional<Value> globalFunction(Run& run, const std::string& name)
{
    static const std::unordered_map<std::string_view, GlobalFunction> kFunctions = {
        {"range", &range},
        {"dict", &dict},
        {"namespace", &makeNamespace},
        {"cycler", &cycler},
        {"joiner", &joiner},
        {"raise_exception", &raiseException},
        {"strftime_now", &formatNow},
    };
    const auto found = kFunctions.find(name);
    if (found == kFunctions.end())
        return std::nullopt;
    const GlobalFunction function = found->second;
    return Value::object(std::make_shared<Function>(
        name, [&run, function](const Arguments& arguments) { return function(run, arguments); }));
}

} // namespace kvscope::jinja
