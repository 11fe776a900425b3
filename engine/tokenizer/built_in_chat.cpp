#include "engine/tokenizer/built_in_chat.h"

#include <algorithm>

namespace kvscope {
namespace {

constexpr std::string_view kTurnStart = "<|im_start|>";

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

} // namespace

std::string renderChatMl(const std::vector<ChatMessage>& messages, ChatTemplate::Ending ending)
{
    std::string text;
    for (const ChatMessage& message : messages)
        text.append(kTurnStart)
            .append(roleName(message.role))
            .append("\n")
            .append(message.content)
            .append(kChatMlTurnEnd)
            .append("\n");
    if (ending == ChatTemplate::Ending::AssistantOpened)
        text.append(kTurnStart).append(roleName(ChatRole::Assistant)).append("\n");
    return text;
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

} // namespace kvscope
