#pragma once

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

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
/// ChatML: the template of SmolLM2, Qwen and their like, with the default system text that the
/// file's template states. Only templates that do exactly this, however they are spelled, are
/// recognised.
///
/// Plain, for files without a template: where all turns are the user's, their texts apart by blank
/// lines and nothing else, so that a base model continues them; otherwise a system text as it is,
/// then "User: " and "Assistant: " before each turn, apart by blank lines, and "Assistant:" to open
/// one.
///
/// A file's template that is not recognised is said so in `note()`, and ChatML (without a default
/// system text) is used where its control tokens exist, otherwise plain. Contents go in as they
/// are: what spells a control token in a message becomes one when the text is encoded with control
/// tokens parsed, as in the references.
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
    std::optional<std::string>
        m_defaultSystem; ///< ChatML: put first where a chat has no system turn
    std::string m_note;
};

} // namespace kvscope
