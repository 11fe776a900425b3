#pragma once

#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

enum class SweepExperiment {
    Needle,      ///< one fact in prose, and a question about it
    NeedlePairs, ///< two facts half the context apart, and one question for both
    Passkey,     ///< a five-digit key among random words
};

/// How passkey prompts are made and judged. Source: GPT-OSS-Lite inference/long_context.py.
enum class PasskeyProtocol {
    Ours,      ///< lengths in tokens, template and answer room included; the model's chat template
    Reference, ///< lengths in filler words; no chat template; 16 tokens; digits of any script
};

/// What is to be swept: all that decides a sweep's trials, but for the model.
struct SweepRequest
{
    SweepExperiment experiment = SweepExperiment::Needle;
    std::vector<std::int64_t> lengths; ///< tokens (filler words in the reference protocol)
    std::vector<double> depths{0.0, 25.0, 50.0, 75.0, 100.0}; ///< per cent
    std::int64_t numItems = 12;     ///< facts, pairs or keys: trials in a cell
    std::int64_t maxTrials = 0;     ///< of a cell that is undecided; 0: no more than numItems
    std::int64_t answerRoom = 0;    ///< tokens; 0: usualAnswerRoom()
    std::int64_t chunkTokens = 512; ///< of prefill; 0: one shot
    std::uint64_t seed = 0;
    std::string fillerFile; ///< UTF-8 prose; empty: the built-in text
    std::string factsFile;  ///< as resources/needle/facts.json; empty: the built-in facts
    PasskeyProtocol protocol = PasskeyProtocol::Ours;
    bool isLeaky = false;              ///< the passkey question states the key: to show the leak
    bool usesChatTemplate = true;      ///< where the model has one
    std::int64_t contextLimit = 0;     ///< positions that may be used; 0: no limit
    double secondsPerFlop = 0.0;       ///< of prefill, measured before; 0: not known
    std::uint64_t freeMemoryBytes = 0; ///< what may be used; 0: what the machine has free
};

/// The seed of GPT-OSS-Lite's evaluation, to which the length is added.
inline constexpr std::uint64_t kPasskeySeed = 42;

/// Tokens an answer may have: 12 as the chapter's needle test, 24 for two numbers; 32 for a
/// passkey, which a whole sentence may hold, 16 as the reference.
constexpr std::int64_t usualAnswerRoom(SweepExperiment experiment, PasskeyProtocol protocol)
{
    switch (experiment) {
    case SweepExperiment::Needle:
        return 12;
    case SweepExperiment::NeedlePairs:
        return 24;
    case SweepExperiment::Passkey:
        break;
    }
    return protocol == PasskeyProtocol::Reference ? 16 : 32;
}

} // namespace kvscope
