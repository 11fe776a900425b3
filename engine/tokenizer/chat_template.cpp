#include "engine/tokenizer/chat_template.h"

#include "engine/tokenizer/jinja_outline.h"

#include <algorithm>
#include <array>

namespace kvscope {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>";
constexpr std::string_view kTurnEnd = "<|im_end|>";

/// Stands for the default system text in the forms below.
constexpr std::string_view kAnyText = "\x01";

/// What some files put in front; it changes nothing, since the flag is always given here.
constexpr std::string_view kFlagDefault = "{% if not add_generation_prompt is defined %}{% set "
                                          "add_generation_prompt = false %}{% endif %}";

/// The ChatML templates that are rendered here, as Jinja. The first is SmolLM2's and Qwen's.
constexpr std::array<std::string_view, 4> kChatMlForms = {
    "{% for message in messages %}"
    "{% if loop.first and messages[0]['role'] != 'system' %}<|im_start|>system\n\x01<|im_end|>\n{% "
    "endif %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% "
    "endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",

    "{% for message in messages %}"
    "{% if loop.first and message['role'] != 'system' %}<|im_start|>system\n\x01<|im_end|>\n{% "
    "endif %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% "
    "endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",

    "{% if messages[0]['role'] != 'system' %}<|im_start|>system\n\x01<|im_end|>\n{% endif %}"
    "{% for message in messages %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% "
    "endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",

    "{% for message in messages %}"
    "{{'<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>' + '\\n'}}{% "
    "endfor %}"
    "{% if add_generation_prompt %}{{ '<|im_start|>assistant\\n' }}{% endif %}",
};

using Outline = std::vector<JinjaNode>;

/// What a template that has the shape of a known form leaves open.
struct Recognised
{
    std::optional<std::string> defaultSystem;
};

/// Whether `part` is `form`, whose kAnyText matches any text without control tokens, which is kept.
bool matches(const JinjaPart& part, const JinjaPart& form, Recognised& recognised)
{
    const std::size_t any = form.isLiteral ? form.text.find(kAnyText) : form.text.npos;
    if (any == form.text.npos)
        return part == form;
    const std::string_view before = std::string_view(form.text).substr(0, any);
    const std::string_view after = std::string_view(form.text).substr(any + kAnyText.size());
    const std::string_view text = part.text;
    if (!part.isLiteral || text.size() < before.size() + after.size() ||
        !text.starts_with(before) || !text.ends_with(after))
        return false;
    const std::string_view kept =
        text.substr(before.size(), text.size() - before.size() - after.size());
    if (kept.find("<|") != kept.npos)
        return false;
    recognised.defaultSystem = kept;
    return true;
}

std::optional<Recognised> match(const Outline& outline, const Outline& form)
{
    Recognised recognised;
    const auto sameNode = [&](const JinjaNode& node, const JinjaNode& expected) {
        return node.isStatement == expected.isStatement &&
               std::ranges::equal(node.parts, expected.parts,
                                  [&](const auto& part, const auto& wanted) {
                                      return matches(part, wanted, recognised);
                                  });
    };
    return std::ranges::equal(outline, form, sameNode) ? std::optional(recognised) : std::nullopt;
}

std::optional<Recognised> recogniseChatMl(std::string_view source)
{
    auto outline = outlineJinja(source);
    if (!outline)
        return std::nullopt;
    const Outline flagDefault = outlineJinja(kFlagDefault).value();
    if (outline->size() > flagDefault.size() &&
        std::equal(flagDefault.begin(), flagDefault.end(), outline->begin()))
        outline->erase(outline->begin(),
                       outline->begin() + static_cast<std::ptrdiff_t>(flagDefault.size()));
    for (const std::string_view form : kChatMlForms) {
        if (auto recognised = match(*outline, outlineJinja(form).value()))
            return recognised;
    }
    return std::nullopt;
}

void appendChatMlTurn(std::string& text, std::string_view role, std::string_view content)
{
    text.append(kTurnStart).append(role).append("\n").append(content).append(kTurnEnd).append("\n");
}

std::string renderChatMl(const std::vector<ChatMessage>& messages,
                         const std::optional<std::string>& defaultSystem,
                         ChatTemplate::Ending ending)
{
    std::string text;
    if (defaultSystem && !messages.empty() && messages.front().role != ChatRole::System)
        appendChatMlTurn(text, roleName(ChatRole::System), *defaultSystem);
    for (const ChatMessage& message : messages)
        appendChatMlTurn(text, roleName(message.role), message.content);
    if (ending == ChatTemplate::Ending::AssistantOpened)
        text.append(kTurnStart).append(roleName(ChatRole::Assistant)).append("\n");
    return text;
}

std::string_view plainLabel(ChatRole role)
{
    switch (role) {
    case ChatRole::System:
        return "";
    case ChatRole::User:
        return "User: ";
    case ChatRole::Assistant:
        return "Assistant: ";
    }
    return "";
}

std::string renderPlain(const std::vector<ChatMessage>& messages, ChatTemplate::Ending ending)
{
    const bool isUserTextOnly = std::ranges::all_of(
        messages, [](const auto& message) { return message.role == ChatRole::User; });
    std::string text;
    for (const ChatMessage& message : messages) {
        if (!text.empty())
            text += "\n\n";
        if (!isUserTextOnly)
            text += plainLabel(message.role);
        text += message.content;
    }
    if (ending == ChatTemplate::Ending::AssistantOpened && !isUserTextOnly)
        text += "\n\nAssistant:";
    return text;
}

} // namespace

std::string_view roleName(ChatRole role)
{
    switch (role) {
    case ChatRole::System:
        return "system";
    case ChatRole::User:
        return "user";
    case ChatRole::Assistant:
        return "assistant";
    }
    return "";
}

ChatTemplate::ChatTemplate(std::string_view source, bool hasChatMlTokens)
{
    if (source.find_first_not_of(" \t\r\n") == source.npos)
        return;
    if (auto recognised = recogniseChatMl(source)) {
        m_form = Form::ChatMl;
        m_defaultSystem = std::move(recognised->defaultSystem);
        return;
    }
    m_form = hasChatMlTokens ? Form::ChatMl : Form::Plain;
    m_note = "The file's own chat template cannot be rendered here, so the " + std::string(name()) +
             " form is used instead; answers may be worse than the model can give.";
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, Ending ending) const
{
    return m_form == Form::ChatMl ? renderChatMl(messages, m_defaultSystem, ending)
                                  : renderPlain(messages, ending);
}

std::string_view ChatTemplate::name() const
{
    return m_form == Form::ChatMl ? "ChatML" : "plain";
}

std::string_view ChatTemplate::endOfTurn() const
{
    return m_form == Form::ChatMl ? kTurnEnd : "";
}

} // namespace kvscope
