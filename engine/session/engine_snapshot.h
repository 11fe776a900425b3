#pragma once

#include "engine/cache/cache_snapshot.h"
#include "engine/generate/generation.h"

#include <cstdint>
#include <string>
#include <vector>

namespace kvscope {

/// What the engine thread is doing.
enum class Phase {
    NoModel,
    Opening,
    Idle,
    Prefill,
    Decode,
    Lab, ///< an experiment; the snapshot's cache is the experiment's, not the chat's
};

/// Memory by purpose at one moment, in bytes.
struct MemorySample
{
    double seconds = 0.0;           ///< since the session began
    std::int64_t contextLength = 0; ///< positions cached
    std::uint64_t weights = 0;
    std::uint64_t cacheLive = 0;
    std::uint64_t cacheSlack = 0; ///< allocated less live
    std::uint64_t growthCopy =
        0; ///< held twice while the last growth was copied; 0 in steps without growth
    std::uint64_t processResident = 0; ///< measured (VmRSS), the whole process
    std::uint64_t processBaseline = 0; ///< measured just before the model was opened
    std::uint64_t hostFree = 0;        ///< measured (MemAvailable)
};

/// The state of the engine that only matters in its newest form.
struct EngineSnapshot
{
    Phase phase = Phase::NoModel;
    CacheSnapshot cache;
    PrefillProgress prefill; ///< where phase is Prefill
    MemorySample memory;
    double prefillTokensPerSecond = 0.0; ///< of the running or the last prefill; 0 before any
    double decodeTokensPerSecond = 0.0;  ///< over the last second; 0 before any
    std::uint64_t generation = 0;        ///< id of the run that this belongs to
};

/// A layer as the table shows it.
struct LayerDescription
{
    bool isWindowed = false;
    std::int64_t window = 0;
    bool hasSink = false;
    std::int64_t identityPairs = 0;
    std::int64_t cacheBytesPerToken = 0;
};

/// What the window needs to know of an opened model; never changes while it is open.
struct ModelDescription
{
    std::string path;
    std::string name;          ///< "SmolLM2 135M Instruct"
    std::string architecture;  ///< "llama"
    std::string format;        ///< "GGUF v3"
    std::string storage;       ///< "Q4_1, Q8_0, F32"
    std::string device;        ///< "CPU, 2 threads"
    std::string dtype;         ///< as asked for: "auto"
    std::string compute;       ///< "Q4_1 weights, bfloat16 cache"
    std::string tokenizer;     ///< one line, or empty where there is none
    std::string chatTemplate;  ///< "ChatML", "plain", or empty
    std::string systemRefusal; ///< why the template takes no system message; empty where it does
    std::string answerOpening; ///< ChatTemplate::answerOpening()
    std::string templateNote;  ///< why the file's own template is not used; empty otherwise
    std::int64_t totalParameters = 0;
    std::int64_t activeParameters = 0;
    std::int64_t trainedPositions = 0; ///< 0: unknown
    std::int64_t extendedPositions = 0;
    std::int64_t contextLimit = 0; ///< positions a chat may use: as chosen, or extendedPositions
    std::string rotary;            ///< "plain, base 10,000, half pairs"
    std::string rotaryOverride;    ///< chosen instead of the file's: "linear:2"; empty: its own
    std::int64_t vocabularySize = 0;
    std::uint64_t weightBytes = 0;
    std::uint64_t fileBytes = 0;
    bool canChat = false; ///< it has a usable tokenizer
    std::vector<LayerDescription> layers;
    std::vector<std::string> warnings;
};

} // namespace kvscope
