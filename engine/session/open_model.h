#pragma once

#include "engine/generate/chat_prompt.h"
#include "engine/generate/generator.h"
#include "engine/model/decoder.h"
#include "engine/session/session.h"
#include "engine/session/timed_prefills.h"
#include "engine/tokenizer/tokenizer.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

/// Everything that belongs to one opened checkpoint; owned by the engine thread.
struct OpenModel
{
    std::shared_ptr<const Checkpoint> checkpoint;
    std::unique_ptr<Decoder> decoder;
    std::unique_ptr<const Tokenizer>
        tokenizer;                        ///< null: none, or unusable (then a warning says why)
    std::optional<ChatPrompter> prompter; ///< where there is a tokenizer
    std::vector<TokenId> endTokens;       ///< of the file, and of the template's end of turn
    std::optional<Context> context;
    TokenizedText known;               ///< what the context's ids spell, for the next turn
    std::int64_t contextLimit = 0;     ///< positions; 0: the file states none
    OpenRequest opened;                ///< as asked for
    std::uint64_t processBaseline = 0; ///< resident bytes just before opening
    TimedPrefills timedPrefills;       ///< on this model so far, undisturbed ones
    TimedPrefills timedScoring;        ///< prefills that computed every position's loss
    double bytesPerSecond = 0.0;       ///< of memory reads, as last measured; 0: not
    std::vector<std::string> warnings;
};

/// The tokenizer a request asks for: its file, else the checkpoint's. Null where there is none.
/// \throws TokenizerError where one was named or is there and cannot be used
std::unique_ptr<const Tokenizer> tokenizerFor(const Checkpoint& checkpoint,
                                              const std::string& tokenizerFile);

/// A tokenizer where there is a usable one; otherwise `warnings` says why not, for the model opens
/// all the same.
struct UsableTokenizer
{
    std::unique_ptr<const Tokenizer> tokenizer;
    std::vector<std::string> warnings;
};

/// \throws EngineError where a file was named and cannot be used
UsableTokenizer usableTokenizer(const Checkpoint& checkpoint, const std::string& tokenizerFile);

/// End tokens of the checkpoint and of its template, below the vocabulary size, each once.
std::vector<TokenId> endTokensFor(const Checkpoint& checkpoint, const Tokenizer* tokenizer,
                                  const ChatTemplate* chatTemplate);

/// Opens checkpoint, tokenizer and weights.
/// \throws EngineError, Stopped
OpenModel openModel(const OpenRequest& request,
                    std::function<void(std::uint64_t, std::uint64_t)> progress,
                    std::stop_token stop);

/// The description the window gets.
ModelDescription describe(const OpenModel& model);

} // namespace kvscope
