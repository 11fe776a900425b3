#pragma once

#include "engine/session/session_event.h"
#include "widgets/chat_message.h"

#include <QString>

#include <memory>
#include <string>
#include <vector>

// Conversations as an engine with a ChatML template and one token a word would report them.
namespace kvscope::fake {

/// Cuts at spaces, each word with the space before it, as byte-level tokenizers do.
inline std::vector<std::string> words(const std::string& text)
{
    std::vector<std::string> pieces;
    for (const char each : text) {
        if (pieces.empty() || each == ' ' || each == '\n')
            pieces.emplace_back();
        pieces.back() += each;
    }
    return pieces;
}

class PromptBuilder
{
public:
    void add(const std::string& text, bool isControl)
    {
        TokenRecord token;
        token.id = static_cast<std::int64_t>(m_tokens.size()) + 100;
        token.position = static_cast<std::int64_t>(m_tokens.size());
        token.piece = text;
        token.text = text;
        token.isControl = isControl;
        token.isPrompt = true;
        m_tokens.push_back(token);
        m_text += text;
    }
    void addWords(const std::string& text)
    {
        for (const std::string& piece : words(text))
            add(piece, false);
    }
    void openTurn(const std::string& role)
    {
        add("<|im_start|>", true);
        add(role, false);
        add("\n", false);
    }
    void addTurn(const std::string& role, const std::string& content)
    {
        openTurn(role);
        addWords(content);
        add("<|im_end|>", true);
        add("\n", false);
    }
    const std::vector<TokenRecord>& tokens() const { return m_tokens; }
    const std::string& text() const { return m_text; }

private:
    std::vector<TokenRecord> m_tokens;
    std::string m_text;
};

inline std::string roleText(ChatRole role)
{
    return role == ChatRole::System ? "system" : role == ChatRole::User ? "user" : "assistant";
}

/// The start of a generation for a whole conversation.
/// \param keptTokens  of them are reported as reused
inline GenerationStarted started(std::uint64_t generation, const ChatMessages& messages,
                                 std::int64_t keptTokens = 0, std::int64_t dropped = 0)
{
    PromptBuilder prompt;
    std::int64_t turn = 0;
    for (const ChatMessage& message : messages) {
        if (message.role != ChatRole::System && turn++ < dropped)
            continue;
        prompt.addTurn(roleText(message.role), message.content);
    }
    prompt.openTurn("assistant");
    GenerationStarted event;
    event.generation = generation;
    event.keptTokens = keptTokens;
    event.prompt.assign(prompt.tokens().begin() + keptTokens, prompt.tokens().end());
    event.promptText = prompt.text();
    event.droppedMessages = dropped;
    return event;
}

inline TokenGenerated token(std::uint64_t generation, std::int64_t position,
                            const std::string& text, double nll = 1.0)
{
    TokenGenerated event;
    event.generation = generation;
    event.token.id = 7;
    event.token.position = position;
    event.token.piece = text;
    event.token.text = text;
    event.token.nll = nll;
    event.token.stepSeconds = 0.02;
    return event;
}

inline GenerationFinished finished(std::uint64_t generation, FinishReason finish,
                                   const std::string& text, std::size_t tokens)
{
    GenerationFinished event;
    event.generation = generation;
    event.summary.finish = finish;
    event.summary.text = text;
    event.summary.ids.assign(tokens, 7);
    event.summary.decodeSeconds = 0.02 * static_cast<double>(tokens);
    return event;
}

inline ModelDescription model(bool canChat = true)
{
    ModelDescription description;
    description.name = "demo";
    description.device = "CPU, 2 threads";
    description.compute = "float32";
    description.chatTemplate = "ChatML";
    description.trainedPositions = 1024;
    description.extendedPositions = 4096;
    description.canChat = canChat;
    return description;
}

/// Half windowed, half global layers that hold `length` positions.
inline std::shared_ptr<EngineSnapshot> snapshot(std::int64_t length, std::int64_t window = 128)
{
    auto snapshot = std::make_shared<EngineSnapshot>();
    snapshot->phase = Phase::Idle;
    snapshot->cache.contextLength = length;
    for (int i = 0; i < 12; ++i) {
        LayerCacheState layer;
        layer.isWindowed = i % 2 == 0;
        layer.window = layer.isWindowed ? window : 0;
        layer.capacity = layer.isWindowed ? window : 2 * length;
        layer.retained = layer.isWindowed ? std::min(window, length) : length;
        layer.firstPosition = length - layer.retained;
        snapshot->cache.layers.push_back(layer);
    }
    snapshot->cache.liveBytes = 12'687'769;
    snapshot->cache.allocatedBytes = 12'687'769 + 3'984'588;
    snapshot->cache.allGlobalBytes = 23'853'005;
    snapshot->memory.weights = 30'408'704;
    snapshot->memory.processResident = 378'535'936;
    snapshot->memory.hostFree = 19'219'978'650;
    snapshot->prefillTokensPerSecond = 4310;
    snapshot->decodeTokensPerSecond = 212.4;
    return snapshot;
}

} // namespace kvscope::fake
