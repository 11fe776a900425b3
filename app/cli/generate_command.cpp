#include "app/cli/cli_context.h"
#include "engine/base/errors.h"
#include "engine/base/units.h"
#include "engine/generate/chat_prompt.h"
#include "engine/generate/generator.h"
#include "engine/session/open_model.h"

#include <memory>
#include <optional>

namespace kvscope {
namespace {

struct GenerateOptions
{
    CommonOptions common;
    SamplingSettings sampling;
    std::string prompt;
    std::string promptFile;
    std::string chatFile;
    std::string ids;
    bool hasIds = false; ///< --ids was given, if only as an empty text
    std::int64_t chunk = 512;
    bool hasNoCache = false;
    bool ignoresEnd = false;
    bool addsBegin = false;
};

/// [{"role": "user", "content": "..."}, ...], alone or under "messages". \throws ArgumentError
std::vector<ChatMessage> parsedChat(const std::string& file)
{
    const Json json = Json::parse(readTextFile(file), nullptr, false);
    const Json& list = json.is_object() && json.contains("messages") ? json["messages"] : json;
    if (!list.is_array() || list.empty())
        throw ArgumentError(file + ": a JSON list of {\"role\", \"content\"} was expected");
    std::vector<ChatMessage> messages;
    for (const Json& entry : list) {
        const auto text = [&](const char* key) {
            if (!entry.is_object() || !entry.contains(key) || !entry[key].is_string())
                throw ArgumentError(file + ": message " + std::to_string(messages.size()) +
                                    " has no text under \"" + key + "\"");
            return entry[key].get<std::string>();
        };
        const std::string role = text("role");
        if (role != "system" && role != "user" && role != "assistant")
            throw ArgumentError(file + ": role '" + role +
                                "' is not one of system, user, assistant");
        messages.push_back({role == "system" ? ChatRole::System
                            : role == "user" ? ChatRole::User
                                             : ChatRole::Assistant,
                            text("content")});
    }
    return messages;
}

/// What a generation starts from.
struct Start
{
    std::unique_ptr<const Tokenizer> tokenizer; ///< null where ids were given and there is none
    std::vector<TokenId> prompt;
    std::vector<TokenId> endTokens;
};

Start startFrom(const GenerateOptions& options, const Checkpoint& checkpoint,
                const CliContext& context)
{
    Start start;
    if (options.hasIds) {
        start.prompt = parsedIds(options.ids);
        try {
            start.tokenizer = tokenizerFor(checkpoint, options.common.tokenizerFile);
        } catch (const TokenizerError& error) {
            if (!options.common.tokenizerFile.empty())
                throw; // asked for by name, so going on without is not what was wanted
            context.err << "warning: no text: " << error.what() << '\n';
        }
        start.endTokens = endTokensFor(checkpoint, start.tokenizer.get(), nullptr);
        return start;
    }
    start.tokenizer = requireTokenizer(options.common, checkpoint);
    const TokenizerSource& source = checkpoint.tokenizer;
    const ChatPrompter prompter = makeChatPrompter(*start.tokenizer, source);
    const ChatTemplate& chatTemplate = prompter.chatTemplate();
    start.endTokens = endTokensFor(checkpoint, start.tokenizer.get(), &chatTemplate);
    if (!options.chatFile.empty()) {
        if (!chatTemplate.note().empty())
            context.err << "warning: " << chatTemplate.note() << '\n';
        start.prompt = prompter.prompt(parsedChat(options.chatFile), {}).ids;
        return start;
    }
    const std::string text =
        options.promptFile.empty() ? options.prompt : readTextFile(options.promptFile);
    start.prompt = start.tokenizer->encode(text, ControlTokens::Parsed);
    if (options.addsBegin || source.addsBeginToken) {
        if (!source.beginToken)
            throw ArgumentError(
                "--bos was asked for, but the file names no beginning-of-sequence token");
        start.prompt.insert(start.prompt.begin(), *source.beginToken);
    }
    return start;
}

std::string finishName(FinishReason finish)
{
    switch (finish) {
    case FinishReason::EndToken:
        return "end_token";
    case FinishReason::MaxNewTokens:
        return "max_new_tokens";
    case FinishReason::ContextFull:
        return "context_full";
    case FinishReason::Cancelled:
        return "cancelled";
    case FinishReason::Failed:
        break;
    }
    return "failed";
}

double perSecond(std::int64_t tokens, double seconds)
{
    return seconds > 0.0 ? static_cast<double>(tokens) / seconds : 0.0;
}

Json summaryJson(const GenerateOptions& options, const Decoder& decoder,
                 const GenerationSummary& summary)
{
    const auto made = static_cast<std::int64_t>(summary.ids.size());
    Json json = {
        {"text", summary.text},
        {"ids", summary.ids},
        {"nll", summary.nll},
        {"step_seconds", summary.stepSeconds},
        {"cache_bytes", summary.cacheBytes},
        {"finish", finishName(summary.finish)},
        {"prompt_tokens", summary.promptTokens},
        {"prefill_seconds", summary.prefillSeconds},
        {"decode_seconds", summary.decodeSeconds},
        {"prefill_tokens_per_second", perSecond(summary.prefilledTokens, summary.prefillSeconds)},
        {"decode_tokens_per_second", perSecond(made - 1, summary.decodeSeconds)}};
    json.update(recipe(options.common, decoder));
    json.update(Json{{"temperature", options.sampling.temperature},
                     {"top_p", options.sampling.topP},
                     {"max_new_tokens", options.sampling.maxNewTokens},
                     {"chunk", options.chunk},
                     {"cache", !options.hasNoCache}});
    return json;
}

/// Streams text, or ids where there is none, as they come.
GenerationObserver observerFor(const GenerateOptions& options, const CliContext& context,
                               bool hasText)
{
    GenerationObserver observer;
    if (!options.common.isJson)
        observer.generated = [&context, hasText](const TokenRecord& token) {
            if (hasText)
                context.out << token.text << std::flush;
            else
                context.out << token.id << ' ' << std::flush;
        };
    observer.prefilled = [&context](const PrefillProgress& progress) {
        if (progress.doneTokens < progress.totalTokens &&
            progress.secondsElapsed + progress.secondsLeft > 2.0)
            context.err << "prefill: " << formatCount(progress.doneTokens) << " of "
                        << formatCount(progress.totalTokens) << " tokens, "
                        << formatSeconds(progress.secondsLeft) << " left\n";
    };
    return observer;
}

void runGenerate(GenerateOptions& options, const CliContext& context)
{
    const auto checkpoint = openFor(options.common);
    const Start start = startFrom(options, *checkpoint, context);
    const auto decoder = buildDecoder(options.common, context, checkpoint);
    const ModelConfig& config = decoder->config();
    const auto length = static_cast<std::int64_t>(start.prompt.size());
    if (config.extendedPositions > 0 && length > config.extendedPositions)
        context.err << "warning: the prompt has " << formatCount(length)
                    << " tokens, more than the " << formatCount(config.extendedPositions)
                    << " positions this model was made for\n";
    else if (config.extendedPositions > 0 &&
             length + options.sampling.maxNewTokens > config.extendedPositions)
        context.err << "warning: prompt and answer may go past the "
                    << formatCount(config.extendedPositions)
                    << " positions this model was made for; --max-context "
                    << config.extendedPositions << " ends there\n";
    Context cached(decoder->makeCache());
    GenerationRequest request;
    request.prompt = start.prompt;
    request.sampling = options.sampling;
    request.sampling.seed = options.common.seed;
    request.sampling.stopsAtEndTokens = !options.ignoresEnd;
    request.endTokens = start.endTokens;
    request.chunkTokens = options.chunk;
    request.contextLimit = options.common.maxContext;
    if (request.contextLimit > 0 && length > request.contextLimit)
        throw ArgumentError("the prompt has " + formatCount(length) +
                            " tokens, --max-context allows " + formatCount(request.contextLimit));
    request.usesCache = !options.hasNoCache;
    const GenerationSummary summary =
        generate(*decoder, cached, start.tokenizer.get(), request,
                 observerFor(options, context, start.tokenizer != nullptr), context.stop);
    if (options.common.isJson) {
        context.out << jsonLine(summaryJson(options, *decoder, summary));
        return;
    }
    context.out << std::endl;
    context.err << formatCount(summary.prefilledTokens) << " of "
                << formatCount(summary.promptTokens) << " prompt tokens in "
                << formatSeconds(summary.prefillSeconds) << ", " << summary.ids.size() << " new in "
                << formatSeconds(summary.decodeSeconds) << " (" << finishName(summary.finish)
                << "), cache " << formatBytes(cached.cache().liveBytes()) << '\n';
}

} // namespace

void addGenerateCommand(CLI::App& app, CliContext& context)
{
    auto options = std::make_shared<GenerateOptions>();
    CLI::App* command = app.add_subcommand("generate", "Continue a prompt, or answer a chat");
    addCommonOptions(*command, options->common, ModelArgument::Required);
    auto* sources = command->add_option_group("prompt", "what to begin from");
    sources->add_option("--prompt", options->prompt, "text, taken as it is");
    sources->add_option("--prompt-file", options->promptFile, "a file with the text");
    sources->add_option(
        "--chat", options->chatFile,
        "a JSON file of {\"role\", \"content\"} messages, rendered by the template");
    CLI::Option* ids = sources->add_option("--ids", options->ids, "token ids: 1,2,3");
    sources->require_option(1);
    command->add_option("--max-new-tokens", options->sampling.maxNewTokens)
        ->check(CLI::Range(std::int64_t{1}, kMostTokens))
        ->capture_default_str();
    command->add_option("--temperature", options->sampling.temperature, "0 or less: greedy")
        ->capture_default_str();
    command
        ->add_option("--top-p", options->sampling.topP,
                     "keep tokens whose preceding mass is at most this")
        ->capture_default_str();
    command->add_option("--chunk", options->chunk, "prefill chunk in tokens; 0: one shot")
        ->check(CLI::NonNegativeNumber)
        ->capture_default_str();
    command->add_flag("--no-cache", options->hasNoCache,
                      "replay the whole prefix at every step (the reference path)");
    command->add_flag("--ignore-eos", options->ignoresEnd, "go on after an end token");
    command->add_flag("--bos", options->addsBegin, "put the beginning-of-sequence token first");
    command->callback([options, ids, &context] {
        options->hasIds = ids->count() > 0;
        runGenerate(*options, context);
    });
}

} // namespace kvscope
