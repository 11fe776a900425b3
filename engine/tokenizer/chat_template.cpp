#include "engine/tokenizer/chat_template.h"

#include "engine/tokenizer/built_in_chat.h"
#include "engine/tokenizer/jinja/local_time.h"
#include "engine/tokenizer/jinja/template.h"
#include "engine/tokenizer/jinja/unicode_text.h"

#include <algorithm>
#include <optional>
#include <utility>

namespace kvscope {
namespace {

/// Texts of the conversations that a template is tried on; no template has them of its own.
constexpr const char* kSystem = "kvscopesystemtext";
constexpr const char* kQuestion = "kvscopequestion";
constexpr const char* kAnswer = "kvscopeanswer";
constexpr const char* kFollowUp = "kvscopefollowup";

constexpr std::size_t kLongestToken = 64; ///< of those that end a turn

std::string_view nameOf(std::string_view rendering)
{
    constexpr std::pair<std::string_view, std::string_view> kMarks[] = {
        {"<|im_start|>", "ChatML"},       {"<|start_header_id|>", "Llama 3"},
        {"<start_of_turn>", "Gemma"},     {"<|channel|>", "Harmony"},
        {"<|start|>", "Harmony"},         {"<|START_OF_TURN_TOKEN|>", "Command R"},
        {"<|start_of_role|>", "Granite"}, {"<\uFF5CUser\uFF5C>", "DeepSeek"},
        {"[INST]", "Llama 2 or Mistral"}, {"<|user|>", "Zephyr or Phi"},
    };
    const auto* found = std::ranges::find_if(
        kMarks, [&](const auto& mark) { return rendering.find(mark.first) != rendering.npos; });
    if (found == std::end(kMarks))
        return "the file's own";
    return found->second;
}

bool isBlank(std::string_view text)
{
    return text.find_first_not_of(" \t\r\n") == text.npos;
}

bool isSystem(const ChatMessage& message)
{
    return message.role == ChatRole::System;
}

/// Whether nothing that a system message says was left out of `text`.
bool holdsSystemTexts(const std::string& text, const std::vector<ChatMessage>& messages)
{
    return std::ranges::all_of(messages, [&](const ChatMessage& message) {
        const auto words = jinja::stripped(message.content, jinja::Sides::Both);
        return !isSystem(message) || jinja::findText(text, words) != text.npos;
    });
}

jinja::Value valueOf(const std::vector<ChatMessage>& messages, std::string_view answerOpening)
{
    std::vector<jinja::Value> list;
    list.reserve(messages.size());
    for (const ChatMessage& message : messages) {
        jinja::Dict dict;
        dict.set("role", jinja::Value::text(std::string(roleName(message.role))));
        dict.set("content",
                 jinja::Value::text(message.role == ChatRole::Assistant
                                        ? std::string(answerProper(message.content, answerOpening))
                                        : message.content));
        list.push_back(jinja::Value::dict(std::move(dict)));
    }
    return jinja::Value::list(std::move(list));
}

/// The control token that `tail` begins with, after white space: the vocabulary's EOS, or what is
/// written like one.
std::string leadingToken(std::string_view tail, const std::string& endToken)
{
    tail.remove_prefix(std::min(tail.find_first_not_of(" \t\r\n"), tail.size()));
    if (!endToken.empty() && tail.starts_with(endToken))
        return endToken;
    const std::size_t end = tail.find('>');
    if (!tail.starts_with('<') || end == tail.npos || end >= kLongestToken ||
        tail.substr(0, end).find_first_of(" \t\r\n") != tail.npos)
        return {};
    return std::string(tail.substr(0, end + 1));
}

/// What `text` has behind the last `mark`, up to `end` where that follows.
std::optional<std::string_view> behind(std::string_view text, std::string_view mark,
                                       std::string_view end)
{
    const std::size_t at = text.rfind(mark);
    if (at == text.npos)
        return std::nullopt;
    const std::string_view tail = text.substr(at + mark.size());
    return tail.substr(0, std::min(tail.find(end), tail.size()));
}

std::string reasonOf(const jinja::TemplateError& error)
{
    const std::string where =
        error.line() > 0 ? "line " + std::to_string(error.line()) + ": " : std::string();
    return where + error.words();
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

std::string_view answerProper(std::string_view turn, std::string_view opening)
{
    const std::size_t at = opening.empty() ? turn.npos : turn.rfind(opening);
    return at == turn.npos ? turn : turn.substr(at + opening.size());
}

ChatTemplate::ChatTemplate(std::string_view source, ChatVocabulary vocabulary)
    : ChatTemplate(source, std::move(vocabulary), &jinja::localNow)
{
}

ChatTemplate::ChatTemplate(std::string_view source, ChatVocabulary vocabulary, Clock clock)
    : m_vocabulary(std::move(vocabulary))
    , m_clock(std::move(clock))
{
    if (isBlank(source))
        return;
    try {
        useOwn(source);
    } catch (const jinja::TemplateError& error) {
        useBuiltIn(reasonOf(error));
    }
}

void ChatTemplate::useOwn(std::string_view source)
{
    m_template = std::make_shared<const jinja::Template>(source);
    const std::string trial = renderOwn({{ChatRole::User, kQuestion}}, Ending::AssistantOpened);
    if (trial.find(kQuestion) == trial.npos) {
        useBuiltIn("it leaves out what the user says");
        return;
    }
    m_form = Form::FilesOwn;
    m_name = nameOf(trial);
    m_endOfTurn = findEndOfTurn();
    m_systemRefusal = findSystemRefusal();
    m_answerOpening = findAnswerOpening();
}

void ChatTemplate::useBuiltIn(const std::string& why)
{
    m_template.reset();
    m_form = m_vocabulary.hasChatMlTokens ? Form::ChatMl : Form::Plain;
    m_name = m_form == Form::ChatMl ? "ChatML" : "plain";
    m_endOfTurn = m_form == Form::ChatMl ? kChatMlTurnEnd : "";
    m_note = "The file's own chat template cannot be rendered here (" + why + "), so the " +
             std::string(m_name) +
             " form is used instead; answers may be worse than the model can give.";
}

std::string ChatTemplate::findEndOfTurn() const
{
    const std::vector<ChatMessage> answered = {{ChatRole::User, kQuestion},
                                               {ChatRole::Assistant, kAnswer}};
    std::vector<ChatMessage> followed = answered;
    followed.push_back({ChatRole::User, kFollowUp});
    // What ends the last turn, or else what comes before the next one.
    for (const auto* conversation : {&answered, &std::as_const(followed)}) {
        try {
            const std::string text = renderOwn(*conversation, Ending::Closed);
            if (const auto tail = behind(text, kAnswer, kFollowUp); tail && !isBlank(*tail))
                return leadingToken(*tail, m_vocabulary.endToken);
        } catch (const jinja::TemplateError&) { // it wants another conversation
        }
    }
    return {};
}

std::string ChatTemplate::findSystemRefusal() const
{
    try {
        const std::string text = renderOwn(
            {{ChatRole::System, kSystem}, {ChatRole::User, kQuestion}}, Ending::AssistantOpened);
        return text.find(kSystem) == text.npos ? "it leaves the system message out" : "";
    } catch (const jinja::TemplateError& error) {
        return "it says: " + error.words();
    }
}

std::string ChatTemplate::findAnswerOpening() const
{
    const ChatMessage question{ChatRole::User, kQuestion};
    try {
        const std::string opened = renderOwn({question}, Ending::AssistantOpened);
        const std::string answered =
            renderOwn({question, {ChatRole::Assistant, kAnswer}}, Ending::Closed);
        if (!answered.starts_with(opened))
            return {};
        const std::string between =
            answered.substr(opened.size(), answered.rfind(kAnswer) - opened.size());
        // Tokens from end to end: what a template merely adds (an empty <think> block with its line
        // breaks) is not what the model writes.
        return leadingToken(between, {}).empty() || between.front() != '<' || between.back() != '>'
                   ? std::string()
                   : between;
    } catch (const jinja::TemplateError&) {
        return {};
    }
}

std::string ChatTemplate::render(const std::vector<ChatMessage>& messages, Ending ending) const
{
    if (m_form == Form::ChatMl)
        return renderChatMl(messages, ending);
    if (m_form == Form::Plain)
        return renderPlain(messages, ending);
    if (m_systemRefusal.empty() || std::ranges::none_of(messages, isSystem))
        return renderOwn(messages, ending);
    std::vector<ChatMessage> others = messages;
    std::erase_if(others, [](const ChatMessage& message) {
        return isSystem(message) && isBlank(message.content);
    });
    try {
        std::string text = renderOwn(others, ending);
        if (holdsSystemTexts(text, others))
            return text;
    } catch (const jinja::TemplateError&) {
        if (std::ranges::none_of(others, isSystem))
            throw;
    }
    throw TokenizerError("This model's chat template takes no system message (" + m_systemRefusal +
                         "): leave it empty, or put its text in front of the first message.");
}

std::string ChatTemplate::renderOwn(const std::vector<ChatMessage>& messages, Ending ending) const
{
    std::size_t bytes = 0;
    for (const ChatMessage& message : messages)
        bytes += message.content.size();
    jinja::Dict variables;
    variables.set("messages", valueOf(messages, m_answerOpening));
    variables.set("add_generation_prompt",
                  jinja::Value::boolean(ending == Ending::AssistantOpened));
    variables.set("bos_token", jinja::Value::text(m_vocabulary.beginToken));
    variables.set("eos_token", jinja::Value::text(m_vocabulary.endToken));
    variables.set("tools", jinja::Value::none());
    variables.set("documents", jinja::Value::none());
    return m_template->render(variables, bytes, m_clock);
}

} // namespace kvscope
