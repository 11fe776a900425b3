#pragma once

#include "engine/base/errors.h"

#include <string>

namespace kvscope::jinja {

/// A template that cannot be read, or not be rendered with what it was given. `what()` is one line
/// that names the template's line (where known) and what was met.
class TemplateError : public TokenizerError
{
public:
    enum class Reason {
        Syntax,  ///< not Jinja, or a part of it that is not read here
        Failure, ///< an operation that Python refuses too (None + 1, an undefined's attribute)
        Limit,   ///< too many steps, too much memory, too deep
        Raised   ///< the template called raise_exception: `words()` are its own
    };

    /// \param line  of the template, from 1; 0: not known
    TemplateError(Reason reason, const std::string& words, int line = 0);

    Reason reason() const { return m_reason; }
    int line() const { return m_line; }
    /// What was met, without the line: valid UTF-8 of at most about 300 bytes and without a break.
    const std::string& words() const { return m_words; }

private:
    TemplateError(Reason reason, int line, std::string cleanWords);

    Reason m_reason;
    int m_line;
    std::string m_words;
};

/// Stops an operation; whoever renders adds the line. \throws TemplateError (Failure)
[[noreturn]] void fail(const std::string& words);

} // namespace kvscope::jinja
