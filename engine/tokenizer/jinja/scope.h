#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/syntax_tree.h"
#include "engine/tokenizer/jinja/value.h"

#include <memory>
#include <utility>
#include <vector>

namespace kvscope::jinja {

/// The variables of a loop's round, a macro's call, or the whole template. Assignments stay in the
/// innermost scope, which is why a `set` inside a loop does not last.
class Scope
{
public:
    explicit Scope(std::shared_ptr<Scope> parent = nullptr)
        : m_parent(std::move(parent))
    {
    }

    void set(Budget& budget, NameId name, Value value);
    /// The innermost value of that name, or null.
    const Value* find(Budget& budget, NameId name) const;
    void clear() { m_values.clear(); }

private:
    std::shared_ptr<Scope> m_parent;
    std::vector<std::pair<NameId, Value>> m_values; ///< few, so they are looked through
};

} // namespace kvscope::jinja
