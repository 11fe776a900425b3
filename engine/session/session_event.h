#pragma once

#include "engine/generate/generation.h"
#include "engine/session/engine_snapshot.h"
#include "engine/session/lab_event.h"

#include <cstdint>
#include <functional>
#include <string>
#include <variant>
#include <vector>

namespace kvscope {

/// Bytes of weights read while a model opens.
struct OpeningProgress
{
    std::uint64_t doneBytes = 0;
    std::uint64_t totalBytes = 0;
    double secondsLeft = 0.0;
};
/// A model is open and the chat is empty.
struct ModelOpened
{
    ModelDescription model;
};
/// Opening was cancelled; the model that was open before stays.
struct OpeningCancelled
{
};
/// A command failed; what was open stays usable. `message` is one sentence.
struct CommandFailed
{
    enum class Command { Open, Generate } command = Command::Generate;
    std::string message;
    std::string detail;
    std::uint64_t generation = 0; ///< 0 for Open
};
/// Something to know that does not stop anything ("the prompt is longer than the trained
/// positions").
struct Notice
{
    std::string message;
    std::uint64_t generation = 0;
};
/// A generation began: how the context now starts. Views drop tokens from `keptTokens` on.
struct GenerationStarted
{
    std::uint64_t generation = 0;
    std::int64_t keptTokens = 0; ///< context positions that stay as they were: the reused prefix
    std::vector<TokenRecord> prompt;  ///< the tokens from keptTokens on, nll not computed
    std::string promptText;           ///< the whole rendered prompt, for looking at
    std::int64_t droppedMessages = 0; ///< oldest turns left out to fit the context (never silent)
};
/// Losses of prompt positions, where switched on; arrives per chunk.
struct PromptScored
{
    std::uint64_t generation = 0;
    std::int64_t firstPosition = 0; ///< nll[i] belongs to the token at firstPosition + i
    std::vector<double> nll;
};
struct TokenGenerated
{
    std::uint64_t generation = 0;
    TokenRecord token;
};
struct GenerationFinished
{
    std::uint64_t generation = 0;
    GenerationSummary summary;
};
/// The chat does not fit the context limit and the setting is to ask: answer with
/// Session::answerContextFull.
struct ContextFullAsked
{
    std::uint64_t generation = 0;
    std::int64_t promptTokens = 0;
    std::int64_t limitTokens = 0;
    std::int64_t messagesToDrop =
        0; ///< what keeping system prompt and newest turns would leave out
};

/// Everything the engine thread says once and that must not be lost, in order.
using SessionEvent = std::variant<OpeningProgress, ModelOpened, OpeningCancelled, CommandFailed,
                                  Notice, GenerationStarted, PromptScored, TokenGenerated,
                                  GenerationFinished, ContextFullAsked, LabEvent>;

} // namespace kvscope
