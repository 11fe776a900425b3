#pragma once

#include "engine/tokenizer/chat_template.h"

#include <string>
#include <string_view>
#include <vector>

namespace kvscope {

inline constexpr std::string_view kChatMlTurnEnd = "<|im_end|>";

/// The ChatML form without a default system text.
std::string renderChatMl(const std::vector<ChatMessage>& messages, ChatTemplate::Ending ending);
/// The plain form of ChatTemplate.
std::string renderPlain(const std::vector<ChatMessage>& messages, ChatTemplate::Ending ending);

} // namespace kvscope
