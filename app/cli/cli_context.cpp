#include "app/cli/cli_context.h"

#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/base/utf8.h"
#include "engine/cache/scaled_rows.h"
#include "engine/lab/presets.h"
#include "engine/model/decoder_types.h"
#include "engine/model/rotary_override.h"
#include "engine/session/open_model.h"

#include <ATen/Parallel.h>

#include <charconv>
#include <chrono>
#include <filesystem>
#include <fstream>
#include <limits>
#include <sstream>

namespace kvscope {
namespace {

constexpr std::string_view kPresetPrefix = "preset:";

std::int64_t parsedInteger(std::string_view text, const char* what)
{
    std::int64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    if (error != std::errc() || end != text.data() + text.size())
        throw ArgumentError(std::string(what) + ": '" + std::string(text) +
                            "' is not a whole number");
    return value;
}

/// Refuses what the option parser would wrap around or cut off.
std::string isSeed(const std::string& text)
{
    std::uint64_t value = 0;
    const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
    return error == std::errc() && end == text.data() + text.size()
               ? ""
               : "a whole number from 0 to 2^64 - 1 was expected";
}

std::vector<std::string> splitAtCommas(const std::string& text)
{
    std::vector<std::string> parts;
    std::istringstream stream(text);
    for (std::string part; std::getline(stream, part, ',');) {
        const auto first = part.find_first_not_of(" \t\n\r");
        const auto last = part.find_last_not_of(" \t\n\r");
        parts.push_back(first == std::string::npos ? "" : part.substr(first, last - first + 1));
    }
    return parts;
}

} // namespace

void addCommonOptions(CLI::App& command, CommonOptions& options, ModelArgument model)
{
    if (model == ModelArgument::Required)
        command
            .add_option(
                "MODEL", options.model,
                "a .gguf file, a Hugging Face folder, a GPT-OSS-Lite folder, or its .safetensors")
            ->required();
    command.add_flag("--json", options.isJson,
                     "one JSON object on standard output, nothing else there");
    command.add_option("--device", options.device, "cpu, cuda or cuda:N")->capture_default_str();
    command
        .add_option("--dtype", options.dtype,
                    "compute and cache type: auto, float32, bfloat16, float16")
        ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16"}))
        ->capture_default_str();
    command
        .add_option("--cache-dtype", options.cacheDtype,
                    "keys and values: auto, float32, bfloat16, float16, int8, fp8")
        ->check(CLI::IsMember({"auto", "float32", "bfloat16", "float16", "int8", "fp8"}))
        ->capture_default_str();
    command.add_option("--threads", options.threads, "processor threads (default: one per core)")
        ->check(CLI::Range(1, 1024));
    command.add_option("--seed", options.seed, "of everything random")
        ->check(isSeed)
        ->capture_default_str();
    command.add_option(
        "--rope", options.rotary,
        "rotation instead of the checkpoint's: plain, linear:F, dynamic:F, yarn:F, llama3:F, "
        "longrope, gpt-oss-lite:F, none");
    command.add_option("--sink-bias", options.ablations.sinkBias,
                       "ablation: every learned sink becomes this logit, before clamping");
    command.add_option("--window", options.ablations.window,
                       "ablation: windowed layers see this many positions instead");
    command
        .add_option("--max-context", options.maxContext,
                    "positions that may be used (default: the checkpoint's)")
        ->check(CLI::Range(std::int64_t{1}, kMostTokens));
    command.add_option("--tokenizer", options.tokenizerFile,
                       "a sentencepiece .model or a .gguf to take the tokenizer from");
}

OpenRequest openRequestOf(const CommonOptions& options)
{
    OpenRequest request;
    request.path = options.model;
    request.device = options.device;
    request.dtype = options.dtype;
    request.cacheDtype = options.cacheDtype;
    request.rotary = options.rotary;
    request.tokenizerFile = options.tokenizerFile;
    request.contextLimit = options.maxContext;
    return request;
}

std::shared_ptr<const Checkpoint> openFor(const CommonOptions& options)
{
    return withAblations(withRotary(openCheckpoint(options.model), options.rotary),
                         options.ablations);
}

bool isPreset(const CommonOptions& options)
{
    return options.model.starts_with(kPresetPrefix);
}

std::shared_ptr<const Checkpoint> openOrPreset(const CommonOptions& options)
{
    if (!isPreset(options))
        return openFor(options);
    auto checkpoint = std::make_shared<Checkpoint>();
    checkpoint->path = options.model;
    checkpoint->format = "published shape";
    checkpoint->config = presetConfig(options.model.substr(kPresetPrefix.size()));
    return withAblations(withRotary(std::move(checkpoint), options.rotary), options.ablations);
}

CacheNumbers cacheNumbersFor(const CommonOptions& options, const Checkpoint& checkpoint)
{
    return cacheNumbersOf(
        cacheTypeName(cacheTypeIn(checkpoint, options.dtype, options.cacheDtype)));
}

std::unique_ptr<Decoder> buildDecoder(const CommonOptions& options, const CliContext& context,
                                      std::shared_ptr<const Checkpoint> checkpoint)
{
    if (options.threads > 0)
        at::set_num_threads(options.threads);
    for (const std::string& warning : checkpoint->warnings)
        context.err << "warning: " << warning << '\n';
    DecoderOptions decoderOptions;
    decoderOptions.device = options.device;
    decoderOptions.computeType = computeTypeFrom(options.dtype);
    decoderOptions.cacheType = cacheTypeFrom(options.cacheDtype);
    decoderOptions.stop = context.stop;
    auto told = std::chrono::steady_clock::now();
    decoderOptions.progress = [&context, told](std::uint64_t done, std::uint64_t total) mutable {
        const auto now = std::chrono::steady_clock::now();
        if (now - told < std::chrono::seconds(1))
            return;
        told = now;
        context.err << "reading weights: " << formatBytes(done) << " of " << formatBytes(total)
                    << '\n';
    };
    return std::make_unique<Decoder>(std::move(checkpoint), decoderOptions);
}

std::unique_ptr<const Tokenizer> requireTokenizer(const CommonOptions& options,
                                                  const Checkpoint& checkpoint)
{
    auto tokenizer = tokenizerFor(checkpoint, options.tokenizerFile);
    if (tokenizer == nullptr)
        throw TokenizerError(options.model +
                             " has no tokenizer: give token ids with --ids, or a tokenizer with "
                             "--tokenizer FILE");
    return tokenizer;
}

std::vector<TokenId> parsedIds(const std::string& text)
{
    std::vector<TokenId> ids;
    for (const std::string& part : splitAtCommas(text))
        ids.push_back(parsedInteger(part, "--ids"));
    return ids;
}

std::vector<std::int64_t> parsedLengths(const std::string& text)
{
    std::vector<std::int64_t> lengths;
    for (std::string part : splitAtCommas(text)) {
        const bool isThousands = !part.empty() && (part.back() == 'K' || part.back() == 'k');
        if (isThousands)
            part.pop_back();
        const std::int64_t length = parsedInteger(part, "length");
        constexpr std::int64_t kLongest = std::int64_t{1} << 40;
        if (length < 1 || length > kLongest)
            throw ArgumentError("length " + std::to_string(length) + " is not between 1 and 2^40");
        lengths.push_back(isThousands ? length * 1024 : length);
    }
    return lengths;
}

std::string readTextFile(const std::string& path)
{
    std::error_code error;
    if (std::filesystem::is_directory(path, error))
        throw ArgumentError(path + ": is a folder, a text file was expected");
    std::ifstream file(path, std::ios::binary);
    if (!file)
        throw ArgumentError(path + ": no such file, or it cannot be read");
    std::ostringstream text;
    text << file.rdbuf();
    if (const auto bad = firstInvalidUtf8(text.str()))
        throw ArgumentError(path + ": is not UTF-8 text (byte " + std::to_string(*bad) + ")");
    return text.str();
}

Json recipe(const CommonOptions& options, const Decoder& decoder)
{
    Json json = {{"model", options.model},
                 {"architecture", decoder.config().architecture},
                 {"device", decoder.device().str()},
                 {"compute", decoder.computeDescription()},
                 {"rope", rotaryText(decoder.config())},
                 {"threads", at::get_num_threads()},
                 {"seed", options.seed}};
    if (const std::string changed = ablationText(decoder.checkpoint()); !changed.empty())
        json["ablations"] = changed;
    return json;
}

} // namespace kvscope
