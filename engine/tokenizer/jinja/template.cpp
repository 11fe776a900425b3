#include "engine/tokenizer/jinja/template.h"

#include "engine/tokenizer/jinja/evaluator.h"
#include "engine/tokenizer/jinja/objects.h"

namespace kvscope::jinja {

Template::Template(std::string_view source)
    : m_tree(std::make_shared<const SyntaxTree>(parseTemplate(source)))
{
}

std::string Template::render(const Dict& variables, std::size_t inputBytes,
                             const LocalClock& clock) const
{
    Run run{Budget(inputBytes), clock, {}};
    return Evaluator(*m_tree, run, variables).render();
}

} // namespace kvscope::jinja
