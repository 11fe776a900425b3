#include "engine/tokenizer/jinja/scope.h"

namespace kvscope::jinja {

void Scope::set(Budget& budget, NameId name, Value value)
{
    budget.step(m_values.size() / 16 + 1);
    for (auto& [known, held] : m_values) {
        if (known == name) {
            held = std::move(value);
            return;
        }
    }
    m_values.emplace_back(name, std::move(value));
}

const Value* Scope::find(Budget& budget, NameId name) const
{
    for (const Scope* scope = this; scope != nullptr; scope = scope->m_parent.get()) {
        budget.step(scope->m_values.size() / 16 + 1);
        for (const auto& [known, held] : scope->m_values) {
            if (known == name)
                return &held;
        }
    }
    return nullptr;
}

} // namespace kvscope::jinja
