#include "engine/session/open_model.h"

#include "engine/base/errors.h"
#include "engine/base/memory_reading.h"
#include "engine/model/decoder_types.h"
#include "engine/model/rotary_override.h"

#include <ATen/Parallel.h>

#include <algorithm>
#include <string>
#include <utility>

namespace kvscope {
namespace {

std::string deviceText(const Decoder& decoder)
{
    if (!decoder.device().is_cpu())
        return decoder.device().str();
    const int threads = at::get_num_threads();
    return "CPU, " + std::to_string(threads) + (threads == 1 ? " thread" : " threads");
}

} // namespace

std::unique_ptr<const Tokenizer> tokenizerFor(const Checkpoint& checkpoint,
                                              const std::string& tokenizerFile)
{
    return tokenizerFile.empty() ? makeTokenizer(checkpoint.tokenizer)
                                 : openTokenizer(tokenizerFile, checkpoint.config.vocabularySize);
}

UsableTokenizer usableTokenizer(const Checkpoint& checkpoint, const std::string& tokenizerFile)
{
    UsableTokenizer usable;
    if (!tokenizerFile.empty()) {
        // Asked for by name, so a failure is one.
        usable.tokenizer = openTokenizer(tokenizerFile, checkpoint.config.vocabularySize);
    } else {
        try {
            usable.tokenizer = makeTokenizer(checkpoint.tokenizer);
            if (usable.tokenizer == nullptr)
                usable.warnings.push_back(
                    "This checkpoint has no tokenizer, so it cannot chat; numbers still work.");
        } catch (const TokenizerError& error) {
            usable.warnings.push_back(std::string("No chat: ") + error.what());
        }
    }
    return usable;
}

std::vector<TokenId> endTokensFor(const Checkpoint& checkpoint, const Tokenizer* tokenizer,
                                  const ChatTemplate* chatTemplate)
{
    std::vector<TokenId> tokens = checkpoint.tokenizer.endTokens;
    if (tokenizer != nullptr && chatTemplate != nullptr && !chatTemplate->endOfTurn().empty())
        if (const auto turn = tokenizer->controlToken(chatTemplate->endOfTurn()))
            tokens.push_back(*turn);
    std::sort(tokens.begin(), tokens.end());
    tokens.erase(std::unique(tokens.begin(), tokens.end()), tokens.end());
    std::erase_if(tokens,
                  [&](TokenId id) { return id < 0 || id >= checkpoint.config.vocabularySize; });
    return tokens;
}

OpenModel openModel(const OpenRequest& request,
                    std::function<void(std::uint64_t, std::uint64_t)> progress,
                    std::stop_token stop)
{
    OpenModel model;
    model.processBaseline = readProcessMemory().resident;
    model.checkpoint = withRotary(openCheckpoint(request.path), request.rotary);
    model.opened = request;
    model.warnings = model.checkpoint->warnings;
    UsableTokenizer usable = usableTokenizer(*model.checkpoint, request.tokenizerFile);
    model.tokenizer = std::move(usable.tokenizer);
    model.warnings.insert(model.warnings.end(), usable.warnings.begin(), usable.warnings.end());
    DecoderOptions options;
    options.device = request.device;
    options.computeType = computeTypeFrom(request.dtype);
    options.cacheType = cacheTypeFrom(request.cacheDtype);
    options.progress = std::move(progress);
    options.stop = std::move(stop);
    model.decoder = std::make_unique<Decoder>(model.checkpoint, options);
    model.context.emplace(model.decoder->makeCache());
    if (model.tokenizer != nullptr)
        model.prompter.emplace(makeChatPrompter(*model.tokenizer, model.checkpoint->tokenizer));
    model.endTokens = endTokensFor(*model.checkpoint, model.tokenizer.get(),
                                   model.prompter ? &model.prompter->chatTemplate() : nullptr);
    model.contextLimit = request.contextLimit > 0 ? request.contextLimit
                                                  : model.checkpoint->config.extendedPositions;
    return model;
}

ModelDescription describe(const OpenModel& model)
{
    const ModelConfig& config = model.checkpoint->config;
    ModelDescription text;
    text.path = model.checkpoint->path.string();
    text.name = config.name;
    text.architecture = config.architecture;
    text.format = model.checkpoint->format;
    text.storage = model.checkpoint->storageSummary();
    text.device = deviceText(*model.decoder);
    text.dtype = model.opened.dtype;
    text.compute = model.decoder->computeDescription();
    if (model.tokenizer != nullptr)
        text.tokenizer = model.tokenizer->description();
    if (model.prompter) {
        text.chatTemplate = model.prompter->chatTemplate().name();
        text.systemRefusal = model.prompter->chatTemplate().systemRefusal();
        text.answerOpening = model.prompter->chatTemplate().answerOpening();
        text.templateNote = model.prompter->chatTemplate().note();
    }
    text.totalParameters = config.totalParameters();
    text.activeParameters = config.activeParameters();
    text.trainedPositions = config.trainedPositions;
    text.extendedPositions = config.extendedPositions;
    text.contextLimit = model.contextLimit;
    text.rotary = rotaryText(config);
    text.rotaryOverride = model.opened.rotary;
    text.vocabularySize = config.vocabularySize;
    text.weightBytes = model.decoder->weightBytes();
    for (const auto& file : model.checkpoint->files)
        text.fileBytes += file->sizeBytes();
    text.canChat = model.prompter.has_value();
    const std::int64_t bytesPerToken = config.cacheBytesPerToken(model.decoder->cacheNumbers());
    for (const LayerConfig& layer : config.layers)
        text.layers.push_back({layer.kind == LayerKind::Windowed, layer.window, layer.hasSink,
                               layer.identityPairs, bytesPerToken});
    text.warnings = model.warnings;
    return text;
}

} // namespace kvscope
