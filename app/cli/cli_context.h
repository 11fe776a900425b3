#pragma once

#include "engine/checkpoint/checkpoint.h"
#include "engine/model/ablation.h"
#include "engine/model/decoder.h"
#include "engine/session/session.h"
#include "engine/tokenizer/tokenizer.h"

#include <CLI/CLI.hpp>
#include <cstdint>
#include <iostream>
#include <memory>
#include <nlohmann/json.hpp>
#include <stop_token>
#include <string>
#include <vector>

namespace kvscope {

using Json = nlohmann::ordered_json;

/// One line of JSON. A path or a name that is not UTF-8 has its bad bytes replaced: a finished run
/// is not lost to it.
inline std::string jsonLine(const Json& json)
{
    return json.dump(-1, ' ', false, Json::error_handler_t::replace) + '\n';
}

/// More positions than any context will have; an option beyond it is a mistake.
inline constexpr std::int64_t kMostTokens = 1'000'000'000'000;

/// What every command takes.
struct CommonOptions
{
    std::string model;
    std::string device = "cpu";
    std::string dtype = "auto";
    std::string cacheDtype = "auto";
    std::string rotary;        ///< --rope
    Ablations ablations;       ///< --sink-bias, --window
    std::string tokenizerFile; ///< --tokenizer
    std::int64_t maxContext = 0;
    int threads = 0; ///< 0: LibTorch's choice
    std::uint64_t seed = 0;
    bool isJson = false;
};

/// What a command works with; outlives its callback.
struct CliContext
{
    std::ostream& out;
    std::ostream& err;
    std::stop_token stop;
};

/// Adds the options every command has. \param needsModel  MODEL is required
enum class ModelArgument { Required, None };
void addCommonOptions(CLI::App& command, CommonOptions& options, ModelArgument model);

/// What opening it in the window would ask for. It knows no ablations.
OpenRequest openRequestOf(const CommonOptions& options);
/// Opens the checkpoint with rotary override and ablations applied.
std::shared_ptr<const Checkpoint> openFor(const CommonOptions& options);
/// Whether MODEL is "preset:NAME", which commands take that need no weights.
bool isPreset(const CommonOptions& options);
/// openFor, or the published shape as a checkpoint without files, the same applied.
/// \throws ArgumentError naming the presets where there is none of that name
std::shared_ptr<const Checkpoint> openOrPreset(const CommonOptions& options);
/// What keys and values are stored as where no decoder is built to ask, as Auto chooses it; of a
/// shape alone 2 bytes.
CacheNumbers cacheNumbersFor(const CommonOptions& options, const Checkpoint& checkpoint);
/// Builds the decoder; progress goes to standard error when it takes longer than a second.
std::unique_ptr<Decoder> buildDecoder(const CommonOptions& options, const CliContext& context,
                                      std::shared_ptr<const Checkpoint> checkpoint);
/// The tokenizer, required. \throws TokenizerError saying what to do where there is none
std::unique_ptr<const Tokenizer> requireTokenizer(const CommonOptions& options,
                                                  const Checkpoint& checkpoint);

/// "1,2,3" to ids. \throws ArgumentError
std::vector<TokenId> parsedIds(const std::string& text);
/// A whole text file, checked to be UTF-8. \throws ArgumentError naming file and byte
std::string readTextFile(const std::string& path);
/// Lengths as "16,1024,8K". \throws ArgumentError
std::vector<std::int64_t> parsedLengths(const std::string& text);

/// Model, device and numbers in use, for every JSON result.
Json recipe(const CommonOptions& options, const Decoder& decoder);

void addInspectCommand(CLI::App& app, CliContext& context);
void addTokenizeCommand(CLI::App& app, CliContext& context);
void addGenerateCommand(CLI::App& app, CliContext& context);
void addScoreCommand(CLI::App& app, CliContext& context);
void addLimitsCommand(CLI::App& app, CliContext& context);
void addKvCacheCommand(CLI::App& app, CliContext& context);
void addBenchCommand(CLI::App& app, CliContext& context);

} // namespace kvscope
