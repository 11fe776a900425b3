#pragma once

#include "engine/tokenizer/jinja/run.h"
#include "engine/tokenizer/jinja/template_error.h"
#include "engine/tokenizer/jinja/value.h"

#include <memory>
#include <string>
#include <string_view>

namespace kvscope::jinja {

struct SyntaxTree;

/// A template in the part of Jinja2 that chat templates use, as Hugging Face transformers sets it
/// up (chat_template_utils.py: ImmutableSandboxedEnvironment with trim_blocks and lstrip_blocks,
/// break and continue, generation blocks, tojson, raise_exception, strftime_now).
///
/// What a rendering may use is limited (budget.h): a template never hangs, crashes or fills the
/// memory. Where Python differs in what no template can need (integers beyond 64 bits, characters
/// by name, letters whose other case is several letters), this refuses or keeps the simple form.
/// Not read: include, import, block, extends, autoescape, recursive loops.
/// Immutable, so any thread may use it.
class Template
{
public:
    /// \throws TemplateError (Syntax, Limit) naming the line
    explicit Template(std::string_view source);

    /// \param variables  by name
    /// \param inputBytes  of the texts in it, for which it may use more
    /// \throws TemplateError naming the line
    std::string render(const Dict& variables, std::size_t inputBytes,
                       const LocalClock& clock) const;

private:
    std::shared_ptr<const SyntaxTree> m_tree;
};

} // namespace kvscope::jinja
