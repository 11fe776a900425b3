#pragma once

#include "engine/base/latest.h"
#include "engine/generate/generation.h"
#include "engine/session/engine_snapshot.h"
#include "engine/session/experiment_request.h"
#include "engine/session/session_event.h"
#include "engine/tokenizer/chat_template.h"

#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <vector>

namespace kvscope {

/// What to do when a chat no longer fits the context limit.
enum class ContextFullPolicy { Ask, KeepNewest };

struct OpenRequest
{
    std::string path;
    std::string device = "cpu";
    std::string dtype = "auto";      ///< auto, float32, bfloat16, float16
    std::string cacheDtype = "auto"; ///< of keys and values, also int8, fp8; auto: follows dtype
    std::string rotary;        ///< instead of the checkpoint's rotation: "linear:2"; empty: its own
    std::string tokenizerFile; ///< overrides the checkpoint's; empty: its own
    std::int64_t contextLimit =
        0; ///< positions; 0: what the model was made for (extendedPositions)
};

struct ChatRequest
{
    std::vector<ChatMessage> messages; ///< the whole conversation, ending with the user's turn
    SamplingSettings sampling;
    bool scoresPrompt = false; ///< nll of every prompt position too
    ContextFullPolicy whenFull = ContextFullPolicy::Ask;
    std::int64_t chunkTokens = 512; ///< prefill chunk
};

/// The engine thread: commands in, events and snapshots out. Commands may be given from any thread
/// and return at once; they run one after another, but that chats and plans get their turn between
/// the parts (chunks, trials) of an experiment. Destroying the session cancels and joins.
class Session
{
public:
    struct Callbacks
    {
        std::function<void(SessionEvent)> event; ///< on the engine thread, in order
        std::function<void()>
            snapshotReady; ///< on the engine thread; at most once per takeSnapshot()
    };
    explicit Session(Callbacks callbacks);
    ~Session();
    Session(const Session&) = delete;
    Session& operator=(const Session&) = delete;

    /// An experiment that runs or waits is given up: it is about the model that goes. So is one
    /// that is asked for meanwhile, and a message, where the opening succeeds.
    void open(OpenRequest request);
    /// Answers the last message; the exact common prefix with the cached context is reused.
    /// \returns the generation's id, which its events carry.
    std::uint64_t generate(ChatRequest request);
    /// For ContextFullAsked: go on without the oldest turns, or give the generation up.
    enum class ContextFullAnswer { DropOldest, GiveUp };
    void answerContextFull(ContextFullAnswer answer);
    /// Ends the answer being written, within a decode step or a layer of a prefill chunk, and drops
    /// those that wait; each ends with GenerationFinished. A model being opened goes on.
    void stopGenerating();
    /// Ends the opening that runs, within a piece of a tensor being read, and drops those that
    /// wait; each ends with OpeningCancelled. The model that is open stays, and so does an answer
    /// being written.
    void cancelOpening();
    /// Forgets the conversation's cache.
    void newChat();

    /// Says what a run would do, in LabEvents of the id returned; a plan that waits is superseded.
    std::uint64_t planExperiment(ExperimentRequest request);
    /// Runs it on the open model, with a cache of its own, telling its parts in LabEvents of the id
    /// returned; snapshots show its cache.
    std::uint64_t runExperiment(ExperimentRequest request);
    /// Makes the prompt of a trial of that sweep again and tells it as a TrialPrompt, with the id
    /// returned; a prompt that was asked for and waits is superseded.
    std::uint64_t makePrompt(SweepRequest request, SweepTrial trial);
    /// The experiment that runs pauses behind its chunk or trial; it says when it has.
    void pauseExperiment();
    void resumeExperiment();
    /// Ends the experiment that runs, within a layer of a chunk, and drops those that wait; each
    /// ends with ExperimentCancelled. What had landed stands.
    void cancelExperiment();

    /// The newest state; never null.
    std::shared_ptr<const EngineSnapshot> takeSnapshot();

private:
    struct Impl;
    std::unique_ptr<Impl> m_impl;
};

} // namespace kvscope
