#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

/// A literal text, or an expression as it is written with its spacing evened out.
struct JinjaPart
{
    bool isLiteral = false;
    std::string text;

    bool operator==(const JinjaPart&) const = default;
};

/// A statement (one part: "for message in messages") or an output (the parts that are joined).
struct JinjaNode
{
    bool isStatement = false;
    std::vector<JinjaPart> parts;

    bool operator==(const JinjaNode&) const = default;
};

/// A Jinja template with everything that does not change its meaning evened out: spacing, quotes,
/// escapes, comments, `a.b` against `a['b']`, and text given directly, in `{{ }}`, or joined by
/// `+`. Two templates of one outline render alike; nothing is evaluated.
///
/// Whitespace around tags goes as with trim_blocks and lstrip_blocks, which chat templates assume
/// (Hugging Face transformers, chat_template_utils.py).
/// \return nothing where the text is not well-formed, or uses what is not read here (`{%+`, escapes
///         other than of n, t, quotes and backslash)
std::optional<std::vector<JinjaNode>> outlineJinja(std::string_view source);

} // namespace kvscope
