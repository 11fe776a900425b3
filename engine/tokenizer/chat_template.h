#pragma once

#include <string>
#include <string_view>
#include <vector>

namespace kvscope
{

enum class ChatRole { System, User, Assistant };

/// "system", "user", "assistant"
std::string_view roleName(ChatRole role);

struct ChatMessage
{
    ChatRole role = ChatRole::User;
    std::string content;

    bool operator==(const ChatMessage&) const = default;
};

/// Turns a conversation into the prompt text a model was trained on.
///
/// The forms known are ChatML (with the default system text of the file's template, as SmolLM2's has) and
/// plain (no template: turns separated by blank lines). A file's template that is neither is said so in
/// `note()`, and ChatML is used where its control tokens exist, otherwise plain.
class ChatTemplate
{
public:
    /// \param source  the file's Jinja text; empty where it has none
    /// \param hasChatMlTokens  the vocabulary holds <|im_start|> and <|im_end|>
    ChatTemplate(std::string_view source, bool hasChatMlTokens);

    /// \param addGenerationPrompt  ends with the opening of an assistant turn
    enum class Ending { Closed, AssistantOpened };
    std::string render(const std::vector<ChatMessage>& messages, Ending ending) const;

    /// "ChatML", "plain"
    std::string_view name() const;
    /// Text that ends an assistant's turn ("<|im_end|>"), or empty; generation stops at its token.
    std::string_view endOfTurn() const;
    /// Why the file's own template is not used; empty where it is, or where it has none.
    const std::string& note() const { return m_note; }

private:
    enum class Form { ChatMl, Plain };
    Form m_form = Form::Plain;
    std::string m_defaultSystem; ///< ChatML: the system text used when a chat has none; may be empty
    std::string m_note;
};

} // namespace kvscope
